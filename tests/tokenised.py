"""Texts as dialogue systems tokenise them, and any others."""

from __future__ import annotations

from hypothesis import strategies as st

from q2_metric.text.normalise import words

PIECES = words("""
    i it don they ' s t m re - , . ! ? u k 1 2 000 % $ " ( ) the co op 1980 ß İ bob
""")
TEXTS = st.one_of(
    st.text(max_size=80),
    st.lists(st.sampled_from([*sorted(PIECES), "\n"]), max_size=25).map(" ".join),
)
