"""Q² and SCALE inside ``transformers.Trainer``: a callback, and a function for ``compute_metrics``.

The scores join the metrics of an evaluation, so they are logged like the losses, and
``metric_for_best_model`` and early stopping can use them.
"""

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
from accelerate.utils import broadcast_object_list
from transformers import EarlyStoppingCallback, TrainerCallback

from q2_metric import scoring
from q2_metric.errors import InputError, ModelError, Q2Error
from q2_metric.integrations.trainer.output import folder_of, keep, show
from q2_metric.integrations.trainer.responding import TrainerResponder
from q2_metric.metrics.registry import METRICS, PAPERS, listed
from q2_metric.metrics.registry import columns as columns_of
from q2_metric.metrics.settings import refuse_unknown
from q2_metric.rows.fields import OutputRow
from q2_metric.runtime_config import RuntimeConfig
from q2_metric.scoring import NO_CLAIM, Mean, NoClaim
from q2_metric.scoring.judge import report_broken, warn_of_row
from q2_metric.text.given import is_blank, kind, missing
from q2_metric.types import Example, Metric

_LOG = logging.getLogger(__name__)

_Evaluated = tuple[dict[str, float], list[str], list[OutputRow]]


@dataclass(frozen=True, slots=True)
class Row:
    """A dialogue turn for which the trained model generates a response. ``prompt`` is a text in the
    form that the model was trained on, or a list of chat messages for the tokenizer's chat
    template. ``reference`` is the gold response. ``question`` is what the response answers."""

    prompt: Any
    knowledge: tuple[str, ...]
    history: tuple[str, ...] = ()
    reference: str | None = None
    question: str | None = None


class _Scoring:
    metrics: list[Metric]
    no_claim: NoClaim
    strict: bool

    def _scored(self, rows: Sequence[Example], evidence: bool = False) -> scoring.ScoredRows:
        return scoring.ScoredRows.over(
            self.metrics, rows, no_claim=self.no_claim, evidence=evidence,
            on_fault=None if self.strict else warn_of_row,
            on_break=None if self.strict else report_broken)


