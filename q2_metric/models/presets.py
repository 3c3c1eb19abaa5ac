"""The presets: named sets of models and settings for Q², SCALE and groundedness."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from q2_metric.errors import InputError
from q2_metric.text.given import kind

ENDPOINT = "openai:"
"""Begins the name of a model on a server, ``openai:MODEL@URL`` (:mod:`.endpoints`)."""

Kind = Literal["syntactic", "bundled", "seq2seq", "reader", "nli", "yes-no"]


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of a preset: a model and how it is used.

    Args:
        kind: "syntactic" and "bundled" come with the package, the others are torch models.
        model: Hub name or local folder; "" for the package's own models.
        template: the input format of "seq2seq" or the prompt of "yes-no"; "" for the default.
        networks: the package's neural networks.
        labels: for "nli", the classes of the outputs, if the config does not name them.
        millions: number of weights in millions; 0 for the package's own models.
        pickled: whether the weights were published only as a pickle (in 2026).
    """

    kind: Kind
    model: str = ""
    template: str = ""
    networks: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    millions: int = 0
    pickled: bool = False

    def gigabytes(self, bytes_each: int = 4) -> float:
        """The size of the weights, by default in float32, in which they are published."""
        return self.millions * bytes_each / 1000


@dataclass(frozen=True, slots=True)
class Preset:
    """A named set of models and settings for Q², SCALE and groundedness.

    Args:
        scale_settings, q2_settings: settings that differ from the paper's.
        recipe: true if these settings also apply after a model of the preset is replaced.
        scores_all: whether responses that claim nothing are scored too, as in the papers.
        head: the file of the groundedness head that was fitted on these models, if any.
        needs_network: whether models are downloaded at first use.
        extra: the extra of q2-metric that the preset needs; "" if it needs none.
    """

    name: str
    description: str
    questions: Stage
    reader: Stage
    nli: Stage
    scale: Stage
    needs_network: bool = True
    extra: str = "torch"
    scale_settings: Mapping[str, Any] = field(default_factory=dict)
    q2_settings: Mapping[str, Any] = field(default_factory=dict)
    recipe: bool = False
    scores_all: bool = False
    head: Path | None = None

    def settings(self, metric: Literal["q2", "scale"], replaced: str | None) -> Mapping[str, Any]:
        """What differs from the paper's settings, after ``replaced`` replaced a model."""
        own = self.q2_settings if metric == "q2" else self.scale_settings
        return own if self.recipe or not replaced else {}

    def gigabytes(self, bytes_each: int = 4) -> float:
        """The size of the weights of all Hub models of the preset."""
        return sum(stage.gigabytes(bytes_each) for stage in self.on_the_hub())

    def on_the_hub(self) -> list[Stage]:
        """The stages whose models are on the Hub, in the order of running, each model once."""
        stages = (self.questions, self.reader, self.nli, self.scale)
        return list({stage.model: stage for stage in stages if stage.model}.values())

    def model(self, keyword: str) -> str:
        """The model that a keyword such as "nli_model" would replace; "" for the package's own."""
        stage: Stage | None = getattr(self, STAGES.get(keyword, ""), None)
        return stage.model if stage else ""


STAGES = {"question_model": "questions", "reader_model": "reader", "nli_model": "nli",
          "scale_model": "scale"}
"""The stage whose model each keyword replaces."""


def is_endpoint(model: object) -> bool:
    return isinstance(model, str) and model.startswith(ENDPOINT)


_WEIGHTS = Path(__file__).parent / "bundled" / "weights"
_BOTH = Stage("bundled", networks=("entailment", "wide"))
SMALL = Stage("bundled", networks=("entailment",))
_BUNDLED = Preset(
    "bundled", "the package's own models: offline, no torch", questions=Stage("syntactic"),
    reader=Stage("bundled", networks=("reader",)), nli=_BOTH, scale=_BOTH,
    # They read a chunk and a claim in one window.
    scale_settings={"recipe": "bundled", "chunk_size": 150, "support": "consistent",
                    "top_chunks": 3},
    q2_settings={"recipe": "bundled"}, head=_WEIGHTS / "groundedness.json", needs_network=False,
    extra="")
