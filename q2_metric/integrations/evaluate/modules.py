"""``evaluate.load("q2")`` and ``evaluate.load("scale")``: the metrics as ``evaluate`` modules.

Inputs are checked before ``evaluate`` stores them. Its own conversion turns some wrong values into
text, and its errors do not name the row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import datasets
import evaluate

from q2_metric import scoring
from q2_metric.errors import InputError
from q2_metric.metrics.registry import entry, listed
from q2_metric.metrics.registry import keywords as known_keywords
from q2_metric.metrics.settings import refuse_unknown
from q2_metric.scoring import check_column, check_response, check_texts
from q2_metric.types import Example

CITATION = """\
@inproceedings{honovich-etal-2021-q2,
  title = "{Q}²: Evaluating Factual Consistency in Knowledge-Grounded Dialogues via Question \
Generation and Question Answering",
  author = "Honovich, Or and Choshen, Leshem and Aharoni, Roee and Neeman, Ella and \
Szpektor, Idan and Abend, Omri",
  booktitle = "EMNLP", year = "2021"}
@inproceedings{lattimer-etal-2023-fast,
  title = "Fast and Accurate Factual Inconsistency Detection Over Long Documents",
  author = "Lattimer, Barrett and Chen, Patrick and Zhang, Xinyuan and Yang, Yi",
  booktitle = "EMNLP", year = "2023"}
"""

LOCK_SECONDS = 3600.0
"""How long a process waits for the rows of the other processes. The 100 s of evaluate are too short
while models score."""

INPUTS = """
Args:
    predictions: the responses, a list of strings.
    references: the knowledge that each response should be grounded in, a string or a list of
        passages for each. With the config "knowledge": the gold response or responses of each.
    knowledge: only with the config "knowledge": what references are otherwise.
    histories: only with the config "dialog": the turns before each response, oldest first. The
        config "dialog_knowledge" has both.
    preset: "bundled" or "bundled-small" (offline), "paper", "paper-small" or "modern".
    metrics: what is computed; by default the module's own. "knowledge_f1" and "knowledge_bleu"
        compare with the knowledge; f1 and bleu are of the config "knowledge", which has gold
        responses to compare with, and need no naming.
    batch_size, device, dtype: how the models run.
    no_claim: how responses that claim nothing ("thanks!") or are empty count in means: as 0
        ("zero", the default), or not at all ("exclude").
    numeric_only: only keys whose value is a number: no signature, nothing that is None.
    return_scores: also a list of scores for each metric, e.g. "q2_scores".
    return_claims: also "claims": those of each response, with their places, verdicts and passages,
        as in ``q2 score --out``; where none of the metrics judges claims, SCALE does.
    return_explanations: also "explanations": the questions and the evidence of each response.
    calibration: a file of "q2 calibrate", or several: scores become calibrated ones.
    settings: every setting of Q² and SCALE by its name, and a model for any stage
        (reader_model="...").

Returns:
    A dictionary with the mean score in [0, 1] for each metric ("q2", "q2_no_nli", "scale", ...);
    "no_claim", the share of responses that claim nothing; with q2 "coverage" (share of responses
    with a valid question), "fallback" (share scored by end-to-end NLI) and "no_answer_rate"
    (share of questions that the knowledge does not answer); "n", the responses that count in
    the first metric's mean; "signature", a line for each metric that says what its mean is; with
    the config "knowledge" also "f1" (token F1) and "bleu" (of the corpus) against the gold
    responses. None on other processes than the first.

Raises:
    InputError (a ValueError): rows, keywords or values that cannot be used; one line that says
        which.

Examples:
    >>> import q2_metric, evaluate
    >>> q2 = evaluate.load("q2")
    >>> found = q2.compute(predictions=["it opened in 1901 ."],
    ...                    references=["The tower in Paris opened in 1889."])
    >>> found["q2"], found["no_answer_rate"]
    (0.0, 0.0)
