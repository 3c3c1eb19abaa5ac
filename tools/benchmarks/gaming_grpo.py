"""Shows what a tiny model learns to say if it is trained by GRPO (TRL) with a score as the reward.

    python -m tools.benchmarks gaming_grpo [--runs q2:blind,…] [--steps 150] [--out FILE]

A "blind" model has a vocabulary of a hundred words and cannot use the knowledge. A "reading" model
also has words that are replaced by pieces of the knowledge, such as its first three words. The
models are trained on the first half of ``examples/dialogues.jsonl`` and tested on the second half.
"""

from __future__ import annotations

import argparse
import json
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from typing import Any

os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"  # before TRL is imported

import torch
import transformers
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from trl import GRPOConfig, GRPOTrainer

from q2_metric.integrations.trl import Reward
from tools.benchmarks.gaming import OUT

EXAMPLES = Path(__file__).parents[2] / "examples" / "dialogues.jsonl"
RUNS = "q2:blind,groundedness:blind,q2:reading,groundedness:reading"
FIRST = 8
"""Number of completions that are generated in each training step. They form one group of GRPO."""

WORDS = """
. , it is was are were has had can do does not a an the of in on by to for with from and or but
that this there they he she people person thing something someone world time year years place name
kind part one two many some all most first old new large small good great popular famous known
called made used found born built opened think know like love say said about what who when where
why how yes no i you we my your very really also only often never always true false same
""".split()

PIECES: Mapping[str, Callable[[Sequence[str]], Sequence[str]]] = {
    "<first>": lambda words: words[:1],
    "<first three>": lambda words: words[:3],
    "<middle three>": lambda words: words[len(words) // 2 - 1 : len(words) // 2 + 2],
    "<last>": lambda words: words[-1:],
    "<last three>": lambda words: words[-3:],
    "<half>": lambda words: words[: len(words) // 2],
}
"""By extra word of a "reading" model, the function that returns the piece of the knowledge by which
this word is replaced."""


def filled(said: str, knowledge: str) -> str:
    """The answer ``said`` with the words of :data:`PIECES` replaced by pieces of the knowledge."""
    words = knowledge.rstrip(" .").split()
    for piece, make in PIECES.items():
        said = said.replace(piece, " ".join(make(words)))
    return said


class Filled:
    """A reward function for TRL.

    It inserts the pieces of the knowledge into each completion and scores the result. All
    completions and rewards are recorded in ``diary``.
    """

    def __init__(self, metric: str) -> None:
        self.reward = Reward(metric)
        self.__name__ = metric
        self.diary: list[tuple[str, float]] = []
        self._known: dict[tuple[str, str], float] = {}

    def __call__(
        self, prompts: Sequence[str], completions: Sequence[str], knowledge: Sequence[str],
        **_: Any,
    ) -> list[float]:
        pairs = [(filled(said.replace("_", " "), known), known)
                 for said, known in zip(completions, knowledge, strict=True)]
        new = [pair for pair in dict.fromkeys(pairs) if pair not in self._known]
        if new:
            said, known = ([pair[i] for pair in new] for i in (0, 1))
            values = self.reward([""] * len(new), said, knowledge=known)
            self._known |= {pair: value or 0.0 for pair, value in zip(new, values, strict=True)}
        found = [self._known[pair] for pair in pairs]
        self.diary += zip(completions, found, strict=True)
        return found


def tokenizer_of(words: Sequence[str]) -> Any:
    special = ["<pad>", "</s>", "<s>", "<unk>"]
    vocabulary = {word: i for i, word in enumerate([*special, *words])}
    backend = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=backend, pad_token="<pad>", eos_token="</s>", bos_token="<s>",
        unk_token="<unk>")


def learnt(metric: str, sight: str, steps: int) -> dict[str, Any]:
    """Trains a model. Returns its mean rewards at the start and the end of the training, and its
    most frequent answers with their mean scores on the other rows.

    Args:
        metric: the metric that is the reward.
        sight: "blind" or "reading".
        steps: number of training steps.
    """
    pieces = [piece.replace(" ", "_") for piece in PIECES] if sight == "reading" else []
    tokenizer = tokenizer_of([*WORDS, *pieces])
    rows = [json.loads(line)["knowledge"] for line in EXAMPLES.read_text("utf-8").splitlines()]
    rows = list(dict.fromkeys(rows))
    train, held_out = rows[: len(rows) // 2], rows[len(rows) // 2 :]
    torch.manual_seed(0)
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=64, intermediate_size=128, num_hidden_layers=1,
        num_attention_heads=2, pad_token_id=0, eos_token_id=1, bos_token_id=2,
        max_position_embeddings=32))
    reward = Filled(metric)
    with TemporaryDirectory() as folder:
        GRPOTrainer(
            model=model, reward_funcs=reward, processing_class=tokenizer,
            train_dataset=Dataset.from_dict({"prompt": ["<s>"] * len(train), "knowledge": train}),
            args=GRPOConfig(
                folder, max_steps=steps, per_device_train_batch_size=FIRST,
                num_generations=FIRST, max_completion_length=10, learning_rate=1e-2,
                lr_scheduler_type="constant", beta=0.0, report_to=[], save_strategy="no",
                use_cpu=True, bf16=False, disable_tqdm=True, logging_steps=steps, seed=1),
        ).train()
    trained = reward.diary
    last = trained[-20 * FIRST :]
    favourites = [said for said, _ in Counter(said for said, _ in last).most_common(4)]
    reward.diary = []
    elsewhere = {
        said: round(mean(reward([""] * len(held_out), [said] * len(held_out), held_out)), 3)
        for said in favourites
    }
    return {
        "steps": steps,
        "mean_of_first_20_steps": round(mean(value for _, value in trained[: 20 * FIRST]), 3),
        "mean_of_last_20_steps": round(mean(value for _, value in last), 3),
        "favourites_on_other_rows": elsewhere,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", default=RUNS)
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    for run in given.runs.split(","):
        found = learnt(*run.split(":"), given.steps)
        record = json.loads(given.out.read_text()) if given.out.exists() else {}
        record.setdefault("learnt", {})[run] = found
        given.out.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
        print(run, json.dumps(found, ensure_ascii=False, indent=1), flush=True)
