"""Makes the warnings for users: mistyped names, left-out examples, metrics that scored nothing."""

import difflib
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from parlai_plugin.scores import PARLAI_NAMES, broken, names, reported
from q2_metric.scoring import SHARES, hollow

NO_KNOWLEDGE = "q2_no_knowledge"
NO_RESPONSE = "q2_no_response"
"""Names in ParlAI's report under which the examples without knowledge, and those with an empty
response, are counted. A count of 0 is not reported."""

_PARLAI_NAMES = PARLAI_NAMES | {"default", "rouge", "distinct", "all", ""}

fields_without: dict[str, list[str]] = {}
"""By task, the fields of the first message in which no knowledge was found. Warnings list them."""


def wanted(requested: Iterable[str]) -> list[str]:
    """The metrics of this package that compute the requested names, in the order of the report:
    "q2" for "coverage"."""
    behind = names()
    asked = {behind[name] for name in requested if name in behind}
    return [metric for metric in reported() if metric in asked]


def requested(opt: Mapping[str, Any]) -> list[str]:
    """The names that the user gave in ``--metrics`` and ``--validation-metric``."""
    asked = str(opt.get("metrics") or "").split(",")
    if opt.get("validation_metric") in names():
        asked.append(opt["validation_metric"])
    return [name.strip() for name in asked]


def no_such_field(field: str, fields: Sequence[str]) -> str:
    """A warning that a message, which has ``fields``, lacks the field that the user named with
    ``--q2-knowledge-field``."""
    close = difflib.get_close_matches(field, fields, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    return (f"--q2-knowledge-field: an example has no field {field!r}{hint} "
            f"(its fields: {', '.join(sorted(fields))})")


def _close(name: str) -> list[str]:
    """The most similar of our names, if one is similar enough."""
    return difflib.get_close_matches(name.lower().replace("²", "2"), names(), n=1, cutoff=0.75)


def _unknown(asked: Iterable[str]) -> list[str]:
    return [name for name in asked if name not in names() and name not in _PARLAI_NAMES]


def mistyped(opt: Mapping[str, Any]) -> list[str]:
    """A warning for each name that the user gave and that is similar to a metric, but no metric."""
    asked = dict.fromkeys([*requested(opt), str(opt.get("validation_metric") or "")])
    return [f"q2-metric: there is no metric {name!r}; did you mean {meant!r}?"
            for name in _unknown(asked) for meant in _close(name)]


def has_value(report: Mapping[str, Any], name: str) -> bool:
    """Whether a report contains a number for the metric ``name``. It has none if no response was
    scored."""
    return name in report and not math.isnan(float(report[name]))


def unfit(report: Mapping[str, Any], name: str) -> str:
    """Why a model must not be chosen as the best by this metric's value in the report of a
    validation run; "" if it may be."""
    if not has_value(report, name):
        return f"{name} has no value"
    return "" if name in SHARES else hollow(
        {share: float(report[share]) for share in SHARES if share in report})


def without_value(opt: Mapping[str, Any], report: Mapping[str, Any]) -> list[str]:
    """The requested metrics of this package that scored no response."""
    return [name for name in wanted(requested(opt)) if not has_value(report, name)]


def closing_lines(opt: Mapping[str, Any], report: Mapping[str, Any]) -> list[str]:
    """The lines to print after a run. They say how many examples were left out, and which requested
    metrics have no value."""
    asked = wanted(requested(opt))
    task = str(opt.get("task", "?"))
    n = int(report.get("exs", 0))
    without = int(report.get(NO_KNOWLEDGE, 0))
    empty = int(report.get(NO_RESPONSE, 0))
    lines = []
    if any(has_value(report, name) for name in asked):
        if without:
            lines.append(f"{without} of {n} examples of {task} had no knowledge and were left out "
                         f"of {' and '.join(asked)}")
        if empty:
            how = "were left out" if opt.get("q2_no_claim") == "exclude" else "count as 0"
            lines.append(f"{empty} of {n} responses to {task} were empty and {how}")
    lines += [_scored_nothing(name, opt, without, empty) for name in without_value(opt, report)]
    return lines + [
        f"--metrics asks for {name!r}, but no metric of this name was reported"
        for name in _unknown(requested(opt)) if name not in report and not _close(name)]


def _scored_nothing(name: str, opt: Mapping[str, Any], without: int, empty: int) -> str:
    line = f"{name} was requested, but scored nothing on {opt.get('task')}: "
    if name in broken:
        return line + "it failed (see the error above)"
    if without:
        tasks = str(opt.get("evaltask") or opt.get("task") or "").split(",")
        fields = next((fields_without[task] for task in tasks if task in fields_without), [])
        return line + (
            f"none of {without} examples had knowledge; name the field that contains it with "
            f"--q2-knowledge-field (the fields are {', '.join(fields)})")
    if empty:
        return line + "every response was empty"
    if opt.get("skip_generation"):
        return line + "the model did not generate; use --skip-generation false"
    return line + "no response with a text was seen"
