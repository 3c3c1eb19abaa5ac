"""Which model does which job: the presets, and the loaders of their stages.

Each stage of a preset can be replaced by a Hub name or a local folder. Weights are loaded
once for each (kind, model, device, dtype, …) of a process, whatever is built on them.
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from q2_metric.errors import InputError, ModelError
from q2_metric.running import Running

if TYPE_CHECKING:
    from q2_metric.models.bundled.runtimes import Runtime
    from q2_metric.models.hub.loading import AutoClass, Loaded
    from q2_metric.models.hub.prompts import Prompt
    from q2_metric.models.hub.questions import Decoding
    from q2_metric.types import (
        Backbone,
        CoreferenceResolver,
        Entailment,
        PersonalFilter,
        QuestionGenerator,
        Reader,
        SentenceSplitter,
        SpanFinder,
    )

Kind = Literal["syntactic", "bundled", "seq2seq", "reader", "nli", "yes-no"]


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of a preset.

    Args:
        kind: "syntactic" and "bundled" come with the package; "seq2seq", "reader", "nli"
            (sequence classification) and "yes-no" (encoder-decoder) are torch models.
        model: Hub name or local folder; "" where the package has its own.
        template: the input format of "seq2seq", the prompt of "yes-no"; "" for the default.
    """

    kind: Kind
    model: str = ""
    template: str = ""


@dataclass(frozen=True, slots=True)
class Preset:
    """The models of a Q² or SCALE run.

    Args:
        name: what :func:`preset` knows it by.
        questions, reader, nli: Q²'s stages.
        scale: SCALE's backbone.
        scale_settings: of SCALE where they are not the paper's. The bundled model reads a
            chunk of 200 tokens and a sentence in one window; its three classes tell what is
            not contradicted from what stands in the knowledge.
        q2_settings: of Q² where they are not the paper's.
        head: file of the groundedness head that was fitted on these models, if any.
        description: one line for people.
        needs_network: whether models are downloaded at first use.
        extra: the extra of q2-metric that it needs, "" for none.
    """

    name: str
    questions: Stage
    reader: Stage
    nli: Stage
    scale: Stage
    description: str
    needs_network: bool
    extra: str
    scale_settings: Mapping[str, Any] = field(default_factory=dict)
    q2_settings: Mapping[str, Any] = field(default_factory=dict)
    head: Path | None = None


_OURS = Stage("bundled")
_SNLI = Stage("nli", "boychaboy/SNLI_roberta-large")

PRESETS: dict[str, Preset] = {
    item.name: item
    for item in (
        Preset(
            name="bundled",
            questions=Stage("syntactic"),
            reader=_OURS,
            nli=_OURS,
            scale=_OURS,
            description="the package's own small models: offline, no torch",
            needs_network=False,
            extra="",
            scale_settings={"chunk_size": 200, "support": "consistent", "chat": "skip"},
            q2_settings={"fallback_score": "expected"},
            head=Path(__file__).parent / "bundled" / "weights" / "groundedness.json",
        ),
        Preset(
            name="paper",
            questions=Stage(
                "seq2seq",
                "mrm8488/t5-base-finetuned-question-generation-ap",
                "answer-context",
            ),
            reader=Stage("reader", "ktrapeznikov/albert-xlarge-v2-squad-v2"),
            nli=_SNLI,
            scale=Stage("yes-no", "google/flan-t5-xl", "scale"),
            description="the models of the Q² and SCALE papers",
            needs_network=True,
            extra="torch",
        ),
        Preset(
            name="paper-small",
            questions=Stage("seq2seq", "valhalla/t5-small-qa-qg-hl", "highlight-spaced"),
            reader=Stage("reader", "twmkn9/albert-base-v2-squad2"),
            nli=_SNLI,
            scale=Stage("yes-no", "google/flan-t5-base", "scale"),
            description="smaller models of the same kinds, for smaller machines",
            needs_network=True,
            extra="torch",
        ),
        Preset(
            name="modern",
            questions=Stage("seq2seq", "lmqg/flan-t5-large-squad-qg", "highlight"),
            reader=Stage("reader", "deepset/deberta-v3-large-squad2"),
            nli=Stage("nli", "MoritzLaurer/DeBERTa-v3-large-mnli-fever-anli-ling-wanli"),
            scale=Stage("yes-no", "lytang/MiniCheck-Flan-T5-Large", "minicheck"),
            description="stronger models than the papers had",
            needs_network=True,
            extra="torch",
        ),
    )
}
"""The presets by name."""

DEFAULT = "bundled"


