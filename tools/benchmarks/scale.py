"""Times SCALE in batches against the authors' package scale-score, on the same weights.

    pip install --no-deps scale-score==0.1.0
    python -m tools.benchmarks scale [--size small] [--responses N] [--turns T]

Both programs run a Flan-T5 of the published size with random weights, and use the authors' prompt
and chunk size. The benchmark also measures how much their scores differ. It is run on two kinds of
texts: Wizard of Wikipedia responses, whose knowledge is a sentence or two, and long documents made
of the knowledge of many responses.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from q2_metric import Example
from q2_metric.metrics.scale import Scale
from q2_metric.metrics.settings import ScaleSettings
from q2_metric.models.hub.loading import LoadedModel, load_pretrained
from q2_metric.models.hub.yes_no import YesNoEntailment
from q2_metric.processors import processors
from tools.benchmarks import harness
from tools.reference import sized_models

CHUNK_SIZE, OVERLAP = 1000, 0.25
"""Chunk size in tokens, and overlap of chunks as a share of their size, in the authors' code."""
AS_THEIRS = ScaleSettings(CHUNK_SIZE, OVERLAP, "prompt", unit="response")
THREE_CHUNKS = ScaleSettings(200, OVERLAP, unit="response", top_chunks=3)
"""The settings with which the bundled preset read long knowledge until 2026-11-30."""


def metric(loaded: LoadedModel, settings: ScaleSettings = AS_THEIRS) -> Scale:
    """Makes our SCALE with this model. By default, the settings are those of scale-score."""
    return Scale(YesNoEntailment(loaded, prompt="scale-score"), settings, preset="speed")


def authors(loaded: LoadedModel, examples: list[Example]) -> list[float]:
    """The scores that the authors' package scale-score computes."""
    from scale_score.score import score

    with contextlib.redirect_stderr(io.StringIO()):
        found: list[float] = score(
            [e.knowledge for e in examples], [[e.response] for e in examples],
            chunk_size=CHUNK_SIZE, window_size=OVERLAP, device="cpu",
            model=loaded.model, tokenizer=loaded.tokenizer)
    return found


def in_turns(
    loaded: LoadedModel, scale: Scale, examples: list[Example], turns: int
) -> dict[str, Any]:
    """Times both programs in alternation: scale-score on slices of the examples, our SCALE on all
    examples at once."""
    return harness.alternate(
        harness.each(lambda part: authors(loaded, list(part)), harness.slices(examples, turns + 1)),
        [(len(examples), lambda: scale.score(examples))] * turns)


def compare(loaded: LoadedModel, examples: list[Example], turns: int) -> dict[str, Any]:
    """The speeds of both programs, their ratio, and the largest difference of their scores."""
    scale = metric(loaded)
    found = in_turns(loaded, scale, examples, turns)
    part = list(harness.slices(examples, turns + 1)[0])
    found["largest_difference"] = largest(
        [score.value or 0.0 for score in scale.score(part)], authors(loaded, part))
    return found


def roughly(
    loaded: LoadedModel, rough: LoadedModel, examples: list[Example], turns: int
) -> dict[str, Any]:
    """The speeds of scale-score in float32 and of our SCALE in another number format.

    Also the largest difference between our scores in both formats.

    Args:
        loaded: the model in float32.
        rough: the model in the other format.
    """
    exact, other = metric(loaded), metric(rough)
    other.score(examples[:4])
    found = in_turns(loaded, other, examples, turns)
    found["largest_difference"] = largest(
        *([score.value or 0.0 for score in one.score(examples)] for one in (other, exact)))
    return found


def largest(first: list[float], second: list[float]) -> float:
    """The largest difference between two lists of scores."""
    return max(abs(a - b) for a, b in zip(first, second, strict=True))


def costs(
    loaded: LoadedModel, examples: list[Example], everything: list[Example]
) -> dict[str, Any]:
    """What our SCALE costs: share of the time outside the model, calls, tokens, operations, memory,
    and the seconds by length of the knowledge."""
    fresh = metric(loaded)
    used = harness.Usage(fresh.backbone.batches)  # type: ignore[attr-defined]
    clock = harness.Clock()(fresh.backbone._model)  # type: ignore[attr-defined]
    total = harness.timed(lambda: fresh.score(examples))
    inside = clock.seconds  # read now, because later work shares the encoder
    with harness.counting_flops() as flops:
        metric(loaded).score(examples)
        needed = flops()
    return {
        "share_outside_forward_passes": round(1 - inside / total, 3),
        "calls": used.calls, "rows": used.rows, "padding": round(used.padding, 3),
        "tokens": round(used.tokens / len(examples), 1),
        **harness.share_of_rate(needed, total, harness.torch_rate(), "float32"),
        "cost_by_words": [
            {"words": words, "per_response": round(harness.timed(
                lambda words=words: metric(loaded).score(
                    documents(everything, words, 4))) / 4, 3)}
            for words in (50, 200, 800, 3200)],
        "peak_memory_mb": harness.peak_memory_mb(),
    }


def documents(examples: list[Example], words: int, count: int) -> list[Example]:
    """``count`` responses, each with ``words`` words of the joined knowledge of all examples. Each
    response gets a different part of it."""
    joined = " ".join(e.knowledge for e in examples).split()
    return [Example(e.response, " ".join((joined[i * 50 :] + joined)[:words]))
            for i, e in enumerate(examples[:count])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", default="small", choices=sized_models.T5_SIZES)
    parser.add_argument("--responses", type=int, default=96)
    parser.add_argument("--documents", type=int, default=8)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--dtype", default="float32")
    given = parser.parse_args()
    torch.set_num_threads(processors())
    everything = harness.responses()
    examples = everything[: given.responses]
    with tempfile.TemporaryDirectory() as folder:
        texts = [text for e in everything for text in (e.response, e.knowledge)]
        path = sized_models.t5(Path(folder), given.size, texts, flan=True)
        loaded = replace(load_pretrained("AutoModelForSeq2SeqLM", path, "cpu"),
                         name=f"random-flan-t5-{given.size}")
        scale = metric(loaded)
        scale.score(examples[:4])
        authors(loaded, examples[:4])
        long = documents(everything, 1500, given.documents)
        figures: dict[str, Any] = {
            "model": f"Flan-T5-{given.size} size",
            "signature": scale.signature,
            "responses": len(examples),
            "against_scale_score": compare(loaded, examples, given.turns),
            "documents": {"words": 1500, "count": len(long),
                          "against_scale_score": compare(loaded, long, min(2, given.turns)),
                          "three_chunks_against_scale_score": in_turns(
                              loaded, metric(loaded, THREE_CHUNKS), long, given.turns)},
        }
        if given.dtype != "float32":
            rough = load_pretrained("AutoModelForSeq2SeqLM", path, "cpu", given.dtype)
            figures[given.dtype] = roughly(loaded, rough, examples, given.turns)
        figures |= costs(loaded, examples, everything)
    harness.save("scale", figures)
