"""A miniature Wizard of Wikipedia in ParlAI's format, and the command ``parlai``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]

FACTS = [
    ("Bob Ross", "Bob Ross hosted The Joy of Painting, which aired from 1983 to 1994 on PBS."),
    ("Coffee", "Coffee is a brewed drink prepared from roasted coffee beans."),
    ("Gardening", "Gardening is considered by many people to be a relaxing activity."),
    ("Paris", "Paris is the capital of France, and the Eiffel Tower opened there in 1889."),
]
REPLIES = [
    "he hosted the joy of painting , which aired on pbs until 1991 .",
    "coffee is made from roasted beans .",
    "i love gardening , many people find it a relaxing activity .",
    "paris is the capital of france .",
]
NO_KNOWLEDGE = "no_passages_used"


def dialogue(topic: str, turns: Sequence[tuple[str, str, str]]) -> dict[str, Any]:
    """An episode of (apprentice's message, wizard's knowledge, wizard's response)."""
    dialog: list[dict[str, Any]] = []
    passage = [knowledge for _, knowledge, _ in turns if knowledge != NO_KNOWLEDGE]
    for message, knowledge, response in turns:
        dialog.append(
            {
                "speaker": "0_Apprentice",
                "text": message,
                "retrieved_passages": [],
                "retrieved_topics": [],
            }
        )
        used = knowledge != NO_KNOWLEDGE
        dialog.append(
            {
                "speaker": "1_Wizard",
                "text": response,
                "retrieved_passages": [],
                "retrieved_topics": [],
                "checked_sentence": {f"chosen_{topic}_0": knowledge} if used else {},
                "checked_passage": {"chosen_topic": topic} if used else {},
                "candidate_responses": [response],
            }
        )
    return {
        "chosen_topic": topic,
        "chosen_topic_passage": passage,
        "wizard_eval": 5,
        "persona": "",
        "dialog": dialog,
    }


def miniature() -> list[dict[str, Any]]:
    """Four dialogues of two turns; in one turn the wizard used no knowledge."""
    episodes = []
    for index, ((topic, fact), reply) in enumerate(zip(FACTS, REPLIES, strict=True)):
        second = NO_KNOWLEDGE if index == 1 else fact
        turns = [
            (f"what do you know about {topic} ?", fact, reply),
            ("that is nice , tell me more !", second, FACTS[index][1].lower()),
        ]
        episodes.append(dialogue(topic, turns))
    return episodes


def write(datapath: Path, train: Sequence[Any], valid: Sequence[Any]) -> Path:
    """Writes the files of ``-t wizard_of_wikipedia`` under a ParlAI data folder."""
    folder = datapath / "wizard_of_wikipedia"
    folder.mkdir(parents=True, exist_ok=True)
    files = {"train": train, "data": train}
    for split in ("random_split", "topic_split"):
        files |= {f"valid_{split}": valid, f"test_{split}": valid}
    for name, episodes in files.items():
        (folder / f"{name}.json").write_text(json.dumps(list(episodes)), encoding="utf-8")
    (folder / ".built").write_text("2026-01-01\n1.0\n")
    return datapath


def environment(**changes: str) -> dict[str, str]:
    """The environment of a user who has the package installed, on one thread."""
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PARLAI")}
    return {**kept, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", **changes}


def run(*arguments: str, cwd: Path, **changes: str) -> subprocess.CompletedProcess[str]:
    """The command ``parlai`` with these arguments."""
    return subprocess.run(
        [sys.executable, "-m", "parlai", *arguments],
        cwd=cwd,
        env=environment(**changes),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def command(*arguments: str) -> Any:
    """The same command in this process: what it returns, or SystemExit."""
    from parlai.core.script import superscript_main

    return superscript_main(args=list(arguments))
