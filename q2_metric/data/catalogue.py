"""The data sets for evaluation: their files, addresses, checksums and licences.

``files.tsv`` has one line for each file.
"""

from collections import defaultdict
from collections.abc import Mapping
from importlib.resources import files
from typing import NamedTuple

from q2_metric.errors import DataError


class DataFile(NamedTuple):
    """``digest`` is the SHA-256 of the file, or, of 40 digits, its name in Git; "" if it is not
    known. ``url`` is ``None`` if the package cannot download the file."""

    name: str
    digest: str
    url: str | None = None


class DataSet(NamedTuple):
    """The files are in the subfolder ``folder`` of ``Q2_DATA_DIR`` or of the cache: the group of a
    set ("true/q2"), or its name. ``by_hand`` says where the user finds files that the package
    cannot download."""

    name: str
    description: str
    licence: str
    files: tuple[DataFile, ...]
    by_hand: str = ""

    @property
    def folder(self) -> str:
        return self.name.partition("/")[0]

    @property
    def published(self) -> bool:
        return all(file.url for file in self.files)


def _registry() -> Mapping[str, tuple[DataFile, ...]]:
    """The files of each data set."""
    by_set: dict[str, tuple[DataFile, ...]] = defaultdict(tuple)
    text = files(__package__).joinpath("files.tsv").read_text(encoding="utf-8")
    for line in text.splitlines()[1:]:
        name, file, digest, url = line.split("\t")
        by_set[name] += (DataFile(file, digest, url or None),)
    return by_set


_FILES = _registry()
_TRUE = {
    "q2": "1,088 annotated Wizard of Wikipedia responses (those of wow_q2)",
    "summeval": "1,600 summaries of CNN/DailyMail articles",
    "qags_cnndm": "235 summaries of CNN/DailyMail articles",
    "dialfact": "8,689 dialogue responses with Wikipedia evidence",
    "frank": "671 summaries of CNN/DailyMail and XSum articles",
    "mnbm": "summaries of XSum articles (Maynez et al., 2020)",
    "qags_xsum": "239 summaries of XSum articles",
    "begin": "836 responses to Wizard of Wikipedia knowledge",
    "paws": "8,000 pairs of sentences: paraphrases or not",
    "fever": "claims with Wikipedia evidence (Thorne et al., 2018)",
    "vitc": "VitaminC: claims with contrastive Wikipedia evidence (Schuster et al., 2021)",
    "dialfact_a": "4,473 of the 8,689 rows of true/dialfact, by index; not published",
}
_SETS = (
    DataSet("wow_q2",
            "Wizard of Wikipedia responses of dodecaDialogue and MemNet: 544 contexts x 2 "
            "annotated, and 4 x 150 selected", "MIT", _FILES["wow_q2"]),
    *(DataSet(f"true/{name}", about, "repository: MIT; texts under the terms of their sources",
              _FILES[f"true/{name}"]) for name, about in _TRUE.items()),
    DataSet("dstc10",
            "DSTC10 track 2, task 2, validation: 263 spoken dialogues, of which 104 need one of "
            "12,039 snippets", "Apache-2.0", _FILES["dstc10"]),
    DataSet("wow", "Wizard of Wikipedia: the 981 dialogues from which wow_q2 is", "CC BY 4.0",
            _FILES["wow"], "unpack it from the archive wizard_of_wikipedia.tgz of ParlAI"),
    DataSet("screeneval", "ScreenEval: 624 sentences about 52 TV scripts",
            "repository: MIT; texts under the terms of SummScreen", _FILES["screeneval"]),
    DataSet("usr", "Topical-Chat responses rated by people (USR): 60 contexts x 6", "not stated",
            _FILES["usr"], "download it from https://shikib.com/tc_usr_data.json"),
    DataSet("dnli", "Dialogue NLI: pairs of sentences; the test set whose labels people verified",
            "as stated on https://wellecks.com/dialogue_nli", _FILES["dnli"],
            "unpack it from the archive dnli.zip that https://wellecks.com/dialogue_nli links to"),
    DataSet("dstc9", "DSTC9 track 1: 86,362 turns of dialogues, and 2,900 (test: 12,039) snippets",
            "Apache-2.0", _FILES["dstc9"]),
)

CATALOGUE: Mapping[str, DataSet] = {item.name: item for item in _SETS}


def select(name: str) -> list[DataSet]:
    """The data set with this name ("true/q2"), or all of a group ("true"). DataError: there is no
    such set or group; the message lists the names."""
    chosen = [item for item in _SETS if name in (item.name, item.folder)]
    if not chosen:
        raise DataError(f"there is no data set {name!r}; the sets are {', '.join(CATALOGUE)}")
    return chosen
