from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from q2_metric.english.claims.checkable import has_claim

NOTHING_CLAIMED = """
.
:::::
...
?!?!
♥ 😀 🎉
:) :D <3 xD
- - -
"
a
the
of the
x y z
lol
LOL!!!
haha , hahaha !
hmm ...
ooooh
aaaaaaaa
wow
ok .
yes .
Yes!
no , no , no !
yes , it is .
no i have n't .
hi !
hello , how are you ?
good morning !
What a big tower that is!
thanks!
thank you so much !
thx
you're welcome .
bye , take care !
see you later
congratulations !
i'm so sorry for your loss .
oh no , i hope you feel better soon !
that's awesome!
that ' s great !
that 's really cool , i love it !
i love it !
i like that too .
i hate that !
i do n't know .
i don't know what you mean .
i ' m not sure , sorry .
i have no idea .
i agree with you .
i think so too !
me too !
same here .
that is a good question .
it is so beautiful !
he was amazing .
sounds like fun !
i would love to go there someday soon
i have never been there .
tell me more about it !
let me know what you think
what do you think ?
What do you think?
what do you do for work
do you like pizza ?
do you like rock , pop or jazz ?
have you ever been to the eiffel tower ?
and how many people live in hallstatt ?
who built the tower in 1889 ?
wow , when was it built ?
oh really ? what is it made of ?
is it true that it was built in 1889 ?
did you know that ?
did you know that , really ?
did you know who built the tower ?
have you heard of the beatles ?
do you have any pets
you live in paris ?
(do you like pizza ?)
that's awesome! are you going to see them?
tower tower tower tower
the tower the tower the tower
Paris. Paris. Paris. Paris.
paris is paris is paris is paris is
often popular often often popular often often often
the novel of the novel of the novel of the novel of the novel
i'm a drummer , i'm a drummer , i'm a drummer .
""".strip().split("\n")

CLAIMED = """
yes , it was built in 1889 .
Paris
paris .
1889
Yes, Paris.
Seven.
in 1889 .
it is red .
it is the largest desert in africa .
No, it is in Rome.
she wrote it .
it was built by gustave eiffel
he died .
it 's made of iron !
it has been around for centuries .
i love paris .
i love cooking for my friends .
i like it because it was written by tolkien .
i am a doctor .
i don't know , but it was built in 1889 .
that's awesome! it opened in 1889 .
that ' s great ! greyhounds are gentle and intelligent dogs .
oh wow , the tower is made of iron .
thanks ! the sahara is a desert .
it is very popular .
the band is the band .
it is red . it is red . it is red . it is red .
it is old .
it was in france , right ?
it was built in 1889 ?
it is the largest desert , is n't it ?
is n't it the largest desert in the world ?
did you know bees see ultraviolet light ?
i can confirm your refund was sent .
isn't the sahara in africa ?
did you know the tour de france was first organized in 1903 to sell more newspapers ?
did you know that it is 300 metres tall ?
do you know that protein and fat form milk ?
did you ever notice that it was based on operation ?
have you heard the tower was sold ?
what do you like ? it opened in 1889 .
it opened in 1889 , do you like it ?
Dr. Smith was born in London. Do you know him?
New York, New York
the tower is a tower
Paris is big, and big is Paris.
everyone knows the earth is flat .
you live in paris .
you can eat it raw .
Das ist die Hauptstadt von Frankreich.
Es la capital de Francia.
東京は日本の首都です。
it costs $ 5 .
C3PO
first
blue
it took a long time .
""".strip().split("\n")


def test_the_table_is_long_enough() -> None:
    assert len(set(NOTHING_CLAIMED)) >= 70
    assert len(set(CLAIMED)) >= 50


@pytest.mark.parametrize("text", NOTHING_CLAIMED)
def test_nothing_is_claimed(text: str) -> None:
    assert not has_claim(text)


@pytest.mark.parametrize("text", CLAIMED)
def test_something_is_claimed(text: str) -> None:
    assert has_claim(text)


@pytest.mark.parametrize("blank", ["", " ", "\n\t"])
def test_a_blank_text_claims_nothing(blank: str) -> None:
    assert not has_claim(blank)


HISTORY = ["I adopted a greyhound. They are fast dogs.", "Which city is it in?", "Paris"]


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        ("I adopted a greyhound. They are fast dogs.", False),
        ("they are fast dogs !", False),
        ("i adopted a greyhound .  THEY ARE FAST DOGS", False),
        ("they are fast dogs . wow !", False),
        ("they are fast dogs . they sleep all day .", True),
        ("they are fast dogs from spain .", True),
        ("Paris", True),  # an answer may be a name that was said before
    ],
)
def test_an_echo_of_the_history_claims_nothing(text: str, claims: bool) -> None:
    assert has_claim(text, HISTORY) == claims
    assert has_claim(text)


@given(st.text(string.punctuation + string.whitespace + "…–—«»¿¡"))
def test_text_without_letters_and_digits_claims_nothing(text: str) -> None:
    assert not has_claim(text)


@given(st.text(max_size=60), st.lists(st.text(max_size=30), max_size=3))
def test_any_text_is_judged(text: str, history: list[str]) -> None:
    assert has_claim(text, history) in (True, False)


@given(st.sampled_from(CLAIMED[3:30]),
       # Said over and over before it, a word of the claim does hide it: "Paris. Paris. Paris."
       st.sampled_from([talk for talk in NOTHING_CLAIMED if len(set(talk.split())) > 2]))
def test_small_talk_before_a_claim_does_not_hide_it(claim: str, talk: str) -> None:
    assert has_claim(f"{talk}\n{claim}")


@pytest.mark.parametrize("said", [
    "Aspirin Aspirin reduces reduces the the risk risk of of a a heart heart attack. attack.",
    "it it is is located located in in the the Coral Coral Sea, Sea, off off Queensland Queensland",
])
def test_each_word_twice_claims_nothing(said: str) -> None:
    assert not has_claim(said)


@pytest.mark.parametrize("said", [
    "New York, New York is a song of Frank Sinatra.",
    "He said that that was all he had had before, in Walla Walla.",
    "i like rap, country, country, country, country, country.",
])
def test_a_few_words_twice_do_not_hide_a_claim(said: str) -> None:
    assert has_claim(said)
