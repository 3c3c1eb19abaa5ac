"""``evaluate.load("q2")`` and ``evaluate.load("scale")``: the metrics as ``evaluate`` modules.

Inputs are checked before ``evaluate`` stores them: its own conversion turns some wrong
values into text and names no row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import datasets
import evaluate

from q2_metric import scoring
from q2_metric.errors import InputError
from q2_metric.rows.texts import kind
from q2_metric.scoring import check_text, check_texts
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
"""How long a process waits for the others' rows; evaluate's 100 s are short for models."""

INPUTS = """
Args:
    predictions: the responses, a list of strings.
    references: the knowledge that each response should be grounded in, a string or a list of
        passages for each.
    histories: only with the config "dialog": the turns before each response, oldest first.
    preset: "bundled" (offline), "paper", "paper-small" or "modern".
    metrics: what is computed; by default the module's own. f1 and bleu compare with the
        knowledge.
    batch_size, device, dtype: how the models run.
    no_claim: how responses that claim nothing ("thanks!") or are empty count in means: "exclude"
        (default), not at all, or "zero", as 0.
    return_scores: also a list of scores for each metric, e.g. "q2_scores".
    return_explanations: also "explanations": the questions and the evidence of each response.
    calibration: a file of "q2 calibrate", or several: scores become calibrated ones.
    settings: every setting of Q² and SCALE by its name, and a model for any stage
        (reader_model="...").

Returns:
    A dictionary with the mean score in [0, 1] for each metric ("q2", "q2_no_nli", "scale", ...);
    "no_claim", the share of responses that claim nothing; with q2 "coverage" (share of responses
    with a valid question), "fallback" (share scored by end-to-end NLI) and "no_answer_rate"
    (share of questions that the knowledge does not answer); "n", the responses that are not
    empty; "signature", a line for each metric. None on other processes than the first.

Raises:
    InputError (a ValueError): rows, keywords or values that cannot be used; one line that says
        which.
