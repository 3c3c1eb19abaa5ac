"""Finds metrics outside of this package: by a path "package.module:Class", or by an entry point of
the group ``q2_metric.metrics`` that names a class or its :class:`~q2_metric.metrics.entry.Entry`.

Their modules are imported whenever metrics are listed. They must not import the registry.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import entry_points

from q2_metric.errors import InputError
from q2_metric.metrics.entry import RESERVED, Entry

_LOG = logging.getLogger(__name__)

GROUP = "q2_metric.metrics"

_PATH = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*")
_NAME = re.compile(r"[a-z][a-z0-9_]*")


def by_path(where: str) -> Entry:
    """Imports a metric or its :class:`Entry` at "package.module:Class"; ``InputError`` if none."""
    if not _PATH.fullmatch(where):
        raise InputError(f"the metric {where!r} is not of the form package.module:Class")
    module, _, name = where.partition(":")
    try:
        home = import_module(module)
    except Exception as error:  # importing other code can raise anything
        why = " ".join(f"{type(error).__name__}: {error}".split())
        raise InputError(f"the metric {where}: {module} cannot be imported: {why}") from error
    one = getattr(home, name, None)
    if one is None:
        raise InputError(f"the metric {where}: {module} has no {name}")
    if isinstance(one, Entry):
        return one
    own = getattr(one, "name", None)
    if not isinstance(one, type) or not isinstance(own, str) or not callable(
            getattr(one, "score", None)):
        raise InputError(
            f"the metric {where} is not a class with a name, a signature and a method score")
    return Entry(own, own, where)


def check_name(entry: Entry, others: Mapping[str, Entry]) -> None:
    """Raises ``InputError`` if a name of the metric or a column is invalid, reserved or used."""
    if entry.name in others:
        raise InputError(f"the name {entry.name!r} already belongs to the metric "
                         f"{others[entry.name].loader}")
    taken = {column.name for one in others.values() for column in one.columns}
    for column in entry.columns:
        if not _NAME.fullmatch(column.name):
            raise InputError(f"the name {column.name!r} of a metric or column is not valid; a name "
                             "may contain only small letters, digits and _")
        if column.name in RESERVED or column.name in taken:
            raise InputError(f"the name {column.name!r} already belongs to a column of outputs; "
                             "give the metric another name")


def installed(ours: Mapping[str, Entry]) -> dict[str, Entry]:
    """By name, without the metrics that cannot be used; for each of these a warning is logged."""
    entries: dict[str, Entry] = {}
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        try:
            entry = by_path(f"{point.module}:{point.attr}")
            check_name(entry, {**ours, **entries})
        except InputError as error:
            package = point.dist.name if point.dist else "?"
            _LOG.warning("the metric %r of the package %s is left out: %s",
                         point.name, package, error)
        else:
            entries[entry.name] = entry
    return entries