"""

CONFIGS: dict[str, tuple[str, ...]] = {
    "default": (),
    "dialog": ("histories",),
    "knowledge": ("knowledge",),
    "dialog_knowledge": ("histories", "knowledge"),
}
"""The inputs of each config, beside predictions and references."""

_MEANT = {"histories": "a list of turns a response",
          "knowledge": "the text, or a list of passages, of each response"}


class _Grounded(evaluate.Metric):  # type: ignore[misc]
    """The common part of both modules. evaluate's loader names a module by its class."""

    own: str

    def __init__(self, *args: Any, timeout: float = LOCK_SECONDS, **kwargs: Any) -> None:
        super().__init__(*args, timeout=timeout, **kwargs)
        self._given = (args, {"timeout": timeout, **kwargs})
        self._plan: _Plan | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        # evaluate adds methods to each instance that cannot be pickled. So a copy is created from
        # the arguments of the instance, and loads the models where it is used.
        if len(self):
            raise InputError(
                f"{len(self)} rows were added and not yet computed: a metric can be pickled "
                "before rows are added, and after compute")
        return _made, (type(self), *self._given)

    def _info(self) -> evaluate.MetricInfo:
        if self.config_name not in CONFIGS:
            raise InputError(
                f"there is no config {self.config_name!r}; the configs are {', '.join(CONFIGS)}")
        columns = {"predictions": datasets.Value("string"), "references": _strings()}
        columns |= {name: _strings() for name in CONFIGS[self.config_name]}
        return evaluate.MetricInfo(
            description=(self.__doc__ or "").strip(),
            citation=CITATION,
            inputs_description=INPUTS,
            features=datasets.Features(columns),
            license="Apache-2.0",
            reference_urls=[
                "https://aclanthology.org/2021.emnlp-main.619/",
                "https://aclanthology.org/2023.emnlp-main.105/",
            ],
        )

    def compute(
        self, *, predictions: Any = None, references: Any = None, **kwargs: Any
    ) -> dict[str, Any] | None:
        """Scores the rows that were added before and the rows that are given here."""
        given = {"predictions": predictions, "references": references}
        given |= {name: kwargs.pop(name) for name in _MEANT if name in kwargs}
        # Checked before the added rows are consumed, so that a typing error does not lose them.
        gold = "knowledge" in CONFIGS[self.config_name]
        plan = _Plan(self.own, kwargs, gold=gold) if self.process_id == 0 else None
        if any(values is not None for values in given.values()):
            self.add_batch(**{n: values for n, values in given.items() if values is not None})
        if not len(self):
            raise InputError("there is nothing to score: no row was added or given")
        self._plan = plan
        result: dict[str, Any] | None = super().compute()
        return result

    def add_batch(self, *, predictions: Any = None, references: Any = None, **kwargs: Any) -> None:
        """Adds responses and their knowledge. An empty batch adds nothing."""
        columns = {"predictions": predictions, "references": references, **self._more(kwargs)}
        rows = {name: _column(name, values) for name, values in columns.items()}
        sizes = {name: len(values) for name, values in rows.items()}
        if len(set(sizes.values())) > 1:
            listed = ", ".join(f"{size} {name}" for name, size in sizes.items())
            raise InputError(f"each response needs its own inputs, but there are {listed}")
        if sizes["predictions"]:
            before = len(self)
            checked = [
                _row({name: values[i] for name, values in rows.items()}, i, before)
                for i in range(sizes["predictions"])
            ]
            super().add_batch(**{name: [row[name] for row in checked] for name in rows})

    def add(self, *, prediction: Any = None, reference: Any = None, **kwargs: Any) -> None:
        """Adds one response and its knowledge.

        ``evaluate.combine`` passes the arguments under their plural names.
        """
        if "history" in kwargs:
            kwargs["histories"] = kwargs.pop("history")
        one = {"predictions": prediction, "references": reference, **kwargs}
        self.add_batch(**{name: [value] for name, value in one.items()})

    def _more(self, given: dict[str, Any]) -> dict[str, Any]:
        """The values that a call gives for the further inputs of the config."""
        wanted = CONFIGS[self.config_name]
        for name in given:
            if name not in _MEANT:
                raise InputError(f"unknown input {name!r}; the inputs are "
                                 f"{', '.join(self._feature_names())}")
            if name not in wanted and given[name] is not None:
                config = next(one for one, names in CONFIGS.items() if name in names)
                hint = "; here the knowledge is called references" * (name == "knowledge")
                raise InputError(f"{name} is an input of evaluate.load({self.own!r}, "
                                 f"\"{config}\"), not of the config {self.config_name!r}{hint}")
        for name in wanted:
            if given.get(name) is None:
                raise InputError(f"the config {self.config_name!r} needs {name}, {_MEANT[name]}")
        return {name: given[name] for name in wanted}

    def _compute(
        self,
        predictions: Sequence[str],
        references: Sequence[Sequence[str]],
        histories: Sequence[Sequence[str]] | None = None,
        knowledge: Sequence[Sequence[str]] | None = None,
    ) -> dict[str, Any]:
        assert self._plan is not None  # only the first process calls this
        rows = [
            scoring.example(response, passages, history)
            for response, passages, history in zip(
                predictions, knowledge or references, histories or [()] * len(predictions),
                strict=True)
        ]
        return self._plan.results(rows, None if knowledge is None else references)