"""


class _Grounded(evaluate.Metric):  # type: ignore[misc]
    """What the two modules share. The loader names a module by its class."""

    own: str

    def __init__(self, *args: Any, timeout: float = LOCK_SECONDS, **kwargs: Any) -> None:
        super().__init__(*args, timeout=timeout, **kwargs)
        self._plan: _Plan | None = None

    def _info(self) -> evaluate.MetricInfo:
        if self.config_name not in ("default", "dialog"):
            raise InputError(
                f"there is no config {self.config_name!r}; there are 'default' and 'dialog' "
                "(with histories)"
            )
        columns = {"predictions": datasets.Value("string"), "references": _strings()}
        if self.config_name == "dialog":
            columns["histories"] = _strings()
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
        """Scores what was added, or the rows given."""
        histories = kwargs.pop("histories", None)
        # Before anything that was added is consumed: a typing error must not lose it.
        plan = _Plan(self.own, kwargs) if self.process_id == 0 else None
        given = {"predictions": predictions, "references": references, "histories": histories}
        if any(values is not None for values in given.values()):
            self.add_batch(**{n: values for n, values in given.items() if values is not None})
        if not len(self):
            raise InputError("there is nothing to score: no row was added or given")
        self._plan = plan
        result: dict[str, Any] | None = super().compute()
        return result

    def add_batch(self, *, predictions: Any = None, references: Any = None, **kwargs: Any) -> None:
        """Adds responses and their knowledge; an empty batch adds nothing."""
        histories = self._histories(kwargs)
        columns = {"predictions": predictions, "references": references}
        if histories is not None:
            columns["histories"] = histories
        rows = {name: _column(name, values) for name, values in columns.items()}
        sizes = {name: len(values) for name, values in rows.items()}
        if len(set(sizes.values())) > 1:
            listed = ", ".join(f"{size} {name}" for name, size in sizes.items())
            raise InputError(f"each response needs its own knowledge: there are {listed}")
        if sizes["predictions"]:
            before = len(self)
            checked = [
                _row({name: values[i] for name, values in rows.items()}, i, before)
                for i in range(sizes["predictions"])
            ]
            super().add_batch(**{name: [row[name] for row in checked] for name in rows})

    def add(self, *, prediction: Any = None, reference: Any = None, **kwargs: Any) -> None:
        """Adds one response and its knowledge."""
        if "history" in kwargs:
            kwargs["histories"] = kwargs.pop("history")
        histories = self._histories(kwargs)
        one = {"predictions": prediction, "references": reference}
        if histories is not None:
            one["histories"] = histories
        self.add_batch(**{name: [value] for name, value in one.items()})

    def _histories(self, given: dict[str, Any]) -> Any:
        """The histories of a call, if its config has them."""
        histories = given.pop("histories", None)
        if given:
            raise InputError(f"unknown input {next(iter(given))!r}; the inputs are "
                             f"{', '.join(self._feature_names())}")
        dialog = self.config_name == "dialog"
        if dialog and histories is None:
            raise InputError("the config 'dialog' needs histories, a list of turns a response")
        if not dialog and histories is not None:
            raise InputError(
                f"histories are an input of evaluate.load({self.own!r}, \"dialog\"), not of the "
                "default config"
            )
        return histories

    def _compute(
        self, *, predictions: Sequence[str] = (), references: Sequence[Sequence[str]] = (),
        histories: Sequence[Sequence[str]] | None = None, **_: Any,
    ) -> dict[str, Any]:
        assert self._plan is not None  # only the first process gets here
        rows = [
            scoring.example(response, knowledge, history)
            for response, knowledge, history in zip(
                predictions, references, histories or [()] * len(predictions), strict=True)
        ]
        return self._plan.results(rows)


class Q2(_Grounded):
    """Q²: asks questions about a response, answers them from the knowledge that it should be
    grounded in, and compares the answers (Honovich et al., EMNLP 2021)."""

    own = "q2"


class Scale(_Grounded):
    """SCALE: whether large chunks of the knowledge entail each sentence of a response
    (Lattimer et al., EMNLP 2023)."""

    own = "scale"


class _Plan:
    """What one ``compute`` was asked for, with its metrics loaded.

    Args:
        own: the module's metric.
        keywords: of ``compute``.

    Raises:
        InputError: an unknown keyword or value.
    """

    def __init__(self, own: str, keywords: Mapping[str, Any]) -> None:
        settings = dict(keywords)
        self.return_scores = _flag("return_scores", settings)
        self.return_explanations = _flag("return_explanations", settings)
        self.no_claim = scoring.check_no_claim(settings.pop("no_claim", None) or "exclude")
        names = settings.pop("metrics", None) or [own]
        calibration = settings.pop("calibration", None)
        self.metrics = scoring.load(names, settings, calibration)

    def results(self, rows: Sequence[Example]) -> dict[str, Any]:
        run = scoring.Run.over(
            self.metrics, rows, no_claim=self.no_claim, evidence=self.return_explanations)
        found: dict[str, Any] = {**run.system(), "n": run.n()}
        found["signature"] = "\n".join(metric.signature for metric in self.metrics)
        if self.return_scores:
            found |= {f"{name}_scores": run.column(name) for name in run.columns()}
        if self.return_explanations:
            found["explanations"] = run.explanations()
        return found


def _flag(name: str, settings: dict[str, Any]) -> bool:
    value = settings.pop(name, False)
    if not isinstance(value, bool):
        raise InputError(f"{name} is {value!r}, not True or False")
    return value


def _column(name: str, values: Any) -> list[Any]:
    if values is None:
        raise InputError(f"{name} are missing")
    if isinstance(values, (str, Mapping)) or not isinstance(values, Iterable):
        raise InputError(f"{name} is {kind(values)}, not a list with an item for each response")
    return list(values)


def _row(row: Mapping[str, Any], index: int, before: int) -> dict[str, Any]:
    """A row with its texts checked; ``before`` rows were added by earlier calls."""
    total = f" (row {before + index} of all that were added)" if before else ""

    def where(name: str) -> str:
        return f"{name}[{index}]{total}"

    checked: dict[str, Any] = {}
    for name, value in row.items():
        if name == "predictions":
            checked[name] = check_text(value, where(name))
        else:
            checked[name] = check_texts(value, where(name))
            if name == "references" and not checked[name]:
                raise InputError(f"{where(name)} is an empty list: there is no knowledge")
    return checked


def _strings() -> Any:
    return datasets.Sequence(datasets.Value("string"))