class Q2Callback(TrainerCallback, _Scoring):  # type: ignore[misc]
    """Logs ``eval_q2``, ``eval_scale``, … at each evaluation of a trainer. If the trainer reports
    to TensorBoard or Weights & Biases, these also get a table of the worst responses.

    docs/frameworks.md says what each name means. The mean of a metric is NaN if no response counts
    in it, or if the metric failed. A checkpoint is never chosen as the best if it has NaN, or if
    most of its responses claim nothing or have no valid question of Q²
    (:func:`q2_metric.scoring.hollow`).

    Args:
        trainer: a ``Trainer`` or ``Seq2SeqTrainer`` with a tokenizer as ``processing_class``.
        rows: a ``datasets.Dataset``, or a list of mappings with the fields of :class:`Row`.
        metrics: names, also as "q2,scale". f1 and bleu are computed anyway with gold responses.
        columns: the names of a row's fields if they are different, such as ``{"prompt": "input"}``.
        batch_size: prompts in a batch; the default is the trainer's batch size for evaluation.
        max_prompt_length: most tokens of a prompt. Longer prompts are cut at the beginning. The
            default is what the tokenizer and the model allow, minus a decoder's response.
        generation: keywords for ``model.generate``, which override the generation configs of
            trainer and model. ``generation_max_length`` counts only the response, for a decoder
            too.
        prefix: what the names of the logged scores begin with. transformers chooses the best
            checkpoint only by names with "eval_". An evaluation whose ``metric_key_prefix`` is
            neither this prefix nor "eval" is ignored, because it evaluates other rows.
        no_claim: how responses without a claim are averaged: as 0 ("zero"), or not at all
            ("exclude").
        strict: end the training with the error of a metric or a generation that fails, or of a
            file that cannot be written. Otherwise it is logged. (With several processes, an error
            of the generation always ends the training.)
        out: a folder that keeps the responses and scores of each evaluation, with their evidence:
            ``step-500.jsonl``, … (``test-step-500.jsonl`` with the prefix "test_").
            ``q2 report FOLDER`` draws them as curves. During training, files of the same steps, as
            of an earlier training, are replaced.
        settings: ``preset``, ``device`` and settings of the metrics.

    Add the callback before those that read its metrics, such as early stopping.

    Raises:
        InputError: a row or a keyword is wrong.
    """

    def __init__(
        self, trainer: Any, rows: Any, *, metrics: Sequence[str] | str = PAPERS,
        columns: Mapping[str, str] | None = None, batch_size: int | None = None,
        max_prompt_length: int | None = None, generation: Mapping[str, Any] | None = None,
        prefix: str = "eval_", no_claim: NoClaim = NO_CLAIM, strict: bool = False,
        out: str | Path | None = None, **settings: Any,
    ) -> None:
        if not prefix.endswith("_"):
            raise InputError(f'prefix is {prefix!r}, not a text such as "eval_"')
        RuntimeConfig(batch_size=batch_size)  # checks it
        self.trainer, self.strict = trainer, strict
        self.out = None if out is None else folder_of(out)
        self.rows = _rows(rows, columns or {})
        with_gold = sum(row.reference is not None for row in self.rows)
        if with_gold not in (0, len(self.rows)):
            raise InputError(f"{with_gold} of {len(self.rows)} rows have a reference: "
                             "give one for each or for none")
        _check_knowledge(["".join(row.knowledge) for row in self.rows])
        self.respond = TrainerResponder(trainer, generation or {}, max_prompt_length, batch_size)
        self.respond.check([row.prompt for row in self.rows])
        self.prefix, self.no_claim = prefix, scoring.check_no_claim(no_claim)
        # The metrics are loaded now, so that a mistake is noticed before hours of training.
        self.names = _grounded(metrics, gold=bool(with_gold))
        self.metrics = (scoring.load(self.names, settings, own=signature(Q2Callback).parameters)
                        if trainer.is_world_process_zero() else [])
        self.signature = scoring.signature_lines(self.metrics, self.no_claim)
        """Empty except on the first process."""
        self.responses: list[str] = []
        """Of the last evaluation, in the order of the rows. Empty except on the first process."""

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Warns if the training has no evaluations, because then nothing is scored. InputError: the
        best checkpoint is to be chosen by a score that is not computed, or early stopping would
        look for a score before it is there."""
        self._check_trainer(args)
        self._check_best(args.metric_for_best_model or "")
        if args.eval_strategy == "no" and state.is_world_process_zero:
            _LOG.warning(
                'no evaluation is scheduled (eval_strategy is "no"), so %s and the like will not '
                'be logged: set eval_strategy="epoch", or "steps" with eval_steps',
                f"{self.prefix}{next(iter(columns_of(m.name for m in self.metrics)), 'f1')}")

    def on_evaluate(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Generates and scores responses, adds the results to the metrics, and logs them."""
        self._check_trainer(args)
        metrics: dict[str, float] = kwargs["metrics"]
        if not any(name.startswith((self.prefix, "eval_")) for name in metrics):
            return
        if isinstance(self.trainer.eval_dataset, dict):
            # The trainer evaluates each of its data sets. The callback runs only with the first.
            others = list(self.trainer.eval_dataset)[1:]
            if not {f"eval_{name}_runtime" for name in others}.isdisjoint(metrics):
                return
        responses = self._responses(kwargs["model"])
        numbers, unfit, kept = self._from_first(responses, state.global_step)
        numbers = {f"{self.prefix}{name}": value for name, value in numbers.items()}
        metrics.update(numbers)
        self.trainer.log(numbers)
        show(self.trainer.callback_handler.callbacks, f"{self.prefix.removesuffix('_')}/worst",
             kept, [metric.name for metric in self.metrics], state.global_step)
        best = f"eval_{(args.metric_for_best_model or '').removeprefix('eval_')}"
        if best in [f"{self.prefix}{name}" for name in unfit] and self.trainer.is_in_train:
            # During training, only the trainer and the callbacks after this one read these metrics.
            # NaN is no improvement for any of them, and the logged value stays.
            metrics[best] = math.nan

    def _check_best(self, best: str) -> None:
        """Checks the name in ``metric_for_best_model``, and the order of the callbacks."""
        ours = [*columns_of(self.names)]
        short = best.removeprefix("eval_").removeprefix(self.prefix)
        if short not in columns_of(METRICS):
            return
        if not self.prefix.startswith("eval_"):
            raise InputError(f"metric_for_best_model is {best!r}, but transformers finds only "
                             f"names with \"eval_\": leave out prefix={self.prefix!r}")
        if short not in ours:
            raise InputError(f"metric_for_best_model is {best!r}, but the callback computes "
                             f"{', '.join(ours)}: name it in metrics")
        callbacks = self.trainer.callback_handler.callbacks
        if any(isinstance(one, EarlyStoppingCallback)
               for one in callbacks[:callbacks.index(self)]):
            raise InputError("EarlyStoppingCallback stands before Q2Callback, so it would not find "
                             f"{best!r}: add it afterwards, with trainer.add_callback")

    def _responses(self, model: Any) -> list[str] | None:
        """The responses to all prompts; ``None`` if generating them failed, which is logged."""
        try:
            return self.respond(model, [row.prompt for row in self.rows])
        except Exception as error:
            # Other processes would wait for this one.
            if self.strict or self.trainer.args.world_size > 1:
                raise
            _LOG.error("no response was generated, so this evaluation has no scores: %s: %s "
                       "(strict=True raises the error)", type(error).__name__, error)
            return None

    def _check_trainer(self, args: Any) -> None:
        if args is not self.trainer.args:
            raise InputError("this callback was made for another trainer: make one with "
                             "Q2Callback(trainer, ...) for each trainer")

    def _from_first(self, responses: list[str] | None, step: int) -> _Evaluated:
        """The numbers to log, and those by which this checkpoint must not be chosen as the best.
        The first process computes them and sends them to the others, because each process decides
        which checkpoint is the best. The scored rows are only on the first process. If it fails,
        the training ends on all."""
        failed: Exception | None = None
        found: _Evaluated = {}, [], []
        if self.trainer.is_world_process_zero():
            self.responses = responses or []
            try:
                found = self._evaluate(step) if responses else (*_nothing(self.names), [])
            except Exception as error:
                failed = error
        # Some errors cannot be sent to other processes, but their text can.
        problem = f"{type(failed).__name__}: {failed}" if failed else ""
        numbers, unfit, problem = broadcast_object_list([(*found[:2], problem)])[0]
        if problem:
            raise failed or ModelError(problem)
        return numbers, unfit, found[2]

    def _evaluate(self, step: int) -> _Evaluated:
        examples = [
            replace(scoring.example(response, row.knowledge, row.history, row.question),
                    other={name: text for name, text in (
                        ("prompt", row.prompt), ("reference", row.reference))
                        if isinstance(text, str)})  # chat messages are not kept
            for row, response in zip(self.rows, self.responses, strict=True)]
        run = self._scored(examples, evidence=self.out is not None)
        rows = run.explanations(texts=True)
        if self.out is not None:
            name = f"{self.prefix.rstrip('_')}-".removeprefix("eval-")
            try:
                keep(self.out / f"{name}step-{step}.jsonl", run, rows,
                     replace=self.trainer.is_in_train)
            except Q2Error as error:
                if self.strict:
                    raise
                _LOG.error("this evaluation is not kept in the folder out: %s", error)
        return *_numbers(run), rows