def preset(name: str | Preset = DEFAULT) -> Preset:
    """The preset of that name (a :class:`Preset` is given back as it is).

    Raises:
        InputError: no preset has this name; the message lists them.
    """
    if isinstance(name, Preset):
        return name
    if name not in PRESETS:
        near = difflib.get_close_matches(name.lower(), PRESETS, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise InputError(f"unknown preset {name!r}: the presets are {', '.join(PRESETS)}{hint}")
    return PRESETS[name]


# --- stages that come with the package --------------------------------------------------


def load_spans() -> SpanFinder:
    """Named entities and noun chunks (spaCy), in every preset.

    Raises:
        ModelError: spaCy's English model is not installed.
    """
    from q2_metric.models.english.parser import SpacySpans

    return SpacySpans()


def load_sentences() -> SentenceSplitter:
    """The sentence splitter of every preset."""
    from q2_metric.text.sentences import RuleSentences

    return RuleSentences()


def load_personal() -> PersonalFilter:
    """The filter of personal questions of every preset (spaCy).

    Raises:
        ModelError: spaCy's English model is not installed.
    """
    from q2_metric.models.english.parser import SpacyPersonal

    return SpacyPersonal()


def load_coreference(model: str | None = None, *, device: str = "auto") -> CoreferenceResolver:
    """The coreference resolver of every preset (coreferee).

    Args:
        model: name or folder of a spaCy pipeline that coreferee supports, such as
            "en_core_web_lg"; the package's own small one if ``None``.
        device: not used, coreferee runs on the CPU.

    Raises:
        MissingExtra: coreferee is not installed.
        ModelError: coreferee's English model is not installed, or not for this pipeline.
    """
    from q2_metric.models.english.coreference import CorefereeResolver

    return CorefereeResolver(model)


# --- stages with a model ----------------------------------------------------------------


def load_questions(
    chosen: str | Preset = DEFAULT,
    model: str | None = None,
    running: Running | None = None,
    *,
    template: str | None = None,
    decoding: Decoding = "beam",
    seed: int = 0,
    **keywords: Any,
) -> QuestionGenerator:
    """The question generator of a preset.

    Args:
        chosen: preset.
        model: Hub name or folder of an encoder-decoder model to use instead.
        running: where and how to run; ``keywords`` are its fields where it is not given.
        template: its input format (a key of ``hub.templates.TEMPLATES``); by default the
            preset's own for the preset's model, else what the tokenizer suggests.
        decoding, seed: see ``Seq2SeqQuestions``; syntactic questions have neither.

    Raises:
        InputError, MissingExtra, ModelError: see :func:`preset` and ``load_pretrained``.
    """
    running = running or Running(**keywords)
    stage = _replaced(preset(chosen).questions, model, "seq2seq")
    if stage.kind == "syntactic":
        from q2_metric.models.questions.syntactic import SyntacticQuestions

        _transformers_only(running)
        return SyntacticQuestions()
    from q2_metric.models.hub.questions import Seq2SeqQuestions

    return Seq2SeqQuestions(
        _weights("AutoModelForSeq2SeqLM", stage.model, running),
        template=template or stage.template or None,
        decoding=decoding,
        seed=seed,
        batch_size=running.batch_size,
    )


def load_reader(
    chosen: str | Preset = DEFAULT,
    model: str | None = None,
    running: Running | None = None,
    *,
    threshold: float = 0.0,
    runtime: Runtime = "auto",
    **keywords: Any,
) -> Reader:
    """The reader of a preset.

    Args:
        chosen, running, keywords: as for :func:`load_questions`.
        model: Hub name or folder of an extractive question answering model.
        threshold: how far above "no answer" an answer must score (torch models; the
            bundled reader has its own, tuned one).
        runtime: what runs the bundled model: "onnx" (CPU), "torch" or "auto".

    Raises:
        InputError, MissingExtra, ModelError: see :func:`preset` and ``load_pretrained``.
    """
    running = running or Running(**keywords)
    stage = _replaced(preset(chosen).reader, model, "reader")
    if stage.kind == "bundled":
        from q2_metric.models.bundled.models import BundledReader

        _transformers_only(running)
        return BundledReader(runtime, running.device, running.dtype, running.batch_size)
    from q2_metric.models.hub.reader import TorchReader

    weights = _weights("AutoModelForQuestionAnswering", stage.model, running)
    return TorchReader(weights, threshold=threshold, batch_size=running.batch_size)


def load_nli(
    chosen: str | Preset = DEFAULT,
    model: str | None = None,
    running: Running | None = None,
    **options: Any,
) -> Entailment:
    """The NLI model of a preset; arguments as for :func:`load_backbone`."""
    return _entailment(preset(chosen).nli, model, running, **options)


def load_backbone(
    chosen: str | Preset = DEFAULT,
    model: str | None = None,
    running: Running | None = None,
    **options: Any,
) -> Backbone:
    """The SCALE backbone of a preset.

    Args:
        chosen, running: as for :func:`load_questions`.
        model: Hub name or folder; its config says whether it is a sequence classifier or
            an encoder-decoder model to be asked Yes or No.
        options: ``labels``, class names in the order of a classifier's logits, where its
            config has none; ``prompt``, the Yes/No prompt (a key of
            ``hub.prompts.PROMPTS``, or a ``Prompt``), by default the preset's own, else
            "minicheck" for MiniCheck models and "scale"; ``runtime``, as for
            :func:`load_reader`; and the fields of ``running`` where it is not given.

    Raises:
        InputError, MissingExtra, ModelError: see :func:`preset` and ``load_pretrained``.
    """
    return _entailment(preset(chosen).scale, model, running, **options)


def _entailment(
    stage: Stage,
    model: str | None,
    running: Running | None,
    *,
    labels: Sequence[str] | None = None,
    prompt: str | Prompt | None = None,
    runtime: Runtime = "auto",
    **keywords: Any,
) -> Backbone:
    running = running or Running(**keywords)
    if model is not None and model != stage.model:
        kind = entailment_kind(model)
        template = "minicheck" if "minicheck" in Path(model).name.lower() else "scale"
        stage = Stage(kind, model, template if kind == "yes-no" else "")
    if prompt is not None and stage.kind != "yes-no":
        raise InputError(
            f"{stage.model or 'the bundled model'} is an NLI classifier and takes no prompt; "
            "prompts are for encoder-decoder models"
        )
    if stage.kind == "bundled":
        from q2_metric.models.bundled.models import BundledEntailment

        _transformers_only(running)
        return BundledEntailment(runtime, running.device, running.dtype, running.batch_size)
    if stage.kind == "nli":
        from q2_metric.models.hub.nli import TorchNli

        weights = _weights("AutoModelForSequenceClassification", stage.model, running)
        return TorchNli(weights, labels=labels, batch_size=running.batch_size)
    from q2_metric.models.hub.yes_no import YesNoEntailment

    weights = _weights("AutoModelForSeq2SeqLM", stage.model, running)
    asked = prompt or stage.template
    return YesNoEntailment(weights, prompt=asked, batch_size=running.batch_size)


def entailment_kind(model: str) -> Literal["nli", "yes-no"]:
    """Whether a model is a sequence classifier or an encoder-decoder, by its config.

    Raises:
        MissingExtra: torch or transformers is not installed.
        ModelError: it is neither, or it cannot be loaded.
    """
    from q2_metric.models.hub.loading import load_config

    config = load_config(model)
    architectures = [str(item) for item in config.architectures or ()]
    if any(item.endswith("ForSequenceClassification") for item in architectures):
        return "nli"
    if config.is_encoder_decoder:
        return "yes-no"
    raise ModelError(
        f"{model}: its architecture ({', '.join(architectures) or 'not stated'}) is neither a "
        "sequence classifier nor an encoder-decoder model, so it cannot judge entailment"
    )


def _transformers_only(running: Running) -> None:
    if running.attn_implementation is not None or running.compile:
        raise InputError(
            "attn_implementation and compile are for transformers models; this run has a stage "
            "of the package's own (choose another preset, or replace the stage's model)"
        )


def _replaced(stage: Stage, model: str | None, kind: Kind) -> Stage:
    """The stage, or one of another model where that is asked for."""
    return stage if model is None or model == stage.model else Stage(kind, model)


# --- loaded once ------------------------------------------------------------------------


def _weights(auto_class: AutoClass, model: str, running: Running) -> Loaded:
    from q2_metric.models.hub.loading import resolve_device

    # "auto" and the device that it stands for are the same weights, and so is any batch.
    device = resolve_device(running.device)
    return _cached_weights(auto_class, model, replace(running, device=device, batch_size=None))


@functools.cache
def _cached_weights(auto_class: AutoClass, model: str, running: Running) -> Loaded:
    from q2_metric.models.hub.loading import load_pretrained

    return load_pretrained(
        auto_class, model, running.device, running.dtype, running.attn_implementation,
        running.compile,
    )


def clear_cache() -> None:
    """Forget the loaded torch models, so that their memory can be freed."""
    _cached_weights.cache_clear()
