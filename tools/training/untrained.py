"""``python -m tools.training.untrained --data FOLDER --out FILE``: what untrained models say.

The command makes small language models with random weights, trains each for a few steps, and writes
what they say: one JSON object a line with the fields model, vocabulary, steps, decoding and text.
None of these texts is language. ``--models`` and ``--seed`` choose other models.
They show how many such texts :func:`q2_metric.text.claims.has_claim` recognises.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import torch
import transformers
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from torch import Tensor, nn

from q2_metric.models.bundled.stored import shipped
from tools.training.examples import read_jsonl

WIDTH, LAYERS, HEADS = 64, 2, 4
LINE = 24
"""Number of tokens in a training line."""
STEPS = (0, 5, 20, 60)
"""Numbers of training steps after which a model is asked."""
DECODINGS: dict[str, tuple[float, int]] = {
    "greedy": (1.0, 1),
    "temperature 0.7": (0.7, 0),
    "temperature 1": (1.0, 0),
    "temperature 1.5": (1.5, 0),
    "top 20": (1.0, 20),
}
"""By name of the decoding, its temperature and among how many tokens it draws (0: all)."""
LENGTHS = (10, 16, 24, 40)
"""Numbers of tokens of a text."""


class Recurrent(nn.Module):
    """A language model of an embedding, a recurrent network and an output layer."""

    def __init__(self, kind: type[nn.LSTM] | type[nn.GRU], size: int) -> None:
        super().__init__()
        self.words = nn.Embedding(size, WIDTH)
        self.cells = kind(WIDTH, WIDTH, LAYERS, batch_first=True)
        self.out = nn.Linear(WIDTH, size)

    def forward(self, ids: Tensor) -> Tensor:
        logits: Tensor = self.out(self.cells(self.words(ids))[0])
        return logits


class Pretrained(nn.Module):
    """A model of transformers. An encoder-decoder reads the same few tokens for every text."""

    def __init__(self, model: Any, size: int) -> None:
        super().__init__()
        self.model = model
        self.prompt = torch.randint(3, size, (1, 8)) if model.config.is_encoder_decoder else None

    def forward(self, ids: Tensor) -> Tensor:
        given = {"input_ids": ids} if self.prompt is None else {
            "input_ids": self.prompt.expand(len(ids), -1), "decoder_input_ids": ids}
        logits: Tensor = self.model(**given).logits
        return logits


def _gpt2(size: int) -> nn.Module:
    return Pretrained(transformers.GPT2LMHeadModel(transformers.GPT2Config(
        vocab_size=size, n_embd=WIDTH, n_layer=LAYERS, n_head=HEADS, n_positions=128)), size)


def _t5(size: int) -> nn.Module:
    return Pretrained(transformers.T5ForConditionalGeneration(transformers.T5Config(
        vocab_size=size, d_model=WIDTH, d_kv=WIDTH // HEADS, d_ff=2 * WIDTH, num_layers=LAYERS,
        num_heads=HEADS, tie_word_embeddings=False, decoder_start_token_id=0)), size)


def _llama(size: int) -> nn.Module:
    return Pretrained(transformers.LlamaForCausalLM(transformers.LlamaConfig(
        vocab_size=size, hidden_size=WIDTH, intermediate_size=2 * WIDTH, num_attention_heads=HEADS,
        num_hidden_layers=LAYERS)), size)


def _bart(size: int) -> nn.Module:
    return Pretrained(transformers.BartForConditionalGeneration(transformers.BartConfig(
        vocab_size=size, d_model=WIDTH, encoder_layers=LAYERS, decoder_layers=LAYERS,
        encoder_attention_heads=HEADS, decoder_attention_heads=HEADS, encoder_ffn_dim=2 * WIDTH,
        decoder_ffn_dim=2 * WIDTH, max_position_embeddings=128)), size)


MODELS: dict[str, Callable[[int], nn.Module]] = {
    "gpt2": _gpt2,
    "t5": _t5,
    "lstm": lambda size: Recurrent(nn.LSTM, size),
    "llama": _llama,
    "bart": _bart,
    "gru": lambda size: Recurrent(nn.GRU, size),
}
"""By name of a model, a function that makes it for a number of tokens, with random weights."""


def _words(lines: Sequence[str], most: int) -> Tokenizer:
    """A vocabulary of the most frequent words and marks, in lower case."""
    split = pre_tokenizers.Whitespace()
    found = Counter(word for line in lines for word, _ in split.pre_tokenize_str(line.lower()))
    names = ["<pad>", "<s>", "</s>", *(word for word, _ in found.most_common(most))]
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(names)}, "<pad>"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = split
    return tokenizer


def _pairs(lines: Sequence[str], most: int) -> Tokenizer:
    """A vocabulary of byte pairs, as that of GPT-2, with capitals."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(lines, trainers.BpeTrainer(
        vocab_size=most, special_tokens=["<pad>", "<s>", "</s>"], show_progress=False))
    return tokenizer


