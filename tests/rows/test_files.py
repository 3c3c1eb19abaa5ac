"""What is read and written as a whole, and what no output may overwrite."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from q2_metric.errors import DataError, InputError
from q2_metric.files import check_written, read_json, replacing, state, write_text


def write(path: Path, text: str = "new") -> None:
    with replacing(path) as unfinished:
        unfinished.write_text(text)


def test_a_planted_link_is_not_followed(tmp_path: Path) -> None:
    target, path = tmp_path / "target", tmp_path / "out"
    target.write_text("precious")
    (tmp_path / "out.tmp").symlink_to(target)
    write(path)
    assert (target.read_text(), path.read_text()) == ("precious", "new")
    assert (tmp_path / "out.tmp").is_symlink()


def test_a_file_with_the_name_of_a_helper_stays(tmp_path: Path) -> None:
    (tmp_path / "out.tmp").write_text("mine")
    write(tmp_path / "out")
    assert (tmp_path / "out.tmp").read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "out.tmp"]


@pytest.mark.parametrize("mode", [0o600, 0o640])
def test_the_mode_of_the_file_stays(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "out"
    path.write_text("old")
    path.chmod(mode)
    write(path)
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_new_file_is_private_unless_it_holds_no_texts(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("")
    write(tmp_path / "out")
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o600
    write_text(tmp_path / "table", "new")
    assert (tmp_path / "table").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_name_as_long_as_can_be(tmp_path: Path) -> None:
    path = tmp_path / ("o" * 255)
    write(path)
    assert [*tmp_path.iterdir()] == [path]


LINKS: list[Callable[[Path, Path], None]] = [
    lambda path, link: link.symlink_to(path),
    lambda path, link: os.link(path, link),
    lambda path, link: link.symlink_to(os.path.join(".", path.name)),
]


@pytest.mark.parametrize("make", LINKS)
def test_a_link_is_what_it_leads_to(tmp_path: Path, make: Callable[[Path, Path], None]) -> None:
    path, link = tmp_path / "rows.jsonl", tmp_path / "link.jsonl"
    path.write_text("rows")
    make(path, link)
    for output, given in ((link, path), (path, link)):
        with pytest.raises(InputError, match="is an input, so it cannot be written"):
            check_written([output], [given])
        with pytest.raises(InputError, match="two outputs have this path"):
            check_written([output, given])


def test_outputs_that_are_not_there_yet(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "same").symlink_to(tmp_path / "folder")
    check_written([tmp_path / "a", tmp_path / "b", tmp_path / "folder" / "a"], ["-", None, "c"])
    with pytest.raises(InputError, match="two outputs have this path"):
        check_written([tmp_path / "folder" / "a", tmp_path / "same" / "a"])


def test_a_device_is_no_output() -> None:
    with pytest.raises(InputError, match="is not a regular file"):
        check_written(["/dev/null"])


def test_a_loop_of_links(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(InputError, match="cannot be"):
        check_written([tmp_path / "a"], [tmp_path / "c"])


@pytest.mark.parametrize(("data", "words"), [
    (None, "there is no such file"),
    (b"\xff", "is not UTF-8"),
    (b"{", "is not JSON"),
    (b"[" * 100_000, "nested too deeply"),
    (b"1" * 5_000, "is not JSON"),
])
def test_json_that_cannot_be_read(tmp_path: Path, data: bytes | None, words: str) -> None:
    path = tmp_path / "a.json"
    if data is not None:
        path.write_bytes(data)
    for wrong in (InputError, DataError):
        with pytest.raises(wrong, match=words):
            read_json(path, wrong)


def test_the_state_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("1")
    before = state(path)
    assert state(path) == before
    os.utime(path, ns=(0, 0))
    assert state(path) != before
    with pytest.raises(InputError, match="cannot be read: No such file"):
        state(tmp_path / "b")


def test_text_is_put_in_its_place(tmp_path: Path) -> None:
    write_text(tmp_path / "a", "é\ud800")
    assert (tmp_path / "a").read_bytes() == "é\\ud800".encode()
    with pytest.raises(InputError, match="there is no folder"):
        write_text(tmp_path / "none" / "a", "x")