class Q2(_Grounded):
    """Q²: asks questions about a response, answers them from the knowledge, and compares the
    answers (Honovich et al., EMNLP 2021)."""

    own = "q2"


class Scale(_Grounded):
    """SCALE: whether large chunks of the knowledge entail each claim or sentence of a response
    (Lattimer et al., EMNLP 2023)."""

    own = "scale"


_OWN = ("metrics", "preset", "return_scores", "return_explanations", "return_claims",
        "numeric_only", "no_claim", "calibration")
"""Keywords of ``compute`` that are neither inputs nor models nor settings."""


class _Plan:
    """The keywords of one call of ``compute``, with its metrics loaded.

    Args:
        own: the module's metric.
        keywords: keywords of ``compute``.
        gold: whether people's reference responses are given. f1 and bleu then compare with them.

    Raises:
        InputError: a keyword or value is unknown.
    """

    def __init__(self, own: str, keywords: Mapping[str, Any], *, gold: bool) -> None:
        settings = dict(keywords)
        refuse_unknown(
            settings, ["predictions", "references", *_OWN, *known_keywords()], "keyword")
        self.return_scores = _flag("return_scores", settings)
        self.return_explanations = _flag("return_explanations", settings)
        self.return_claims = _flag("return_claims", settings)
        self.numeric_only = _flag("numeric_only", settings)
        if self.numeric_only and (
                self.return_scores or self.return_explanations or self.return_claims):
            raise InputError("numeric_only returns no lists: leave out return_scores, "
                             "return_explanations and return_claims")
        self.no_claim = scoring.check_no_claim(settings.pop("no_claim", None))
        names = listed(settings.pop("metrics", None) or [own])
        calibration = settings.pop("calibration", None)
        grounded = [name for name in names if not (gold and name in ("f1", "bleu"))]
        self.metrics = scoring.load(grounded or [own], settings, calibration)
        judging = any(entry(metric.name).evidence for metric in self.metrics)
        # Q² asks about the whole response, so SCALE judges the claims.
        own_settings = {name: value for name, value in settings.items()
                        if name in ("preset", *entry("scale").keywords())}
        self.judges = (scoring.load(["scale"], own_settings)
                       if self.return_claims and not judging else [])

    def results(
        self, rows: Sequence[Example], golds: Sequence[Sequence[str]] | None
    ) -> dict[str, Any]:
        """The result of ``compute``.

        Args:
            rows: the examples.
            golds: the reference responses of each example; ``None`` without references.
        """
        run = scoring.ScoredRows.over(
            self.metrics, rows, no_claim=self.no_claim,
            evidence=self.return_explanations or self.return_claims)
        values: dict[str, Any] = {**run.system(), "n": run.n()}
        if golds is not None:
            values |= scoring.against_gold([row.response for row in rows], golds)
        if self.numeric_only:
            return {name: value for name, value in values.items() if value is not None}
        values["signature"] = scoring.signature_lines(self.metrics, self.no_claim)
        if self.return_scores:
            values |= {f"{name}_scores": run.column(name) for name in run.columns()}
        if self.return_explanations:
            values["explanations"] = run.explanations()
        if self.return_claims:
            judged = run
            if self.judges:
                judged = scoring.ScoredRows.over(self.judges, rows, evidence=True)
            values["claims"] = judged.claims()
        return values


def _flag(name: str, settings: dict[str, Any]) -> bool:
    value = settings.pop(name, False)
    if not isinstance(value, bool):
        raise InputError(f"{name} is {value!r}, not True or False")
    return value


def _column(name: str, values: Any) -> list[Any]:
    if values is None:
        raise InputError(f"{name} are missing")
    return check_column(values, name)


def _row(row: Mapping[str, Any], index: int, before: int) -> dict[str, Any]:
    """A row whose texts have been checked.

    Args:
        row: the row.
        index: index of the row in this call.
        before: number of rows of earlier calls, for the row number in errors.
    """
    total = f" (row {before + index} of all that were added)" if before else ""

    def where(name: str) -> str:
        return f"{name}[{index}]{total}"

    checked: dict[str, Any] = {}
    for name, value in row.items():
        if name == "predictions":
            checked[name] = check_response(value, where(name))
        else:
            checked[name] = check_texts(value, where(name))
            if name == "references" and "knowledge" in row and not checked[name]:
                raise InputError(f"{where(name)} is missing: f1 and bleu need a reference response")
    return checked


def _made(kind: type[_Grounded], args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Grounded:
    """Creates the copy of a pickled metric."""
    return kind(*args, **kwargs)


def _strings() -> Any:
    return datasets.Sequence(datasets.Value("string"))
