"""Rewriting by coreference, and the clusters that coreferee gives.

Its neural model is a separate download, so the chains are set by hand, as coreferee's own
objects where it is installed.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import Any

import pytest

from q2_metric.english.parse import coreference
from q2_metric.english.parse.coreference import (
    CorefereeResolver,
    Mention,
    replace_mentions,
    resolve_turns,
)
from q2_metric.errors import MissingExtra, ModelError
from q2_metric.models import stages
from q2_metric.types import CoreferenceResolver as Resolver

# A mention is "turn:text", or "turn:text#2" for its second occurrence; "*" marks possessives.


def mentions(turns: Sequence[str], clusters: Sequence[Sequence[str]]) -> list[list[Mention]]:
    found = []
    for cluster in clusters:
        row = []
        for item in cluster:
            turn, _, text = item.partition(":")
            text, possessive = text.removesuffix("*"), text.endswith("*")
            text, _, nth = text.partition("#")
            start = -1
            for _ in range(int(nth or 1)):
                start = turns[int(turn)].index(text, start + 1)
            row.append(Mention(int(turn), start, start + len(text), possessive))
        found.append(row)
    return found


GOLDEN = [
    # A pronoun of the last turn takes the first mention's words.
    (["Do you like Paris?", "I love it."], [["0:Paris", "1:it"]], "I love Paris."),
    # Only the last turn is given, whatever was replaced before.
    (["Anna sings.", "She sings.", "she does"], [["0:Anna", "1:She", "2:she"]], "Anna does"),
    # One turn: mentions after the first.
    (["The dog ran. It barked."], [["0:The dog", "0:It"]], "The dog ran. The dog barked."),
    # Possessives keep their 's; "her" only where it is marked.
    (["Anna left.", "her dog saw her"], [["0:Anna", "1:her*", "1:her#2"]], "Anna's dog saw Anna"),
    (
        ["The king.", "His horse and its tail"],
        [["0:The king", "1:His"]],
        "The king's horse and its tail",
    ),
    (["Mr. Fox.", "the fox's tail"], [["0:Mr. Fox", "1:the fox's"]], "Mr. Fox's tail"),
    (["Mr. Fox.", "the fox's tail"], [["0:Mr. Fox", "1:the fox"]], "Mr. Fox's tail"),
    (["Two kings.", "the kings' horses"], [["0:Two kings", "1:the kings'"]], "Two kings's horses"),
    # A first mention that is a possessive gives its bare name.
    (
        ["Anna’s dog.", "She left her dog"],
        [["0:Anna’s", "1:She", "1:her*"]],
        "Anna left Anna's dog",
    ),
    # A pronoun names nobody, so its cluster stays.
    (
        ["I like it.", "I do and you like it"],
        [["0:I", "1:I", "1:you"], ["0:it", "1:it"]],
        "I do and you like it",
    ),
    # Later names are replaced too: each mention takes the first one's words.
    (["Barack Obama spoke.", "Obama left."], [["0:Barack Obama", "1:Obama"]], "Barack Obama left."),
    # Of nested mentions the outer one is replaced.
    (
        ["Anna and a dog.", "her dog ran"],
        [["0:Anna", "1:her*"], ["0:a dog", "1:her dog"]],
        "a dog ran",
    ),
    # A first mention is itself resolved before it is copied.
    (
        ["Anna.", "Her dog ran.", "It ran"],
        [["0:Anna", "1:Her*"], ["1:Her dog", "2:It"]],
        "Anna's dog ran",
    ),
    # A mention inside its entity's first mention stays: it would contain itself.
    (
        ["the man and his dog", "they ran"],
        [["0:the man and his dog", "1:they"], ["0:the man", "0:his"]],
        "the man and the man's dog ran",
    ),
    (
        ["a man who lost his hat", "he left"],
        [["0:a man who lost his hat", "0:his", "1:he"]],
        "a man who lost his hat left",
    ),
    # Two first mentions that hold each other's later mentions do not go round for ever.
    (["x in y.", "y in x.", "z"], [["0:x in y", "1:x"], ["1:y in x", "0:y"], ["0:x", "2:z"]], "x"),
    # Clusters may be in any order; singletons and no clusters change nothing.
    (["it is Paris.", "it and Paris"], [["1:Paris", "0:Paris"]], "it and Paris"),
    (["Anna.", "she"], [["1:she"]], "she"),
    (["Anna.", "she"], [], "she"),
    ([""], [], ""),
    ([], [], ""),
]


@pytest.mark.parametrize(("turns", "clusters", "expected"), GOLDEN)
def test_replace_mentions(turns: list[str], clusters: list[list[str]], expected: str) -> None:
    assert replace_mentions(turns, mentions(turns, clusters)) == expected
    backwards = [cluster[::-1] for cluster in mentions(turns, clusters)][::-1]
    assert replace_mentions(turns, backwards) == expected


class Pronouns:
    """Links each "it" to the nearest noun before it, through the real rewriting."""

    name = "pronouns"

    def resolve(self, dialogues: Sequence[Sequence[str]]) -> list[str]:
        return [self._last(turns) for turns in dialogues]

    def _last(self, turns: Sequence[str]) -> str:
        clusters: list[list[Mention]] = []
        for number, turn in enumerate(turns):
            for word in re.finditer(r"\b(tea|coffee|it)\b", turn):
                mention = Mention(number, word.start(), word.end())
                if word[0] == "it":
                    clusters[-1].append(mention)
                else:
                    clusters.append([mention])
        return replace_mentions(turns, clusters)


def test_turns_are_resolved_one_by_one() -> None:
    """What a turn says after it was resolved is what the next turn refers to."""
    dialogues = [["I drink tea.", "Is it hot?", "it is."], ["coffee", "it is cold"], []]
    asked: list[tuple[str, ...]] = []

    class Asked(Pronouns):
        def resolve(self, dialogues: Sequence[Sequence[str]]) -> list[str]:
            asked.extend(tuple(turns) for turns in dialogues)
            return super().resolve(dialogues)

    assert resolve_turns(Asked(), dialogues) == ["tea is.", "coffee is cold", ""]
    assert ("I drink tea.", "Is tea hot?", "it is.") in asked


def test_another_resolver_is_named_by_its_class() -> None:
    made = stages.load_coreference(f"{__name__}:Pronouns")
    assert isinstance(made, Resolver)
    assert made.resolve([["some tea", "it is hot"]]) == ["tea is hot"]
    for name in ("no.such:Thing", f"{__name__}:Nothing"):
        with pytest.raises(ModelError, match="cannot be created"):
            stages.load_coreference(name)


# --- coreferee --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def spacy_nlp() -> Any:
    pytest.importorskip("spacy")
    pytest.importorskip("coreferee")
    return coreference._own_pipeline()


def with_chains(nlp: Any, chains: Sequence[Sequence[Sequence[str]]]) -> CorefereeResolver:
    """A resolver whose pipeline finds the given chains; "dog#2" is the second "dog"."""
    from coreferee.data_model import Chain, ChainHolder
    from coreferee.data_model import Mention as CorefereeMention
    from coreferee.manager import CorefereeBroker

    CorefereeBroker.set_extensions()

    def annotate(doc: Any) -> Any:
        holder = ChainHolder()
        for heads in chains:
            found = []
            for words in heads:
                mention = CorefereeMention()
                mention.token_indexes = [_token(doc, word) for word in words]
                mention.root_index = mention.token_indexes[0]
                found.append(mention)
            holder.chains.append(Chain(found, 0))
        doc._.coref_chains = holder
        return doc

    class Pipeline:
        def pipe(self, texts: Sequence[str]) -> Any:
            return (annotate(nlp(text)) for text in texts)

    return CorefereeResolver(Pipeline())  # type: ignore[arg-type]


def _token(doc: Any, word: str) -> int:
    text, _, nth = word.partition("#")
    return [token.i for token in doc if token.text == text][int(nth or 1) - 1]


@pytest.mark.parametrize(
    ("turns", "chains", "expected"),
    [
        # A head stands for its phrase, an entity's word for the entity.
        (
            ["The old museum was built in 1994.", "I visited it."],
            [[["museum"], ["it"]]],
            "I visited The old museum.",
        ),
        (
            ["Do you know Barack Obama?", "He was president."],
            [[["Obama"], ["He"]]],
            "Barack Obama was president.",
        ),
        # The tagger tells the two kinds of "her" apart.
        (
            ["Anna has a dog.", "I saw her walk with her dog."],
            [[["Anna"], ["her"], ["her#2"]]],
            "I saw Anna walk with Anna's dog.",
        ),
        # The 's after a phrase stays where it was.
        (
            ["Barack Obama spoke.", "Obama's speech was long."],
            [[["Obama"], ["Obama#2"]]],
            "Barack Obama's speech was long.",
        ),
        # Coordinated heads are one phrase.
        (
            ["Peter and Jane came.", "They danced."],
            [[["Peter", "Jane"], ["They"]]],
            "Peter and Jane danced.",
        ),
        (["Nothing here.", "They danced."], [], "They danced."),
        ([""], [], ""),
    ],
)
def test_chains_become_phrases(
    spacy_nlp: Any, turns: list[str], chains: list[list[list[str]]], expected: str
) -> None:
    assert with_chains(spacy_nlp, chains).resolve([turns]) == [expected]


def test_dialogues_keep_their_order(spacy_nlp: Any) -> None:
    resolver = with_chains(spacy_nlp, [[["Anna"], ["She"]]])
    dialogues = [["Anna sang.", "She danced."], ["I met Anna.", "She laughed."]]
    assert resolver.resolve(dialogues) == ["Anna danced.", "Anna laughed."]
    assert resolver.resolve(dialogues[::-1]) == ["Anna laughed.", "Anna danced."]
    assert resolver.resolve([]) == []
    assert isinstance(resolver, Resolver)
    assert resolver.name == "coreferee"


@pytest.fixture
def _fresh() -> Any:
    coreference.load_pipeline.cache_clear()
    yield
    coreference.load_pipeline.cache_clear()


@pytest.mark.usefixtures("_fresh")
def test_without_coreferee_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "coreferee", None)
    with pytest.raises(MissingExtra, match=r"q2-metric\[coref\]"):
        stages.load_coreference()


@pytest.mark.usefixtures("_fresh", "spacy_nlp")
def test_without_its_english_model_the_error_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "coreferee_model_en", None)
    with pytest.raises(ModelError, match="python -m coreferee install en") as caught:
        stages.load_coreference()
    assert "\n" not in str(caught.value)
    assert capfd.readouterr().out == ""


@pytest.mark.usefixtures("_fresh", "spacy_nlp")
def test_an_unknown_pipeline_is_one_clear_line() -> None:
    with pytest.raises(ModelError, match="no_such_pipeline"):
        stages.load_coreference("no_such_pipeline")


def test_a_real_model_resolves_a_pronoun() -> None:
    pytest.importorskip("coreferee_model_en", reason="coreferee's English model is not installed")
    resolver = stages.load_coreference()
    assert resolver.resolve([["Barack Obama was president. He lived in Washington."]]) == [
        "Barack Obama was president. Barack Obama lived in Washington."
    ]
