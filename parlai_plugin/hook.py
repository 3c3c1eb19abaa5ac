"""Wraps functions of ParlAI, so that it computes our metrics.

ParlAI 1.7.2 offers no way to register a metric. So :func:`install` replaces functions of its
classes by wrappers, which call the original functions. No installed file is changed. The table
says what each wrapper adds to the original function.

=====================================  =========================================================
``FixedDialogTeacher.observe``         adds scores: here the knowledge and the response are known
``WorldLogger.write``                  writes the evidence of the scores to the world log
``ParlaiParser.add_extra_args``,       add the options ``--q2-…``
``.add_world_args``
``ParlaiParser.parse_args``,           print our errors as one line in the command ``parlai``, and
``ParlaiScript._run_from_…``           warn of mistyped metrics before the run
``ParlaiParser._load_opts``            prints one line if a preset's model does not exist
``params.modelzoo_path``               prints one line if a zoo model cannot be downloaded
``eval_model``, ``TrainLoop._run_…``   print after a run which examples were left out, and why
``_save_eval_stats``                   adds the signatures to the file of ``--report-filename``
``Opt.load_init``                      finds the presets ``-o q2/…``
``lr_scheduler.optim``                 makes training work on torch 2.7 and later
=====================================  =========================================================
"""

import functools
import inspect
import math
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any, NamedTuple

import parlai.core.params
import parlai.nn.lr_scheduler
import parlai.scripts.eval_model
import parlai.scripts.train_model
import torch
from parlai.core.metrics import SumMetric
from parlai.core.opt import Opt
from parlai.core.params import ParlaiParser
from parlai.core.script import ParlaiScript
from parlai.core.teachers import FixedDialogTeacher
from parlai.utils import logging
from parlai.utils.distributed import is_primary_worker
from parlai.utils.world_logging import WorldLogger

from parlai_plugin import notices, shadowed
from parlai_plugin.knowledge import History, knowledge_of, usable
from parlai_plugin.options import add_options, load_init, load_opts
from parlai_plugin.scores import LazyMean, Response, ScoringOptions, broken, names, scorer
from q2_metric.errors import InputError, ModelError, Q2Error
from q2_metric.types import Example

EXPLANATION = "q2_explanation"
"""The field of the messages in a world log that contains the scores and their evidence."""


@functools.cache
def install() -> None:
    """Wraps the functions that the table in this module lists. Further calls have no effect."""
    _wrap(FixedDialogTeacher, "observe", _observe)
    _wrap(WorldLogger, "write", _write_log)
    # If a user's program starts ParlAI, the plug-in is imported while add_extra_args runs. Then
    # only add_world_args is still called.
    _wrap(ParlaiParser, "add_extra_args", _add_args)
    _wrap(ParlaiParser, "add_world_args", _add_args)
    _wrap(ParlaiParser, "parse_args", _parse_args)
    _wrap(ParlaiParser, "_load_opts", load_opts)
    _wrap(parlai.core.params, "modelzoo_path", _modelzoo_path)
    _wrap(ParlaiScript, "_run_from_parser_and_opt", _run)
    _wrap(Opt, "load_init", load_init)
    for module in _copies(parlai.scripts.eval_model):
        _wrap(module, "eval_model", _eval_model)
        _wrap(module, "_eval_single_world", _eval_single_world)
        _wrap(module, "_save_eval_stats", _save_eval_stats)
    for module in _copies(parlai.scripts.train_model):
        _wrap(module.TrainLoop, "_run_eval", _run_eval)
    _mend_plateau_scheduler()
    if problem := shadowed.problem():
        logging.warning(problem)


def _wrap(owner: Any, name: str, wrapper: Callable[..., Any]) -> None:
    """Replaces the function or class method ``owner.name`` by one that calls
    ``wrapper(original, …)`` with the arguments of the call."""
    found = getattr(owner, name)
    original = getattr(found, "__func__", found)  # of a class method

    # A nested function, because a functools.partial in a class does not become a method.
    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        return wrapper(original, *args, **kwargs)

    setattr(owner, name, call if original is found else classmethod(call))


def _copies(module: types.ModuleType) -> list[types.ModuleType]:
    """The module of a ParlAI script. If ``python -m`` runs the script, Python loads the module a
    second time as ``__main__``; then the list contains both."""
    main = sys.modules["__main__"]
    spec = getattr(main, "__spec__", None)
    return [module, main] if spec is not None and spec.name == module.__name__ else [module]