class Q2ComputeMetrics(_Scoring):
    """The ``compute_metrics`` of a ``Seq2SeqTrainer`` with ``predict_with_generate``.

    It returns what :class:`Q2Callback` logs, whose arguments it shares, but cannot keep the trainer
    from choosing a checkpoint as the best. ``knowledge``, ``histories`` and ``questions`` have an
    entry for each row of the evaluation set, in order. The labels are the gold responses.

    The trainer does not say which rows it evaluates. If their number or their labels are not those
    of the first evaluation, an error is logged and the scores are NaN (with ``strict``, InputError
    is raised). With ``train_sampling_strategy="group_by_length"``, the trainer sorts the evaluation
    set, so the knowledge would be that of other rows: use :class:`Q2Callback` there.

    InputError: a keyword is wrong."""

    def __init__(
        self, tokenizer: Any, knowledge: Sequence[str] | Sequence[Sequence[str]], *,
        histories: Sequence[Sequence[str]] | None = None,
        questions: Sequence[str | None] | None = None, metrics: Sequence[str] | str = PAPERS,
        no_claim: NoClaim = NO_CLAIM, strict: bool = False, **settings: Any,
    ) -> None:
        self.tokenizer, self.strict = tokenizer, strict
        self.no_claim = scoring.check_no_claim(no_claim)
        knowledge = scoring.check_column(knowledge, "knowledge")
        self.rows = scoring.given_columns([""] * len(knowledge), knowledge, histories, questions)
        _check_knowledge([row.knowledge for row in self.rows])
        self.metrics = scoring.load(_grounded(metrics, gold=True), settings,
                                    own=signature(Q2ComputeMetrics).parameters)
        self.golds: list[str] = []
        self.signature = scoring.signature_lines(self.metrics, self.no_claim)

    def __call__(self, prediction: Any) -> dict[str, float]:
        responses = self._decode(prediction.predictions)
        golds = self._decode(prediction.label_ids)
        if len(golds) == len(self.rows):
            self.golds = self.golds or golds
        if golds != self.golds:
            problem = (f"{len(golds)} predictions for {len(self.rows)} knowledge texts: their "
                       "number or the labels are not those of the first evaluation; this object "
                       "has the knowledge of one evaluation set only, in its order")
            if self.strict:
                raise InputError(problem)
            _LOG.error("no score was computed: %s", problem)
            return _nothing([one.name for one in self.metrics])[0] | scoring.against_gold(
                responses, [[gold] for gold in golds])
        return _numbers(self._scored([
            replace(row, response=response, other={"reference": gold})
            for row, response, gold in zip(self.rows, responses, golds, strict=True)]))[0]

    def _decode(self, ids: Any) -> list[str]:
        ids = np.asarray(ids[0] if isinstance(ids, tuple) else ids)
        if ids.ndim != 2 or not np.issubdtype(ids.dtype, np.integer):
            raise InputError("predictions are not token ids: set predict_with_generate=True "
                             "in Seq2SeqTrainingArguments")
        pad = self.tokenizer.pad_token_id
        ids = np.where(ids < 0, self.tokenizer.eos_token_id if pad is None else pad, ids)
        texts: list[str] = self.tokenizer.batch_decode(ids, skip_special_tokens=True)
        return [text.strip() for text in texts]