def vocabularies(lines: Sequence[str], rng: random.Random) -> Iterator[tuple[str, Tokenizer]]:
    """Yields names and tokenizers: of words, of the words of one topic, and of sub-words."""
    yield "5,000 words", _words(lines, 5000)
    yield "500 words", _words(lines, 500)
    yield "120 words of a topic", _words(rng.sample(lines, 1) * 20 + rng.sample(lines, 60), 120)
    yield "4,000 byte pairs", _pairs(lines, 4000)
    pieces = Tokenizer.from_file(str(shipped("tokenizer.json")))
    pieces.no_padding()
    pieces.no_truncation()
    yield "the bundled word pieces", pieces


def decoded(tokenizer: Tokenizer, ids: Sequence[int]) -> str:
    """The text of tokens, with one blank between its words."""
    if isinstance(tokenizer.model, models.WordLevel):
        return " ".join(tokenizer.id_to_token(i) or "" for i in ids)
    return " ".join(tokenizer.decode(ids).replace("\ufffd", "").split())


@dataclass(frozen=True, slots=True)
class Speaker:
    """A language model and its tokenizer."""

    model: nn.Module
    tokenizer: Tokenizer

    def train(self, rows: Tensor, steps: int) -> None:
        """Trains on random rows of tokens. Shape of ``rows``: (lines, :data:`LINE`)."""
        self.model.train()
        optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-2)
        for _ in range(steps):
            batch = rows[torch.randint(len(rows), (16,))]
            logits = self.model(batch[:, :-1])
            loss = nn.functional.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()

    @torch.inference_mode()
    def say(self, temperature: float, top: int, length: int, first: int) -> str:
        """A text of ``length`` tokens that goes on from the token ``first``."""
        self.model.eval()
        ids = [first]
        for _ in range(length):
            logits = self.model(torch.tensor([ids]))[0, -1] / temperature
            logits[:3] = -torch.inf
            if top:
                logits[logits < logits.topk(top).values[-1]] = -torch.inf
            ids.append(int(logits.softmax(-1).multinomial(1)))
        return decoded(self.tokenizer, ids[1:])


def rows_of(lines: Sequence[str], tokenizer: Tokenizer) -> Tensor:
    ids = [i for line in lines for i in tokenizer.encode(line, add_special_tokens=False).ids]
    return torch.tensor(ids[: len(ids) // LINE * LINE]).view(-1, LINE)


def said(names: Sequence[str], lines: Sequence[str], seed: int, times: int
         ) -> Iterator[dict[str, object]]:
    """Yields what the models say, ``times`` texts for each model, vocabulary, number of training
    steps and decoding."""
    rng = random.Random(seed)
    torch.manual_seed(seed)
    for vocabulary, tokenizer in vocabularies(lines, rng):
        rows = rows_of(rng.sample(lines, min(len(lines), 1500)), tokenizer)
        for name in names:
            speaker = Speaker(MODELS[name](tokenizer.get_vocab_size()), tokenizer)
            for before, steps in zip((0, *STEPS), STEPS, strict=False):
                speaker.train(rows, steps - before)
                for decoding, (temperature, top) in DECODINGS.items():
                    for _ in range(times):
                        first = int(rows[rng.randrange(len(rows)), 0])
                        text = speaker.say(temperature, top, rng.choice(LENGTHS), first)
                        yield {"model": name, "vocabulary": vocabulary, "steps": steps,
                               "decoding": decoding, "text": text}


@click.command(help=__doc__)
@click.option("--data", type=click.Path(path_type=Path, exists=True), required=True,
              help="a .jsonl.gz file whose texts give the words: field premise or knowledge")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="file to write")
@click.option("--models", "names", default="gpt2,t5,lstm", show_default=True,
              help=", ".join(MODELS))
@click.option("--seed", default=0, show_default=True)
@click.option("--times", default=1, show_default=True, help="number of texts of each kind")
def main(data: Path, out: Path, names: str, seed: int, times: int) -> None:
    transformers.utils.logging.set_verbosity_error()
    lines: list[str] = []
    for row in read_jsonl(data):
        text = row.get("premise") or row["knowledge"]
        lines += [text] if isinstance(text, str) else text
    with out.open("w", encoding="utf-8") as file:
        for found in said(names.split(","), sorted(set(lines)), seed, times):
            file.write(json.dumps(found, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
