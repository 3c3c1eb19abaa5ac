"""What Inspect AI finds by this package's entry point: ``--scorer q2_metric/groundedness``."""

from typing import Any

from inspect_ai.scorer import Scorer, mean, scorer, stderr

from q2_metric.integrations.inspect_ai import grounded as grounded


@scorer(metrics={"*": [mean(), stderr()]})  # type: ignore[untyped-decorator]
def groundedness(knowledge: str = "knowledge", **settings: Any) -> Scorer:
    """``grounded("groundedness")``; ``-S knowledge=FIELD`` names the field of the metadata."""
    return grounded("groundedness", knowledge=knowledge, **settings)
