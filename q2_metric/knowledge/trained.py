"""Says what a trained folder is for, without loading its weights."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from q2_metric.errors import InputError
from q2_metric.files import read_json
from q2_metric.knowledge.encoder import ABOUT

NAMES = {"bert": "BERT", "roberta": "RoBERTa", "gpt2": "GPT-2", "bart": "BART"}
"""The paper's names of the kinds of models, by transformers' ``model_type``."""
TASKS = {"relevance": "ranker", "choice": "ranker", "detection": "detector"}


@dataclass(frozen=True, slots=True)
class Trained:
    """``model`` is named as in the paper's tables. ``domain``: a ranker reads domain names."""

    task: Literal["ranker", "detector", "responder"]
    model: str
    domain: bool = True


def members(folder: str) -> list[str]:
    """The folders of the rankers of an ensemble; of another trained folder, itself."""
    found = sorted(Path(folder).expanduser().glob(f"*/{ABOUT}"))
    return [str(path.parent) for path in found] or [folder]


def trained(folder: str) -> Trained:
    """What a folder of ``q2 select train``, ``train-detector`` or ``q2 respond train`` holds.

    Raises:
        InputError: the folder holds none of these.
    """
    path = Path(folder).expanduser()
    try:
        kind = NAMES.get(found := str(read_json(path / "config.json")["model_type"]), found)
        if not (path / ABOUT).is_file():
            return Trained("responder", kind)
        about = read_json(path / ABOUT)
        first = about["heads"][0]
        return Trained(TASKS[first], "RSS" if first == "relevance" else kind,  # type: ignore[arg-type]
                       bool(about.get("domain", True)))
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise InputError(f"{folder}: holds no trained ranker, detector or responder") from error