# --- scoring -----------------------------------------------------------------------------


class AnsweredExample(NamedTuple):
    """An example of a ParlAI task that the model has answered. ``example`` is ``None`` if there is
    no knowledge. ``without`` names what is missing, if anything. ``labels`` are the human's."""

    task: str
    example: Example | None
    without: str | None
    labels: tuple[str, ...]


listeners: list[Callable[[AnsweredExample], None]] = []
"""Functions that are called with each answered example. ``parlai q2_export`` adds one."""


def _observe(original: Callable[..., Any], self: Any, observation: Any) -> Any:
    # The labels are read first, because the original method deletes them.
    act, labels = getattr(self, "last_act", None), getattr(self, "lastY", None)
    result = original(self, observation)
    if act is None or labels is None or observation is None:
        return result
    metrics = notices.wanted(notices.requested(self.opt))
    if (metrics or listeners) and observation.get("text") is not None:
        labels = (labels,) if isinstance(labels, str) else tuple(labels)
        answered = _answered(self, act, labels, observation["text"])
        for listener in listeners:
            listener(answered)
        if metrics:
            _add_scores(self, observation, metrics, answered)
    return result


def _answered(teacher: Any, act: Any, labels: tuple[str, ...], response: object) -> AnsweredExample:
    opt, task = teacher.opt, str(teacher.opt.get("task", "?"))
    field = opt.get("q2_knowledge_field")
    knowledge = knowledge_of(teacher, act, which=opt.get("q2_knowledge") or "gold", field=field)
    history: History = vars(teacher).setdefault("_q2_history", History())
    turns = history.before(teacher, act, knowledge)
    history.after(act, labels)
    if not knowledge:
        if task not in notices.fields_without:
            notices.fields_without[task] = sorted(str(key) for key in act)
            if field and field not in act:
                logging.warning(f"q2-metric: {task}: {notices.no_such_field(field, list(act))}")
        return AnsweredExample(task, None, notices.NO_KNOWLEDGE, labels)
    without = None if usable(response) else notices.NO_RESPONSE
    text = str(response) if without is None else ""
    return AnsweredExample(task, Example(text, knowledge, turns), without, labels)


def _add_scores(
    teacher: Any, observation: Any, metrics: Sequence[str], answered: AnsweredExample
) -> None:
    settings = ScoringOptions.of(teacher.opt)
    # Called even if this example is left out, so that a wrong preset is noticed at the start.
    scores = scorer(metrics, settings)
    explanation: object = {"left_out": answered.without}
    if answered.without is not None:
        teacher.metrics.add(answered.without, SumMetric(1))
    if answered.example is not None:
        explanation = response = scores.add(answered.example)
        for name in names(metrics):
            teacher.metrics.add(name, LazyMean(name, [response]))
    # As in the original method, the response message contains its metrics, which are displayed.
    added = {"metrics": teacher.metrics.report_recent()}
    if settings.explain:
        added[EXPLANATION] = explanation
    for key, value in added.items():
        observation.pop(key, None)  # a Message refuses to overwrite a key
        observation[key] = value


def _write_log(original: Callable[..., Any], self: Any, *args: Any, **kwargs: Any) -> Any:
    for message in chain.from_iterable(chain.from_iterable(self.get_logs())):
        if isinstance(response := message.get(EXPLANATION), Response):
            dict.__setitem__(message, EXPLANATION, response.explanation())
    return original(self, *args, **kwargs)


# --- options -----------------------------------------------------------------------------


def _add_args(original: Callable[..., Any], self: Any, *args: Any, **kwargs: Any) -> Any:
    if "--metrics" in self._option_string_actions:
        add_options(self)
    return original(self, *args, **kwargs)


# --- errors ------------------------------------------------------------------------------


def _at_command_line(parser: Any) -> bool:
    """True if a command (``parlai``, ``python -m parlai.…``) started ParlAI; false if a user's
    Python code calls ParlAI."""
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    script = spec is not None and spec.name.startswith("parlai.scripts.")
    return script or isinstance(parser, parlai.core.script._SupercommandParser)


@contextmanager
def _in_one_line(parser: Any, code: int) -> Iterator[None]:
    """At the command line, our errors are printed as one line, and the command ends with a code."""
    try:
        yield
    except Q2Error as error:
        if not _at_command_line(parser):
            raise
        print(f"q2-metric: {error}", file=sys.stderr)
        sys.exit(code)