def _grounded(metrics: Sequence[str] | str, gold: bool) -> list[str]:
    """The names without f1 and bleu, which are computed whenever there are gold responses."""
    metrics = listed(metrics)
    with_gold = [name for name in metrics if name in ("f1", "bleu")]
    if with_gold and not gold:
        raise InputError(f"{with_gold[0]} compares with the gold response: "
                         "give each row a reference")
    if with_gold and len(with_gold) == len(metrics):
        raise InputError("f1 and bleu are computed beside other metrics: also name one of "
                         f"{', '.join(PAPERS)}, groundedness")
    return [name for name in metrics if name not in with_gold]


def _nothing(metrics: Sequence[str]) -> tuple[dict[str, float], list[str]]:
    """The numbers of an evaluation without scores."""
    names = [*columns_of(metrics)]
    return dict.fromkeys(names, math.nan), names


def _check_knowledge(texts: Sequence[str]) -> None:
    """Before hours of training: a response without knowledge has no score."""
    blank = sum(map(is_blank, texts))
    if texts and blank == len(texts):
        raise InputError("no row has a knowledge text, so no response would have a score")
    if blank:
        _LOG.warning("%d of %d rows have no knowledge text; their responses will have no score",
                     blank, len(texts))


def _rows(rows: Any, columns: Mapping[str, str]) -> list[Row]:
    refuse_unknown(columns, [one.name for one in fields(Row)], "field in columns")
    rows = scoring.check_column(rows, "rows")
    if not rows:
        raise InputError("there are no rows to generate responses for")
    made = [_row(row, i, columns) for i, row in enumerate(rows)]
    for name, column in columns.items():
        if not any(column in row for row in rows):
            raise InputError(f"no row has {column!r}, which columns names for {name!r}; the "
                             f"fields of row 0 are {', '.join(map(str, rows[0]))}")
    return made


def _row(row: Any, index: int, columns: Mapping[str, str]) -> Row:
    if not isinstance(row, Mapping):
        raise InputError(f"row {index} is {kind(row)}, not a mapping with prompt and knowledge")
    for name in ("prompt", "knowledge"):
        scoring.field_of(row, columns.get(name, name), f"row {index}")
    found: dict[str, Any] = {}
    for name in (one.name for one in fields(Row)):
        value, where = row.get(columns.get(name, name)), f"the {name} of row {index}"
        if name in ("knowledge", "history"):
            found[name] = tuple(scoring.check_texts(value, where))
        elif name == "prompt":
            found[name] = value if isinstance(value, list) else scoring.check_text(value, where)
        else:
            found[name] = None if missing(value) else scoring.check_text(value, where)
    return Row(**found)


def _numbers(run: scoring.ScoredRows) -> tuple[dict[str, float], list[str]]:
    """The values to log, and the names of those by which this checkpoint must not be the best."""
    system, scores, rows = run.system(), run.columns(), run.rows
    # The trainer stops if the score by which it chooses the best checkpoint is missing.
    numbers = {name: math.nan if value is None else value for name, value in system.items()
               if value is not None or name in scores}
    unfit = [name for name in system if name not in numbers]
    if why := scoring.hollow(system):
        unfit += scores
        _LOG.warning("this evaluation should not choose the best checkpoint: %s; %s", why,
                     ", ".join(f"{name} {numbers[name]:.3f}" for name in scores))
    failed = sum(any(one.reason == "fault" for one in row.values()) for row in run.scores)
    if failed:
        _LOG.warning("a metric failed on %d of %d responses: the means are of the others", failed,
                     len(rows))
        unfit += scores if 2 * failed > len(rows) else []
    if "reference" in rows[0].other:
        numbers |= scoring.against_gold([row.response for row in rows],
                                        [[row.other["reference"]] for row in rows])
    return numbers | {"empty": Mean.of(float(is_blank(row.response)) for row in rows).number}, unfit
