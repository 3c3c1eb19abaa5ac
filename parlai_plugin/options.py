"""The options ``--q2-…`` and the presets ``-o q2/…``."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from q2_metric.cli.options import described
from q2_metric.metrics.registry import DEFAULT, METRICS, keywords, models
from q2_metric.metrics.system import NoClaim
from q2_metric.models.presets import PRESETS
from q2_metric.running import Running

OPT_FILES = Path(__file__).parent / "presets"


def presets() -> list[str]:
    """Names of the presets for ``-o``."""
    return sorted(f"q2/{path.stem}" for path in OPT_FILES.glob("*.opt"))


def add_options(parser: Any, *, scoring: bool = True) -> None:
    """Adds the options ``--q2-…`` to a parser, once.

    Args:
        parser: ParlAI's.
        scoring: also those that say how responses are scored.
    """
    if "--q2-knowledge" in parser._option_string_actions:
        return
    group = parser.add_argument_group(f"q2-metric (--metrics {','.join(DEFAULT)})")
    group.add_argument(
        "--q2-knowledge",
        choices=["gold", "all"],
        default="gold",
        help="Knowledge to score against: what the human chose, or all that was shown.",
    )
    group.add_argument(
        "--q2-knowledge-field",
        type=str,
        default=None,
        help="Field of the task's messages that holds the knowledge, for tasks not known.",
    )
    if not scoring:
        return
    group.add_argument(
        "--q2-preset",
        type=str,
        default="bundled",
        help=f"Models that score, out of {', '.join(PRESETS)}.",
    )
    group.add_argument(
        "--q2-no-claim",
        choices=get_args(NoClaim),
        default="zero",
        help="How responses that claim nothing (\"lol\") or are empty count: as 0, or not at all.",
    )
    for name, (hint, words) in _fields().items():
        choices = get_args(hint) if get_origin(hint) is Literal else None
        kind: Any = "bool" if hint is bool else str if choices else hint
        group.add_argument(
            f"--q2-{name.replace('_', '-')}", type=kind, choices=choices, default=None, help=words)


def _fields() -> dict[str, tuple[Any, str]]:
    """The keywords of ``load_metrics``: the type of each, and what it does in a few words."""
    model: tuple[Any, str] = (str, "Hub name or folder of a model in place of the preset's.")
    found = dict.fromkeys(models(), model)
    kinds = [one.settings_class() for one in METRICS.values() if one.settings]
    for kind in (Running, *kinds):
        words, hints = described(kind), get_type_hints(kind)
        for field in dataclasses.fields(kind):
            hint = hints[field.name]
            if get_origin(hint) in (Union, types.UnionType):
                (hint,) = (one for one in get_args(hint) if one is not type(None))
            text = words.get(field.name, "").replace("%", "%%")
            found.setdefault(field.name, (hint, f"{text[:1].upper()}{text[1:]}."))
    return found


def keywords_of(opt: Mapping[str, Any]) -> dict[str, Any]:
    """The keywords of ``load_metrics`` among ParlAI's options; only what was given."""
    return {name: opt[f"q2_{name}"] for name in keywords() if opt.get(f"q2_{name}") is not None}
