"""The classes behind ``evaluate.load("q2")``, ``("scale")`` and ``("groundedness")``.

Environments with different releases may share the cache with our scripts, so every release must
offer the classes under these names. Inputs are checked before ``evaluate`` stores them: it would
convert some wrong values to text, and its errors do not say in which row they are.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from inspect import cleandoc
from itertools import combinations
from typing import Any

import datasets
import evaluate

from q2_metric import scoring
from q2_metric.errors import InputError
from q2_metric.metrics.registry import entry, listed
from q2_metric.metrics.settings import refuse_unknown
from q2_metric.scoring import check_columns, check_response, check_texts
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
"""For the rows of other processes. The 100 s of ``evaluate`` are too short while models score."""

_MEANT = {"histories": "a list of turns for each response",
          "knowledge": "a text or a list of passages for each response",
          "questions": "the question that each response answers"}
CONFIGS: dict[str, tuple[str, ...]] = {
    "_".join(names) or "default": inputs for size in range(4) for names, inputs in zip(
        combinations(("dialog", "knowledge", "question"), size), combinations(_MEANT, size),
        strict=True)}
"""The inputs of each config besides predictions and references: "dialog", "dialog_question", …"""


class _Grounded(evaluate.Metric):  # type: ignore[misc]
    """
    Args:
        predictions: the responses, a list of strings.
        references: for each response, the knowledge that should support it: a string or a list of
            passages. With the config "knowledge": for each response, the gold response, or a list
            of gold responses.
        knowledge: for each response, the knowledge that should support it: a string or a list of
            passages. Only with the config "knowledge".
        histories: for each response, the turns before it, oldest first. Only with the config
            "dialog". The configs can be joined: "dialog_knowledge", "dialog_knowledge_question".
        questions: for each response, the question that it answers, or None, so that a short answer
            such as "Yes." is judged as a statement. Only with the config "question".
        preset: "bundled" or "bundled-small" (offline), "paper", "paper-small" or "modern".
        metrics: names of the metrics to compute. The default is the loaded metric. "knowledge_f1"
            and "knowledge_bleu" compare the response with the knowledge. "f1" and "bleu" compare it
            with the gold responses. They are always computed if there are gold responses.
        batch_size, device, dtype: how the models run.
        no_claim: how responses that are empty or claim nothing ("thanks!") count in means: as 0
            ("zero", the default), or not at all ("exclude").
        numeric_only: if True, return only numbers: no signature and no None.
        return_scores: if True, also return a list of scores for each metric, such as "q2_scores".
        return_claims: if True, also return "claims": the claims of each response with their
            offsets, verdicts and passages, as in ``q2 score --out``. If no requested metric judges
            claims, SCALE does.
        return_explanations: if True, also return "explanations": the questions and the evidence of
            each response.
        calibration: a file that "q2 calibrate" wrote, or a list of such files. The scores are then
            calibrated.
        settings: any setting of the metrics by its name, and any model (reader_model="...").

    Returns:
        A dictionary, or None on all processes except the first. It contains:

        - for each metric, its mean score in [0, 1] ("groundedness", "q2", "q2_no_nli", "scale",
          ...);
        - "no_claim": the share of responses that claim nothing;
        - with q2, "coverage": the share of responses with a valid question; "fallback": the share
          of responses without one, which NLI judges as a whole; and "no_answer_rate": the share of
          questions that the knowledge does not answer;
        - "n": the number of responses that count in the mean of the first metric;
        - "signature": a line for each metric with its models and settings, and how its mean is
          computed;
        - with gold responses, "f1" (token F1) and "bleu" (BLEU of the corpus).

    Raises:
        InputError (a ValueError): a row, keyword or value cannot be used. The message says which.

    Examples:
        >>> import q2_metric, evaluate
        >>> q2 = evaluate.load("q2")
        >>> found = q2.compute(predictions=["it opened in 1901 ."],
        ...                    references=["The tower in Paris opened in 1889."])
        >>> found["q2"], found["no_answer_rate"]
        (0.0, 0.0)
    """

    own: str

    def __init__(self, *args: Any, timeout: float = LOCK_SECONDS, **kwargs: Any) -> None:
        super().__init__(*args, timeout=timeout, **kwargs)
        self._again = partial(type(self), *args, timeout=timeout, **kwargs)
        self._plan: _Plan | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        # evaluate adds methods to each instance that cannot be pickled. So the copy is created from
        # the arguments of this instance. It loads the models itself.
        if len(self):
            raise InputError(
                f"{len(self)} rows were added and not yet computed: a metric can be pickled "
                "before rows are added, and after compute")
        return self._again, ()

    def _info(self) -> evaluate.MetricInfo:
        if self.config_name not in CONFIGS:
            raise InputError(
                f"there is no config {self.config_name!r}; the configs are {', '.join(CONFIGS)}")
        texts = datasets.Sequence(datasets.Value("string"))
        text = datasets.Value("string")
        columns = {"predictions": text, "references": texts} | {
            name: text if name == "questions" else texts for name in CONFIGS[self.config_name]}
        return evaluate.MetricInfo(
            description=(self.__doc__ or "").strip(), citation=CITATION, license="Apache-2.0",
            inputs_description=f"\n{cleandoc(_Grounded.__doc__ or '')}\n",
            features=datasets.Features(columns),
            reference_urls=["https://aclanthology.org/2021.emnlp-main.619/",
                            "https://aclanthology.org/2023.emnlp-main.105/"])

    def compute(
        self, *, predictions: Any = None, references: Any = None, **kwargs: Any
    ) -> dict[str, Any] | None:
        """Scores the rows that were added before and those given here, with the arguments that the
        class describes."""
        given = {"predictions": predictions, "references": references}
        given |= {name: kwargs.pop(name) for name in _MEANT if name in kwargs}
        # Keywords are checked first. So a mistyped keyword does not lose the rows added before.
        gold = "knowledge" in CONFIGS[self.config_name]
        plan = _Plan(self.own, kwargs, gold=gold) if self.process_id == 0 else None
        if there := {name: values for name, values in given.items() if values is not None}:
            self.add_batch(**there)
        if not len(self):
            raise InputError("there is nothing to score: no row was added or given")
        self._plan = plan
        result: dict[str, Any] | None = super().compute()
        return result

    def add_batch(self, *, predictions: Any = None, references: Any = None, **kwargs: Any) -> None:
        """Adds a batch of responses with their knowledge. An empty batch is allowed."""
        rows = check_columns(
            {"predictions": predictions, "references": references, **self._more(kwargs)})
        checked = {name: [self._checked(name, value, i) for i, value in enumerate(values)]
                   for name, values in rows.items()}
        if checked["predictions"]:
            super().add_batch(**checked)

    def _checked(self, name: str, value: object, index: int) -> str | list[str]:
        """The checked text or texts of a row in a column."""
        total = f" (row {len(self) + index} of all that were added)" if len(self) else ""
        where = f"{name}[{index}]{total}"
        if name in ("predictions", "questions"):
            return check_response(value, where)
        texts = check_texts(value, where)
        if name == "references" and not texts and "knowledge" in CONFIGS[self.config_name]:
            raise InputError(f"{where} is missing: f1 and bleu need a reference response")
        return texts

    def add(self, *, prediction: Any = None, reference: Any = None, **kwargs: Any) -> None:
        """Adds one response. ``evaluate.combine`` gives plural names, which are accepted too."""
        for name, plural in (("history", "histories"), ("question", "questions")):
            if name in kwargs:
                kwargs[plural] = kwargs.pop(name)
        one = {"predictions": prediction, "references": reference, **kwargs}
        self.add_batch(**{name: [value] for name, value in one.items()})

    def _more(self, given: dict[str, Any]) -> dict[str, Any]:
        wanted = CONFIGS[self.config_name]
        refuse_unknown(given, ["predictions", "references", *_MEANT], "input")
        for name in given:
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
        self, predictions: Sequence[str], references: Sequence[Sequence[str]],
        histories: Sequence[Sequence[str]] | None = None,
        knowledge: Sequence[Sequence[str]] | None = None, questions: Sequence[str] | None = None,
    ) -> dict[str, Any]:
        assert self._plan is not None  # only the first process calls this
        rows = [scoring.example(*texts) for texts in zip(
            predictions, knowledge or references, histories or [()] * len(predictions),
            [question or None for question in questions or [""] * len(predictions)],
            strict=True)]
        return self._plan.results(rows, None if knowledge is None else references)


class Q2(_Grounded):
    """Q²: asks questions about a response, answers them from the response and from the knowledge,
    and compares the answers (Honovich et al., EMNLP 2021)."""

    own = "q2"


class Scale(_Grounded):
    """SCALE: measures whether large chunks of the knowledge entail each claim, or each sentence, of
    a response (Lattimer et al., EMNLP 2023)."""

    own = "scale"


class Groundedness(_Grounded):
    """Groundedness: the calibrated probability that the knowledge supports a response. It combines
    SCALE's judgements of the claims and the numbers that the knowledge lacks."""

    own = "groundedness"


