"""Compares SCALE's scores with those of the authors' package scale-score, on the same weights.

    pip install --no-deps scale-score==0.1.0     # needs torch, transformers, scipy, scikit-learn
    python -m tools.benchmarks scale_parity [--golden tests/golden/scale_score.json]

Both packages score documents of 1 to 20,000 words with the same tiny T5, prompt, chunk size and
overlap (``prompt="scale-score"``, ``chunking="prompt"``). The largest difference of their scores is
printed. ``--golden`` saves the scores of scale-score to a file for the test suite. The test makes
the same model and texts from the same seed.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from local_models import WORDS, t5

from q2_metric.english.claims.checkable import FUNCTION_WORDS
from q2_metric.metrics.scale import Scale
from q2_metric.metrics.settings import ScaleSettings
from q2_metric.models.hub.loading import LoadedModel, load_pretrained
from q2_metric.models.hub.yes_no import PROMPTS, YesNoEntailment
from q2_metric.types import Example

SEED = 20231016
LENGTHS = (1, 2, 9, 40, 63, 64, 65, 120, 480, 495, 511, 512, 513, 700, 1000, 1500, 5000, 20_000)
"""Lengths of the documents in words. Most words are one token. The lengths are chosen so that the
documents end at many different places of a chunk."""
SETTINGS = ((512, 0.25), (1000, 0.25), (100, 0.25), (256, 0.0), (512, 0.5))
"""(chunk size in tokens, overlap) of each comparison. The first is the paper's, the second the
default of scale-score."""
LONG_SENTENCE = 40


def tiny_t5(folder: Path) -> LoadedModel:
    """Makes a T5 of two layers with random weights that are the same on every machine.

    The weights are drawn by numpy's ``RandomState``, which draws the same numbers in all versions.
    torch does not promise this.
    """
    import torch

    loaded = load_pretrained("AutoModelForSeq2SeqLM", str(t5(folder, tied=False)), "cpu")
    draw = np.random.RandomState(SEED)
    with torch.no_grad():
        for _, parameter in sorted(loaded.model.named_parameters()):
            if parameter.dim() > 1:
                values = draw.standard_normal(tuple(parameter.shape))
                parameter.copy_(torch.from_numpy(0.3 * values))
    return loaded


def texts() -> list[tuple[str, str]]:
    """For each length in :data:`LENGTHS`: (document, sentence), both of random words."""
    draw = np.random.RandomState(SEED + 1)
    words = [word for word in WORDS if word.isalpha() and word not in FUNCTION_WORDS]

    def some(count: int) -> str:
        return " ".join(words[i] for i in draw.randint(0, len(words), count))

    return [(some(length), some(LONG_SENTENCE if i % 3 == 2 else 6))
            for i, length in enumerate(LENGTHS)]


def ours(
    loaded: LoadedModel, chunk_size: int, overlap: float, chunking: str = "prompt"
) -> list[float]:
    """The scores that this package computes for :func:`texts`."""
    # Random words claim nothing, but the authors' package scores them anyway.
    settings = ScaleSettings(chunk_size, overlap, chunking, recipe="authors")  # type: ignore[arg-type]
    metric = Scale(YesNoEntailment(loaded, prompt="scale-score"), settings)
    examples = [Example(sentence, document) for document, sentence in texts()]
    return [score.value or 0.0 for score in metric.score(examples)]


def theirs(loaded: LoadedModel, chunk_size: int, overlap: float) -> list[float]:
    """The scores that scale-score computes for :func:`texts`."""
    from scale_score.score import score

    found: list[float] = score(
        [document for document, _ in texts()], [[sentence] for _, sentence in texts()],
        chunk_size=chunk_size, window_size=overlap, device="cpu",
        model=loaded.model, tokenizer=loaded.tokenizer)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--golden", type=Path, help="save the scores of scale-score to this file")
    given = parser.parse_args()
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        loaded = tiny_t5(Path(folder))
        tokens = [len(loaded.tokenizer(document)["input_ids"]) - 1 for document, _ in texts()]
        print(f"tokens: {tokens}\n\nchunk  overlap  largest difference  (chunking='knowledge')")
        for chunk_size, overlap in SETTINGS:
            expected = theirs(loaded, chunk_size, overlap)
            worst, other = (
                max(abs(a - b) for a, b in zip(found, expected, strict=True))
                for found in (ours(loaded, chunk_size, overlap),
                              ours(loaded, chunk_size, overlap, "knowledge")))
            print(f"{chunk_size:5}  {overlap:7}  {worst:18.1e}  {other:22.1e}")
            rows.append({"chunk_size": chunk_size, "overlap": overlap,
                         "scores": [round(value, 7) for value in expected]})
    if given.golden:
        lines = ",\n  ".join(json.dumps(row) for row in rows)
        about = {"made by": "benchmarks/scale_parity.py with scale-score 0.1.0",
                 "prompt": PROMPTS["scale-score"].text, "seed": SEED, "tokens": tokens}
        given.golden.write_text(f'{json.dumps(about)[:-1]},\n "settings": [\n  {lines}]}}\n')
