"""The options ``--q2-…`` and the presets ``-o q2/…``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

PRESETS = Path(__file__).parent / "presets"


def presets() -> list[str]:
    """Names of the presets for ``-o``."""
    return sorted(f"q2/{path.stem}" for path in PRESETS.glob("*.opt"))


def add_options(parser: Any, *, scoring: bool = True) -> None:
    """Adds the options ``--q2-…`` to a parser, once.

    Args:
        parser: ParlAI's.
        scoring: also those that say how responses are scored.
    """
    if "--q2-knowledge" in parser._option_string_actions:
        return
    group = parser.add_argument_group("q2-metric (--metrics q2,scale)")
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
        help="Models that score: bundled (offline), paper, paper-small or modern.",
    )
    group.add_argument(
        "--q2-no-claim",
        choices=["zero", "exclude"],
        default="zero",
        help="How responses that claim nothing (\"lol\") or are empty count: as 0, or not at all.",
    )
    group.add_argument(
        "--q2-batch-size",
        type=int,
        default=None,
        help="Texts in one forward pass of the scoring models; None for the preset's own.",
    )
    group.add_argument(
        "--q2-device",
        type=str,
        default=None,
        help="Device of the scoring models, such as cpu or cuda:1; None for the preset's own.",
    )
