"""Makes the pairs of text and snippet on which :mod:`tools.training.selection` trains."""

from __future__ import annotations

import gzip
import json
import random
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from q2_metric.knowledge.bundled import without
from q2_metric.knowledge.dstc import read_labels, read_pool
from q2_metric.knowledge.types import Pool, Snippet
from q2_metric.models.bundled.selection import CUT

Floats = NDArray[np.float32]
Pair = tuple[str, int]
"""A text (a question or a response), and the index in the pool of the snippet that it is about."""

QA_SOURCES = ("squad_train_pieces", "qed_dev_nq", "squadshifts_wiki", "friendsqa", "policyqa")
HELD_OUT = 5
"""One entity in this many is held out for development."""


@dataclass(frozen=True, slots=True)
class Data:
    """The texts from which the ranker learns.

    ``questions`` and ``answers`` are those of the snippets, without the names of entities, in the
    order of ``pool``. ``qa`` has general questions, each with a passage that answers it.
    """

    pool: Pool
    questions: list[str]
    answers: list[str]
    paraphrases: list[Pair]
    responses: list[Pair]
    qa: list[tuple[str, str]]

    def held_out(self, place: int) -> bool:
        """Whether the entity of the pool's snippet number ``place`` is held out."""
        snippet = self.pool.snippets[place]
        return zlib.crc32(f"{snippet.domain}/{snippet.entity_id}".encode()) % HELD_OUT == 0


def read_data(knowledge: Path, labels: Sequence[Path], qa: Path | None, limit: int) -> Data:
    """Reads the training data. ``paraphrases`` stays empty: :func:`mine` finds them.

    Args:
        knowledge: DSTC9's ``knowledge.json``.
        labels: files ``labels.json``, whose responses are paired with their gold snippets.
        qa: the folder of general questions with passages.
        limit: maximum number of general questions.
    """
    pool = read_pool(knowledge)
    places = {snippet.key: i for i, snippet in enumerate(pool)}
    responses = []
    for path in labels:
        for label in read_labels(path):
            for key in label.knowledge:
                pool.find(key, str(path))
                place = places[key]
                text = without(label.response, pool.snippets[place].entity_name)
                responses.append((text, place))
    return Data(
        pool,
        [without(s.question, s.entity_name) for s in pool],
        [without(s.answer, s.entity_name) for s in pool],
        [],
        responses,
        _qa_pairs(qa, limit) if qa else [],
    )


def _qa_pairs(folder: Path, limit: int) -> list[tuple[str, str]]:
    pairs = []
    for source in QA_SOURCES:
        with gzip.open(folder / f"{source}.jsonl.gz", "rt", encoding="utf-8") as file:
            for line in file:
                row = json.loads(line)
                if row["answer"]:
                    # 300 characters around the answer: about as long as a snippet
                    start = row["start"]
                    around = row["context"][max(0, start - 150) : start + 150]
                    pairs.append((row["question"], around))
    random.Random(0).shuffle(pairs)
    return pairs[:limit]


def mine(data: Data, teacher: dict[str, Floats], count: int, seed: int) -> list[Pair]:
    """Finds paraphrases of snippets' questions among the questions about other entities.

    By the teacher's vectors, the two questions and their answers must be similar, and the questions
    not nearly identical.

    Args:
        teacher: the vector of each text.
        count: number of snippets, drawn at random, for which a paraphrase is searched.
    """
    rng = np.random.default_rng(seed)
    questions = np.stack([teacher[text] for text in data.questions])
    answers = np.stack([teacher[text] for text in data.answers])
    found = []
    for i in rng.choice(len(data.pool), min(count, len(data.pool)), replace=False):
        alike = questions @ questions[i]
        both = 0.6 * alike + 0.4 * (answers @ answers[i])
        near = [
            int(j) for j in np.argsort(-both)[:60]
            if both[j] > 0.6 and alike[j] < 0.93 and _entity(data.pool.snippets[j])
            != _entity(data.pool.snippets[i])
        ][:10]
        if near:
            found.append((data.questions[near[rng.integers(len(near))]], int(i)))
    return found


def _entity(snippet: Snippet) -> tuple[str, str]:
    return (snippet.domain, snippet.entity_id)


def teach(texts: Sequence[str]) -> dict[str, Floats]:
    """For each text, its vector of unit length by the teacher, all-MiniLM-L6-v2."""
    import torch
    from torch.nn import functional as F
    from transformers import AutoModel, AutoTokenizer

    from tools.training.base import base_folder

    folder = str(base_folder())
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder)
    order = sorted(set(texts), key=len)
    found: dict[str, Floats] = {}
    with torch.inference_mode():
        for first in range(0, len(order), 64):
            part = order[first : first + 64]
            batch = tokenizer(part, padding=True, truncation=True, max_length=CUT,
                              return_tensors="pt")
            mask = batch["attention_mask"][:, :, None]
            states = model.eval()(**batch).last_hidden_state
            vectors = F.normalize((states * mask).sum(1) / mask.sum(1), dim=-1).numpy()
            found.update(zip(part, vectors, strict=True))
    return found
