"""Q² and SCALE as a scorer for Inspect AI tasks."""

from collections.abc import Sequence
from typing import Any

from anyio import to_thread
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import TaskState

from q2_metric.scoring import NO_CLAIM, NoClaim, field_of
from q2_metric.scoring.judge import Judge


@scorer(metrics={"*": [mean(), stderr()]})  # type: ignore[untyped-decorator]
def grounded(
    metrics: Sequence[str] | str | None = None, *, knowledge: str = "knowledge",
    history: str = "history", question: str = "question", no_claim: NoClaim = NO_CLAIM,
    **settings: Any,
) -> Scorer:
    """Makes a scorer that measures whether a sample's knowledge supports the model's completion.

    ``knowledge`` (a text or a list of passages), ``history`` and ``question`` name fields of a
    sample's metadata. Without a question there, the sample's input is the question. The other
    arguments are those of :class:`~q2_metric.scoring.judge.Judge`. InputError: a metric, keyword or
    value is unknown; later, a sample has no knowledge."""
    judge = Judge(metrics, no_claim, settings, evidence=True)

    async def score(state: TaskState, target: Target) -> Score:
        sources = field_of(state.metadata, knowledge, f"the metadata of sample {state.sample_id}")
        answer = state.output.completion
        # In a thread, so that other samples are generated meanwhile.
        judged = await to_thread.run_sync(
            judge.one, answer, sources, state.metadata.get(history),
            f"sample {state.sample_id}", state.metadata.get(question) or state.input_text)
        return Score(
            # Inspect leaves NaN out of means and counts it as unscored.
            value={name: float("nan") if value is None else value
                   for name, value in judged.numbers.items()},
            answer=answer, explanation=judged.why,
            metadata={"signature": judge.signature, "unsupported": judged.unsupported})

    return score


@scorer(metrics={"*": [mean(), stderr()]})  # type: ignore[untyped-decorator]
def groundedness(knowledge: str = "knowledge", **settings: Any) -> Scorer:
    """``grounded("groundedness")``, which Inspect AI finds by this package's entry point:
    ``--scorer q2_metric/groundedness``; ``-S knowledge=FIELD`` names the field of the metadata."""
    return grounded("groundedness", knowledge=knowledge, **settings)
