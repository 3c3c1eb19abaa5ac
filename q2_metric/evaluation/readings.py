"""The reading under which a labelled set is scored, as given by its annotation guideline.

A reading says how statements without a checkable claim count. Under "consistent", chat and opinion
do not count. Under "attributable" (AIS, BEGIN, FaithDial), the knowledge must contain every
statement, and a response that claims nothing is not supported.
"""

from __future__ import annotations

from collections.abc import Mapping

from q2_metric.metrics.scale_settings import Reading

USUAL: Reading = "consistent"
ATTRIBUTABLE = frozenset(["ais_wow", "begin", "faithdial"])
"""Sets whose guideline asks for a source of every statement; all others are "consistent"."""


def reading_of(name: str) -> Reading:
    """The reading of a set, by its name.

    >>> reading_of("ais_wow"), reading_of("frank")
    ('attributable', 'consistent')
    """
    return "attributable" if name in ATTRIBUTABLE else USUAL


def told(readings: Mapping[str, Reading]) -> str:
    """The sentence below a table that says, for each data set, what counts as supported.

    >>> told({"ais_wow": "attributable", "frank": "consistent"})
    'Definition of supported: "attributable" for ais_wow; "consistent" for frank.'
    """
    by_reading: dict[Reading, list[str]] = {}
    for name, reading in sorted(readings.items(), key=lambda item: item[1]):
        by_reading.setdefault(reading, []).append(name)
    return "Definition of supported: " + "; ".join(
        f'"{reading}" for {", ".join(sets)}' for reading, sets in by_reading.items()) + "."