_FLAGS = ("numeric_only", "return_scores", "return_explanations", "return_claims")
_OWN = ("predictions", "references", "metrics", "no_claim", "calibration", *_FLAGS)
"""Keywords of ``compute``, besides the models and the settings of metrics."""


class _Plan:
    """What one call of ``compute`` requests. With ``gold``, f1 and bleu are computed too."""

    def __init__(self, own: str, keywords: Mapping[str, Any], *, gold: bool) -> None:
        settings = dict(keywords)
        flags = [settings.pop(name, False) for name in _FLAGS]
        for name, value in zip(_FLAGS, flags, strict=True):
            if not isinstance(value, bool):
                raise InputError(f"{name} is {value!r}, not True or False")
        self.numeric_only, self.scores, self.explanations, self.claims = flags
        if self.numeric_only and any(flags[1:]):
            raise InputError("numeric_only returns no lists: leave out return_scores, "
                             "return_explanations and return_claims")
        self.no_claim = scoring.check_no_claim(settings.pop("no_claim", None))
        named = settings.pop("metrics", None)
        names = [own] if named is None else listed(named)
        calibration = settings.pop("calibration", None)
        grounded = [name for name in names if not (gold and name in ("f1", "bleu"))]
        self.metrics = scoring.load(grounded or (names and [own]), settings, calibration, own=_OWN)
        judging = any(entry(metric.name).evidence for metric in self.metrics)
        # Q² judges no claims. If no other metric does, SCALE is loaded for the claims.
        self.judges = scoring.load(["scale"], {
            name: settings[name] for name in ("preset", *entry("scale").keywords())
            if name in settings}) if self.claims and not judging else []

    def results(
        self, rows: Sequence[Example], golds: Sequence[Sequence[str]] | None
    ) -> dict[str, Any]:
        """The dictionary that ``compute`` returns."""
        run = scoring.ScoredRows.over(
            self.metrics, rows, no_claim=self.no_claim,
            evidence=self.explanations or self.claims)
        values: dict[str, Any] = {**run.system(), "n": run.n()}
        if golds is not None:
            values |= scoring.against_gold([row.response for row in rows], golds)
        if self.numeric_only:
            return {name: value for name, value in values.items() if value is not None}
        values["signature"] = scoring.signature_lines(self.metrics, self.no_claim)
        if self.scores:
            values |= {f"{name}_scores": run.column(name) for name in run.columns()}
        if self.explanations:
            values["explanations"] = run.explanations()
        if self.claims:
            values["claims"] = (scoring.ScoredRows.over(self.judges, rows, evidence=True)
                                if self.judges else run).claims()
        return values
