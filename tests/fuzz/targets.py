"""What is fuzzed: files of every kind that are ours or a user's, whole at first and then damaged.

Each target is given the bytes of a file and a folder; whatever they are, it must end well or
with an error of ours, and never with another exception.
"""

from __future__ import annotations

import json
import sqlite3
import warnings
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from zlib import crc32

from fakes import FakeMetric
from hypothesis import strategies as st

from q2_metric.engine.cache import Cache
from q2_metric.engine.cached import CachedMetric
from q2_metric.engine.manifest import difference, manifest
from q2_metric.engine.unfinished import Unfinished, open_unfinished
from q2_metric.errors import InputError
from q2_metric.metrics.calibration import FORMAT, Calibration
from q2_metric.rows.fields import output_row
from q2_metric.rows.formats import read_fields
from q2_metric.rows.read import BadRow, read_rows
from q2_metric.types import Example

EXAMPLE = Example("Rome has 7 hills.", "It has 7.")
ROWS = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in (
    {"id": "a", "response": "Rome has 7 hills.", "knowledge": ["It has 7.", "é"]},
    {"id": 1, "response": "r", "knowledge": "k", "history": [{"role": "user", "content": "?"}]},
)).encode()
TABLE = b'id,response,knowledge,history\na,"Rome, 7 ""hills""","It\nhas 7.",\r\nb,r,k,h\n'
CALIBRATION = json.dumps({
    "format": FORMAT, "name": "m", "metric": "knowledge_f1", "kind": "isotonic", "threshold": 0.5,
    "signature": "knowledge_f1|version:1", "x": [0, 0.5, 1], "y": [0, 0.2, 1.0], "n": 10,
}).encode()
LINES = b'{"id": "1", "nli": 0.5, "error": null}\n'
NOW = manifest([], {"nli": "nli|version:1"}, {"nli": {"code": "1"}}, {"block": 3})


def readers(data: bytes, folder: Path) -> None:
    """The bytes as rows, in every format that needs no further package, in both ways."""
    for form in ("jsonl", "csv", "tsv"):
        path = folder / f"rows.{form}"
        path.write_bytes(data)
        with suppress(InputError):
            for index, row in enumerate(read_rows(path, on_note=len)):
                if isinstance(row, BadRow):
                    assert row.index == index
                else:
                    for text in (row.response, row.knowledge, *row.history, row.id or ""):
                        text.encode("utf-8")
                    assert row.response.strip()
                    assert row.knowledge.strip()
                output_row(index, row, {}, ["knowledge_f1"])
        with suppress(InputError):
            for _ in read_fields(path):
                pass


def calibrations(data: bytes, folder: Path) -> None:
    """The bytes as a calibration; one that can be read gives probabilities."""
    path = folder / "calibration.json"
    path.write_bytes(data)
    with suppress(InputError):
        found = Calibration.load(path)
        for value in (-1e308, 0.0, 0.3, 1.0, 1e308):
            assert 0 <= found.apply(value) <= 1


def unfinished(data: bytes, folder: Path) -> None:
    """The bytes as a block, in the midst of an unfinished output, and as its first line.

    A block is what was written or nothing, and no finished block is lost to a damaged first line.
    """
    out = folder / "out.jsonl"
    with open_unfinished(out) as kept:
        kept.begin(out, NOW)
        for lines in (LINES, data, LINES):
            kept.append(lines)
        written = [LINES, data, LINES]
        assert [*kept.blocks()] == written
        whole = kept.path.read_bytes()
        at, cut = crc32(data) % len(whole), len(data) % 3
        for changed in (whole[:at] + data + whole[at + cut :], whole[: whole.index(b"{")] + data
                        + whole[whole.index(b"\n") :]):
            kept.path.write_bytes(changed)
            again = Unfinished(kept.path, kept._descriptor)
            try:
                again.begin(out, NOW)
            except InputError:
                assert kept.path.read_bytes() == changed
            else:
                first = changed.partition(b"\n")[0]
                with suppress(ValueError):
                    assert difference(json.loads(first[first.index(b"{") :]), NOW) is None
                    first = b""
                assert not first, "what cannot be read is kept"
                found = [*again.blocks()]
                assert found == written[: len(found)]
                assert len(found) == 3 or changed != whole
        kept.remove()


def cached(data: bytes, folder: Path) -> None:
    """The bytes as the file of the cache, and spliced into what it has kept.

    A score is the metric's own, whatever the cache holds; what was not changed is not scored again.
    """
    path = folder / "cache"
    path.write_bytes(data)
    _scored(path)
    path.unlink()
    assert _scored(path) == 1
    assert _scored(path) == 0
    at, cut = crc32(data) % 97, len(data) % 3
    with closing(sqlite3.connect(path)) as database, database:
        changed = False
        for key, value in database.execute("select key, value from scores").fetchall():
            spliced = value[:at] + data.decode("utf-8", "replace") + value[at + cut :]
            database.execute("update scores set value = ? where key = ?", (spliced, key))
            changed |= spliced != value and '"value"' in value  # the score; else the signature
    assert _scored(path) == changed
    path.unlink()


def _scored(path: Path) -> int:
    """Scores a response over a cache; how many the metric itself scored."""
    metric = FakeMetric("nli", {EXAMPLE.response: 0.25})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        store = Cache(path)
        (score,) = CachedMetric("nli", lambda: metric, store).score([EXAMPLE])
        store.close()
    assert score.value == 0.25
    return sum(metric.batches)


TARGETS: dict[str, tuple[Callable[[bytes, Path], None], tuple[bytes, ...]]] = {
    "readers": (readers, (ROWS, TABLE)),
    "calibrations": (calibrations, (CALIBRATION,)),
    "unfinished": (unfinished, (LINES, json.dumps(NOW).encode())),
    "cached": (cached, (b"SQLite format 3\x00" + bytes(200), b"", b"9", b'"value": 1, ')),
}
"""By name: the target, and files that are whole."""

PIECES = st.one_of(
    st.binary(max_size=8),
    st.sampled_from([b"null", b"NaN", b"1e999", b"9" * 400, b"[" * 2000, b'"\\ud800"', b"\xff",
                     b"\x00", b'"', b"\r", b"\n", b",", b"{}", b"-0", b"\xef\xbb\xbf",
                     b"\xff\xfe"]),
)
EDIT = st.tuples(st.floats(0, 1), st.floats(0, 0.2), PIECES)
"""Where, how much goes, and what comes in its place."""


@st.composite
def damaged(draw: st.DrawFn, whole: tuple[bytes, ...]) -> bytes:
    """A file that was whole, with some changes; or anything."""
    if draw(st.integers(0, 9)) == 0:
        return draw(st.binary(max_size=300))
    data = draw(st.sampled_from(whole))
    for place, share, piece in draw(st.lists(EDIT, max_size=6)):
        at = int(place * len(data))
        data = data[:at] + piece + data[at + int(share * len(data)) :]
    return data
