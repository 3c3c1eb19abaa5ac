"""Times groundedness on what people have: RAG answers, summaries, dialogue and a long document.

    pip install --no-deps scale-score==0.1.0
    python -m tools.benchmarks typical [--rows 32] [--turns 3] [--against FOLDER]

RAG answers are those of dev/answers.jsonl, summaries those of true/qags_cnndm.csv (both in the
folder that Q2_DATA_DIR names), dialogue the annotated Wizard of Wikipedia responses. Each setting
of groundedness runs in a new process, which gives its cold start (from the start of the process to
the first score), its warm time for a row, and its peak memory. Then the share of the CPU's matrix
throughput that it reaches is measured in this process.

On the same rows, in turns with groundedness, run the networks that people use instead, at their
real sizes with random weights: a cross-encoder that reads the whole knowledge with each sentence
(the size of RoBERTa-base), a token classifier that reads knowledge and response at once (the size
of LettuceDetect's ModernBERT-base), and scale-score with the Yes/No model that is nearest in size
(Flan-T5-small). ``--against`` is a checkout of older code, which is timed in turns with this one,
in 8 bits and in float32, which was its default.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from q2_metric import Example
from q2_metric.metrics.groundedness import Groundedness
from q2_metric.processors import processors
from q2_metric.text.sentences import split_sentences
from tools.benchmarks import harness
from tools.reference import sized_models
from tools.training.reading import responses

ROOT = Path(__file__).parents[2]
LONG = 10_000
"""Number of words of the long document."""
DTYPES = ("int8", "float32")

WORKER = """
import json, sys, time
rows, settings, evidence = json.loads(sys.stdin.readline())
from q2_metric import Example
from q2_metric.metrics.groundedness import Groundedness
from q2_metric.processors import processors
from q2_metric.processors import processors
metric = Groundedness.from_preset("bundled", **settings)
examples = [Example(response, knowledge) for response, knowledge in rows]
metric.score(examples[:1], evidence=evidence)
print(json.dumps({"ready": time.time()}), flush=True)
for line in sys.stdin:
    mark = json.loads(line)
    some = [Example(e.response + mark, e.knowledge + mark) for e in examples]
    before, cpu = time.perf_counter(), time.process_time()
    metric.score(some, evidence=evidence)
    seconds, cpu = time.perf_counter() - before, time.process_time() - cpu
    # Unlike getrusage, this does not count the memory that the parent had at the fork.
    peak = open("/proc/self/status").read().partition("VmHWM:")[2].split()[0]
    print(json.dumps({"seconds": seconds, "cpu": cpu, "memory": int(peak) / 1024}), flush=True)