LABELS: dict[str, tuple[str, ...]] = {
    **{f"boychaboy/SNLI_roberta-{size}": ("entailment", "neutral", "contradiction")
       for size in ("base", "large")},
    **{f"tals/albert-{size}-vitaminc{kind}": ("entailment", "contradiction", "neutral")
       for size in ("base", "xlarge") for kind in ("", "-mnli")},
}
"""Classes of published NLI models whose configs lack them (SummaC, summac/model_summac.py)."""
_PAPER = Preset(
    "paper", "the models of the Q² and SCALE papers", scores_all=True,
    questions=Stage("seq2seq", "mrm8488/t5-base-finetuned-question-generation-ap",
                    "answer-context", millions=223, pickled=True),
    reader=Stage("reader", "ktrapeznikov/albert-xlarge-v2-squad-v2", millions=59, pickled=True),
    nli=Stage("nli", "boychaboy/SNLI_roberta-large", millions=355, pickled=True,
              labels=LABELS["boychaboy/SNLI_roberta-large"]),
    scale=Stage("yes-no", "google/flan-t5-xl", "scale", millions=2850))
PRESETS: dict[str, Preset] = {
    item.name: item
    for item in (
        _BUNDLED,
        replace(_BUNDLED, name="bundled-small", nli=SMALL, scale=SMALL,
                description="only the smaller of the package's networks: faster, less memory",
                head=_WEIGHTS / "groundedness-small.json"),
        _PAPER,
        replace(_PAPER, name="paper-exact", recipe=True, q2_settings={"recipe": "authors"},
                description="the same models, run as the authors' own programs run them",
                scale=replace(_PAPER.scale, template="scale-score"),
                scale_settings={"recipe": "authors", "prompt": "scale-score", "chunking": "prompt",
                                "chunk_size": 1000}),
        replace(_PAPER, name="paper-small",
                description="smaller models of the same kinds, for smaller machines",
                questions=Stage("seq2seq", "valhalla/t5-small-qa-qg-hl", "highlight-spaced",
                                millions=61, pickled=True),
                reader=Stage("reader", "twmkn9/albert-base-v2-squad2", millions=12, pickled=True),
                scale=Stage("yes-no", "google/flan-t5-base", "scale", millions=248)),
        Preset("modern", "stronger models than the papers had",
               questions=Stage("seq2seq", "lmqg/flan-t5-large-squad-qg", "highlight", millions=783,
                               pickled=True),
               reader=Stage("reader", "deepset/deberta-v3-large-squad2", millions=434),
               nli=Stage("nli", "MoritzLaurer/DeBERTa-v3-large-mnli-fever-anli-ling-wanli",
                         millions=435),
               scale=Stage("yes-no", "lytang/MiniCheck-Flan-T5-Large", "minicheck", millions=783),
               scale_settings={"chunking": "sentences", "chunk_size": 500, "overlap": 0.0}),
    )
}
DEFAULT = "bundled"


def published() -> dict[str, Stage]:
    """The presets' models on the Hub, each with the first stage that has it."""
    stages = [stage for one in PRESETS.values() for stage in one.on_the_hub()]
    return {stage.model: stage for stage in reversed(stages)}


def preset(name: str | Preset = DEFAULT) -> Preset:
    """The preset with this name; InputError, which lists the names, if there is none."""
    if isinstance(name, Preset):
        return name
    if not isinstance(name, str):
        raise InputError(f"the name of a preset must be a string, not {kind(name)}; the presets "
                         f"are {', '.join(PRESETS)}")
    if name not in PRESETS:
        near = difflib.get_close_matches(name.lower(), PRESETS, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise InputError(f"unknown preset {name!r}: the presets are {', '.join(PRESETS)}{hint}")
    return PRESETS[name]
