"""The data sets for evaluation: their files, addresses, checksums and licences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from q2_metric.errors import DataError

_RAW = "https://raw.githubusercontent.com"
_Q2 = f"{_RAW}/orhonovich/q-squared/cab6027dc9a50cf73d80caf0858da05c2323c433/third_party/data"
_SCALE = f"{_RAW}/asappresearch/scale-score/ada43738521e51f470fe8bfab6764e3a123f89dd/data/true"
_DSTC10 = (
    f"{_RAW}/alexa/alexa-with-dstc10-track2-dataset/"
    "4882acc6226d8d0826508a240a4a6bd66e651c12"
)


@dataclass(frozen=True, slots=True)
class DataFile:
    """``url`` is ``None`` if the file is not published."""

    name: str
    sha256: str
    url: str | None


@dataclass(frozen=True, slots=True)
class DataSet:
    """The files are in the subfolder ``folder`` of ``Q2_DATA_DIR`` or of the cache."""

    name: str
    folder: str
    description: str
    licence: str
    files: tuple[DataFile, ...]

    @property
    def published(self) -> bool:
        return all(file.url for file in self.files)


def _wow(name: str, sha256: str) -> DataFile:
    return DataFile(name, sha256, f"{_Q2}/{name}")


def _true(name: str, description: str, sha256: str, *, published: bool = True) -> DataSet:
    file = f"{name}.csv"
    return DataSet(
        name=f"true/{name}",
        folder="true",
        description=description,
        licence="repository: MIT; texts under the terms of their sources",
        files=(DataFile(file, sha256, f"{_SCALE}/{file}" if published else None),),
    )


_SETS = (
    DataSet(
        name="wow_q2",
        folder="wow_q2",
        description="Wizard of Wikipedia responses of dodecaDialogue and MemNet: "
        "544 contexts x 2 annotated, and 4 x 150 selected",
        licence="MIT",
        files=(
            _wow(
                "cross_annotation.csv",
                "b9c92dcf44b93fc8c19fa4a289c6a2780d703b090cf1d341175728778c330446",
            ),
            _wow(
                "dodeca_consistent.csv",
                "f3960661a527f8d481d8bd324bb4b4ed84797eb90e3f91d8d2c0038e5861c4a8",
            ),
            _wow(
                "dodeca_inconsistent.csv",
                "e8c97dcf7db823f69455042b1e27342f0d6db308ced1d491ad11bb5fc4d980c3",
            ),
            _wow(
                "memnet_consistent.csv",
                "2e9b32dbc35d9708eade57205b4a39f0ed3ded3015229e45c1937239b41e1bc2",
            ),
            _wow(
                "memnet_inconsistent.csv",
                "6d80a4a2d513799a580accf463ad89b2968ade3e0b35dc55b1d174511a5a0277",
            ),
            _wow(
                "LICENSE.txt",
                "52412d7bc7ce4157ea628bbaacb8829e0a9cb3c58f57f99176126bc8cf2bfc85",
            ),
        ),
    ),
    _true(
        "q2",
        "1,088 annotated Wizard of Wikipedia responses (those of wow_q2)",
        "ead8c2fca9f322da17778f01acc020cfb9fdac04c7a13cb338cf2253497e627b",
    ),
    _true(
        "summeval",
        "1,600 summaries of CNN/DailyMail articles",
        "997e799c6e8bea5adf929d6d499bb8a8935b41017d0a7cf72a7a76391070ac7e",
    ),
    _true(
        "qags_cnndm",
        "235 summaries of CNN/DailyMail articles",
        "766e38fff33a41bf228d5b1af3a7d813a0dea6ec5e851b9662b200d661b32cd3",
    ),
    _true(
        "dialfact",
        "8,689 dialogue responses with Wikipedia evidence",
        "0045a045da767eba8b4ee86d28d0df8f62a72535b50e57149a4028f28785d29c",
    ),
    _true(
        "dialfact_a",
        "4,473 of the 8,689 rows of true/dialfact, by index; not published",
        "90c41ab8f41f937d4ece4238b5a3b4bd1dc125357a2288376f60dc484e61e6b6",
        published=False,
    ),
    DataSet(
        name="dstc10",
        folder="dstc10",
        description="DSTC10 track 2, task 2, validation: 263 spoken dialogues, of which 104 need "
        "one of 12,039 snippets",
        licence="Apache-2.0",
        files=(
            DataFile(
                "knowledge.json",
                "fb0facf7acc6831707e49e4dec39518a4c627f233ab6c13ffc5e3f3fab00e4ab",
                f"{_DSTC10}/task2/data/knowledge.json",
            ),
            DataFile(
                "val_logs.json",
                "d065b457a53d19cf1d8035e5c953df3540382e87d48ddd50380578638d1943a5",
                f"{_DSTC10}/task2/data/val/logs.json",
            ),
            DataFile(
                "val_labels.json",
                "8ff76887a7aea9ecceb0a59bbb477d6bd360df0d508a6ca75adc1de86a757b49",
                f"{_DSTC10}/task2/data/val/labels.json",
            ),
        ),
    ),
)

CATALOGUE: Mapping[str, DataSet] = {item.name: item for item in _SETS}


def select(name: str) -> list[DataSet]:
    """The data set with this name ("true/q2"), or all of a group ("true").

    Raises:
        DataError: there is no such set or group; the message lists the names.
    """
    chosen = [item for item in _SETS if name in (item.name, item.folder)]
    if not chosen:
        raise DataError(f"there is no data set {name!r}; the sets are {', '.join(CATALOGUE)}")
    return chosen