"""
"""A process that scores the same rows whenever it reads a line. The line is a mark that is added to
all texts, so that nothing is found in a cache."""
MARKS = (" .", " ;", " !", " ,", " :", " -", " …", " ..")


class Worker:
    """Groundedness in a process of its own, by default of this code."""

    def __init__(self, rows: Sequence[Example], *, evidence: bool, code: Path = ROOT,
                 threads: int | None = None, **settings: Any) -> None:
        self.count = len(rows)
        started = time.time()
        self._process = subprocess.Popen(
            [sys.executable, "-c", WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, cwd=code, env={
                **os.environ, "PYTHONPATH": str(code),
                "OMP_NUM_THREADS": str(threads or processors())})
        texts = [(row.response, row.knowledge) for row in rows]
        self.cold = self._ask([texts, settings, evidence])["ready"] - started
        self._marks = iter(MARKS * 4)
        self.memory = self.cpu = 0.0

    def _ask(self, line: Any) -> dict[str, float]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(line) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            sys.exit("benchmark: the process of groundedness ended")
        found: dict[str, float] = json.loads(answer)
        return found

    def __call__(self, _: object = None) -> None:
        found = self._ask(next(self._marks))
        self.cpu, self.memory = found["cpu"] / self.count, found["memory"]

    def close(self) -> None:
        self._process.communicate()


def kinds(rows: int) -> dict[str, list[Example]]:
    """The rows of each kind, by its name."""
    data = Path(os.environ.get("Q2_DATA_DIR", ""))
    with open(data / "true" / "qags_cnndm.csv", encoding="utf-8", newline="") as file:
        summaries = [Example(row["generated_text"], row["grounding"])
                     for row in csv.DictReader(file)]
    answers = [Example(example.response, example.knowledge) for example, _, said
               in responses(data / "dev" / "answers.jsonl") if said["label"] is not None]
    dialogue = harness.responses()
    long = " ".join(e.knowledge for e in [*answers, *summaries]).split()[:LONG]
    return {"RAG answers": answers[:rows], "summaries": summaries[:rows],
            "dialogue": dialogue[:rows], "10,000 words": [Example(answers[0].response,
                                                                  " ".join(long))]}


def own(rows: Sequence[Example], turns: int) -> list[dict[str, Any]]:
    """The costs of groundedness for a row, by number format, threads, rows and evidence."""
    found = []
    settings = [(dtype, threads, count, evidence) for dtype in DTYPES for threads in (1, 2)
                for count in sorted({1, len(rows)}) for evidence in (False, True)]
    for dtype, threads, count, evidence in settings:
        worker = Worker(rows[:count], evidence=evidence, dtype=dtype, threads=threads)
        seconds = sorted(harness.timed(worker) for _ in range(turns))[turns // 2]
        worker.close()
        found.append({
            "dtype": dtype, "threads": threads, "rows": count, "evidence": evidence,
            "seconds_a_row": round(seconds / count, 3), "cpu_seconds_a_row": round(worker.cpu, 3),
            "cold_start": round(worker.cold, 2), "memory_mb": round(worker.memory)})
        print(found[-1], flush=True)
    return found


def peers(folder: Path, rows: Sequence[Example]) -> dict[str, Callable[[Sequence[Example]], Any]]:
    """What people use instead, as functions that score examples, by name."""
    import torch
    import transformers

    from q2_metric.models.hub.loading import load_pretrained
    from tools.benchmarks.scale import authors

    torch.set_num_threads(processors())
    texts = [text for row in rows for text in (row.response, row.knowledge)]
    path = sized_models.encoder(folder / "cross", "roberta-base", texts, "nli")
    cross = transformers.AutoModelForSequenceClassification.from_pretrained(path).eval()
    tokens = transformers.AutoTokenizer.from_pretrained(path)
    whole = transformers.ModernBertForTokenClassification(transformers.ModernBertConfig(
        vocab_size=sized_models.VOCABULARY, num_labels=2, pad_token_id=0, bos_token_id=3,
        eos_token_id=1, cls_token_id=3, sep_token_id=1)).eval()
    yes_no = load_pretrained("AutoModelForSeq2SeqLM", sized_models.t5(
        folder / "t5", "small", texts, flan=True), "cpu")

    @torch.no_grad()
    def cross_encoder(some: Sequence[Example]) -> None:
        pairs = [(row.knowledge, row.response[a:b])
                 for row in some for a, b in split_sentences(row.response)]
        for at in range(0, len(pairs), 16):
            cross(**tokens(pairs[at:at + 16], padding=True, truncation="only_first",
                           max_length=512, return_tensors="pt"))

    @torch.no_grad()
    def token_classifier(some: Sequence[Example]) -> None:
        for at in range(0, len(some), 8):
            whole(**tokens([(row.knowledge, row.response) for row in some[at:at + 8]], padding=True,
                           truncation="only_first", max_length=4096, return_tensors="pt"))

    return {"cross-encoder of the size of RoBERTa-base, 512 tokens": cross_encoder,
            "token classifier of the size of ModernBERT-base, 4,096 tokens": token_classifier,
            "scale-score with Flan-T5-small, whole responses":
                lambda some: authors(yes_no, list(some))}


def against(rows: Sequence[Example], other: Callable[[Sequence[Example]], Any], turns: int,
            ) -> dict[str, Any]:
    """The speed of groundedness with evidence, relative to another program on the same rows."""
    worker = Worker(rows, evidence=True)
    found = harness.alternate([(len(rows), partial(other, rows))] * (turns + 1),
                              [(len(rows), worker)] * turns)
    worker.close()
    return found


def limit(rows: Sequence[Example]) -> dict[str, Any]:
    """The share of the CPU's matrix throughput that groundedness with evidence reaches."""
    metric = Groundedness.from_preset("bundled", dtype="int8")
    metric.score(rows[:1], evidence=True)
    some = [Example(row.response + MARKS[0], row.knowledge + MARKS[0]) for row in rows]
    passes = harness.counted({"scale": metric.scale.backbone}, harness.Clock()).values()
    rate = harness.onnx_rate("int8")
    seconds = harness.timed(lambda: metric.score(some, evidence=True))
    return harness.share_of_rate(sum(one.operations for one in passes), seconds, rate, "int8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=32)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--against", type=Path, default=None,
                        help="folder of a checkout of older code")
    given = parser.parse_args()
    found: dict[str, Any] = {}
    for name, rows in kinds(given.rows).items():
        print(name, flush=True)
        record: dict[str, Any] = {
            "rows": len(rows),
            "words": round(sum(len(row.knowledge.split()) for row in rows) / len(rows)),
            "response_words": round(sum(len(row.response.split()) for row in rows) / len(rows)),
            "groundedness": own(rows, given.turns), "limit": limit(rows)}
        with tempfile.TemporaryDirectory() as folder:
            record["peers"] = {peer: against(rows, other, given.turns)
                               for peer, other in peers(Path(folder), rows).items()}
        if given.against:
            for dtype in DTYPES:
                old = Worker(rows, evidence=True, code=given.against, dtype=dtype)
                record["peers"][f"older code, {dtype}"] = against(rows, old, given.turns)
                old.close()
        print(record["peers"], flush=True)
        found[name] = record
    harness.save("typical", {"threads": processors(), "kinds": found})


if __name__ == "__main__":
    main()
