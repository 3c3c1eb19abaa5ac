"""``parlai q2_export`` writes a model's responses, with their knowledge, to a jsonl file that
``q2 score`` can read."""

import json
import math
import os
import random
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from parlai.core.agents import create_agent
from parlai.core.params import ParlaiParser
from parlai.core.script import ParlaiScript, register_script
from parlai.core.worlds import create_task
from parlai.utils import logging

from parlai_plugin import hook
from parlai_plugin.notices import NO_KNOWLEDGE, NO_RESPONSE
from parlai_plugin.options import add_options
from q2_metric.errors import InputError
from q2_metric.files import check_free, replacing
from q2_metric.rows.writers import check_output


@register_script("q2_export")
class Q2Export(ParlaiScript):  # type: ignore[misc]  # ParlAI has no types
    """Runs a model on a task, as ``eval_model`` does, and writes its responses to a file."""

    @classmethod
    def setup_args(cls) -> Any:
        """A parser with ParlAI's options and those of this script."""
        parser = ParlaiParser(
            True, True, "Write a model's responses with their knowledge, for `q2 score`")
        parser.add_argument("--out", type=str, default="", help="File to write, .jsonl")
        parser.add_argument(
            "--overwrite", type="bool", default=False, help="Replace an existing file")
        parser.add_argument(
            "--system", type=str, default="",
            help="Value of the column \"system\" in the rows (default: the model's name)")
        parser.add_argument("-ne", "--num-examples", type=int, default=-1)
        add_options(parser, scoring=False)
        parser.set_params(datatype="valid")
        return parser

    def run(self) -> dict[str, int]:
        """Writes a row for each example that has knowledge and a response. Returns the number of
        written rows ("written"), and of examples that were left out, by reason. Raises InputError
        if no output file is named, it already exists, or no row could be written."""
        hook.install()
        out = self.opt.get("out") or ""
        if not out.endswith(".jsonl"):
            raise InputError("--out: name a .jsonl file to write, such as --out responses.jsonl")
        check_output(out)
        if not self.opt.get("overwrite"):
            check_free(out)
        random.seed(42)  # as eval_model does: some teachers draw examples at random
        agent = create_agent(self.opt, requireModelExists=True)
        with replacing(Path(out)) as unfinished:
            with open(unfinished, "w", encoding="utf-8", newline="\n") as file:
                writer = _Writer(file, self.opt.get("system") or _system(self.opt))
                hook.listeners.append(writer.take)
                try:
                    for task in self.opt["task"].split(","):
                        _answer(self.opt, agent, task)
                finally:
                    hook.listeners.remove(writer.take)
            return writer.close(out)


def _answer(opt: Any, agent: Any, task: str) -> None:
    """Lets the agent answer the examples of a task, in the same order as ``eval_model``."""
    own = opt.copy()
    own["task"] = task
    world = create_task(own, agent)
    most = opt["num_examples"] if opt["num_examples"] > 0 else math.inf
    done = 0
    while not world.epoch_done() and done < most:
        done += opt.get("batchsize", 1)
        world.parley()
    world.reset()


def _system(opt: Mapping[str, Any]) -> str:
    model_file = opt.get("model_file")
    if not model_file:
        return str(opt.get("model") or "model")
    # In ".../end2end_generator/model", the name of the folder is the name of the model.
    path = Path(os.path.abspath(model_file))
    return path.parent.name if path.name == "model" else path.name


class _Writer:
    """Writes a row for each example that has knowledge and a response, and counts the others."""

    def __init__(self, file: IO[str], system: str) -> None:
        self._file = file
        self._system = system
        self._counts: Counter[str] = Counter()
        self._tasks: Counter[str] = Counter()

    def take(self, answered: hook.AnsweredExample) -> None:
        example = answered.example
        if example is None or answered.without is not None:
            self._counts[str(answered.without)] += 1
            return
        self._counts["written"] += 1
        self._tasks[answered.task] += 1
        row = {"id": f"{answered.task}/{self._tasks[answered.task]}", "system": self._system,
               "response": example.response, "knowledge": example.knowledge,
               "history": list(example.history),
               "gold": answered.labels[0] if answered.labels else None}
        self._file.write(json.dumps(row, ensure_ascii=False) + "\n")

    def close(self, out: str) -> dict[str, int]:
        written = self._counts["written"]
        left_out = [f"{self._counts[reason]} examples {why} and were left out"
                    for reason, why in ((NO_KNOWLEDGE, "had no knowledge"),
                                        (NO_RESPONSE, "had an empty response"))
                    if self._counts[reason]]
        if not written:
            said = "; ".join(left_out) or "the model gave no text (try --skip-generation false)"
            raise InputError(f"nothing to write to {out}: {said}")
        logging.info(f"q2-metric: {written} responses written to {out}; now: q2 score {out}")
        for line in left_out:
            logging.warning(f"q2-metric: {line}")
        return dict(self._counts)
