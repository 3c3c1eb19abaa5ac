from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from q2_metric._version import __version__
from q2_metric.errors import InputError
from q2_metric.metrics.signature import parse, signature


def test_form_and_order() -> None:
    settings = {"preset": "bundled", "nli": True, "sampled": False, "overlap": 0.25,
                "coref": None, "version": "1"}
    wanted = "q2|preset:bundled|nli:yes|sampled:no|overlap:0.25|coref:none|version:1"
    assert signature("q2", settings) == wanted


def test_numbers_that_differ_are_signed_differently() -> None:
    values = (0.25, 0.2500001, 0.0, 1e-9)
    found = [signature("q2", {"o": value, "version": "1"}) for value in values]
    assert found == [f"q2|o:{text}|version:1" for text in ("0.25", "0.2500001", "0", "1e-09")]


def test_version_is_added_last() -> None:
    assert signature("q2", {"b": 1, "a": 2}) == f"q2|b:1|a:2|version:{__version__}"


@pytest.mark.parametrize(
    ("value", "escaped"),
    [
        ("google/flan-t5-xl", "google/flan-t5-xl"),
        ('does this imply "X"? Yes or no?', 'does this imply "X"? Yes or no?'),
        ("a|b:c", "a%7Cb%3Ac"),
        ("50%", "50%25"),
        ("two\nlines", "two%0Alines"),
        ("é", "%C3%A9"),
    ],
)
def test_values_are_escaped(value: str, escaped: str) -> None:
    text = signature("q2", {"prompt": value, "version": "1"})
    assert text == f"q2|prompt:{escaped}|version:1"
    assert parse(text) == ("q2", {"prompt": value, "version": "1"})


# Whole Unicode but lone surrogates, which no UTF-8 text has.
_text = st.text(st.characters(exclude_categories=["Cs"]))


@given(_text, st.dictionaries(_text.filter(bool), _text))
def test_what_is_written_is_read_back(name: str, settings: dict[str, str]) -> None:
    settings["version"] = "1"
    text = signature(name, settings)
    assert len(text.splitlines()) <= 1
    read_name, read = parse(text)
    assert read_name == name
    assert list(read.items()) == list(settings.items())


@pytest.mark.parametrize("text", ["q2|beam", "q2|:x", "q2|a:1|a:2", "q2|"])
def test_what_is_no_signature_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="is not a signature"):
        parse(text)
