"""The options ``--q2-…`` and the presets ``-o q2/…``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, get_args

from q2_metric.checks import Setting, settings_of
from q2_metric.metrics.registry import DEFAULT, METRICS, keywords, models
from q2_metric.models.presets import PRESETS
from q2_metric.running import Running
from q2_metric.scoring import NO_CLAIM, NoClaim

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
        default=NO_CLAIM,
        help="How responses that claim nothing (\"lol\") or are empty count: as 0, or not at all.",
    )
    group.add_argument(
        "--q2-strict", type="bool", default=False,
        help="Stop where a metric fails; by default its numbers are left out, and the run goes on.",
    )
    for name in models():
        group.add_argument(f"--q2-{name.replace('_', '-')}", type=str, default=None,
                           help="Hub name or folder of a model in place of the preset's.")
    for setting in _settings():
        kind: Any = "bool" if setting.kind is bool else setting.kind
        group.add_argument(
            f"--q2-{setting.name.replace('_', '-')}", type=kind, choices=setting.choices or None,
            default=None, help=setting.sentence.replace("%", "%%"))


def _settings() -> Iterable[Setting]:
    """How models run, and the settings of all metrics, each once."""
    found: dict[str, Setting] = {}
    for some in (settings_of(Running), *(one.setting_fields() for one in METRICS.values())):
        for one in some:
            found.setdefault(one.name, one)
    return found.values()


def keywords_of(opt: Mapping[str, Any]) -> dict[str, Any]:
    """The keywords of ``load_metrics`` among ParlAI's options; only what was given."""
    return {name: opt[f"q2_{name}"] for name in keywords() if opt.get(f"q2_{name}") is not None}