def _parse_args(original: Callable[..., Any], self: Any, *args: Any, **kwargs: Any) -> Any:
    with _in_one_line(self, 2):
        return original(self, *args, **kwargs)


def _run(original: Callable[..., Any], cls: Any, opt: Any, parser: Any) -> Any:
    _silent.clear()
    with _in_one_line(parser, 1):
        for warning in notices.mistyped(opt):
            logging.warning(warning)
        result = original(cls, opt, parser)
        if _silent and _at_command_line(parser):
            raise InputError(
                f"{' and '.join(sorted(_silent))} scored nothing (see the warnings above)")
        return result


def _modelzoo_path(original: Callable[..., Any], datapath: Any, path: Any) -> Any:
    try:
        return original(datapath, path)
    except Exception as error:
        # There are many causes (no network, a misspelt name, …). So the message says which model
        # is missing, where ParlAI looked for it, and what to do.
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ModelError(
            f"{path} is not under {datapath}/models and could not be downloaded ({reason}); "
            "check the name and the network, or name the files of a copy with -mf") from error


# --- after a run -------------------------------------------------------------------------


_pending_lines: list[str] = []

_silent: set[str] = set()
"""The requested metrics that scored no response. If there are any, the command ends with an error.
"""


def _eval_single_world(
    original: Callable[..., Any], opt: Any, agent: Any, task: str, *rest: Any
) -> Any:
    report = original(opt, agent, task, *rest)
    _pending_lines.extend(notices.closing_lines({**opt, "task": task}, report))
    return report


def _eval_model(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    _pending_lines.clear()
    notices.fields_without.clear()
    broken.clear()
    report = original(*args, **kwargs)
    _print_lines(_pending_lines)
    _silent.update(notices.without_value(args[0] if args else kwargs["opt"], report))
    return report


def _save_eval_stats(original: Callable[..., Any], opt: Any, report: Any) -> None:
    metrics = notices.wanted(notices.requested(opt))
    there = [name for name in metrics if notices.has_value(report, name)]
    signed = scorer(metrics, ScoringOptions.of(opt)).signatures(there) if there else {}
    # The report is copied, because the original function converts the metrics in it to numbers.
    saved = {**report, "q2_signatures": signed} if signed else report
    original(opt, saved)
    report.update({name: value for name, value in saved.items() if name in report})


def _run_eval(
    original: Callable[..., Any], self: Any, worlds: Any, opt: Any, datatype: str, *args: Any,
    **kwargs: Any,
) -> Any:
    report = original(self, worlds, opt, datatype, *args, **kwargs)
    lines = notices.closing_lines(opt, report)
    _silent.update(notices.without_value(opt, report))
    needed = opt.get("validation_metric")
    if datatype == "valid" and needed in names():
        if needed not in report:
            # ParlAI would stop with KeyError: 'q2'.
            raise InputError(f"--validation-metric: {lines[-1] if lines else needed}")
        if why := notices.unfit(report, needed):
            lines.append(f"this validation cannot choose the best model: {why}")
            report[needed] = math.nan  # a NaN is never better than another value
            if self.best_valid is None:  # ParlAI would take the first value even if it is NaN
                self.best_valid = -math.inf * self.valid_optim
    _print_lines(lines)
    return report


def _print_lines(lines: Iterable[str]) -> None:
    if is_primary_worker():
        for line in lines:
            logging.warning(f"q2-metric: {line}")


# --- training on today's torch -----------------------------------------------------------


def _mend_plateau_scheduler() -> None:
    """Makes ParlAI's default learning-rate scheduler work with torch 2.7 and later, which lacks the
    argument ``verbose`` that ParlAI passes."""
    schedulers = torch.optim.lr_scheduler
    if "verbose" in inspect.signature(schedulers.ReduceLROnPlateau.__init__).parameters:
        return

    def reduce_on_plateau(*args: Any, verbose: object = None, **kwargs: Any) -> Any:
        return schedulers.ReduceLROnPlateau(*args, **kwargs)

    # Only the name `optim` in parlai.nn.lr_scheduler is replaced. torch itself is not changed.
    own = types.SimpleNamespace(**{**vars(schedulers), "ReduceLROnPlateau": reduce_on_plateau})
    namespace = {**vars(torch.optim), "lr_scheduler": own}
    parlai.nn.lr_scheduler.optim = types.SimpleNamespace(**namespace)
