"""Which definition of "supported" (reading) the annotation guideline of each labelled set has.

With "consistent", chat and opinion do not count. With "attributable" (AIS, BEGIN, FaithDial), the
knowledge must contain every statement, and a response without a claim is not supported.
"""

from __future__ import annotations

from collections.abc import Mapping

from q2_metric.metrics.settings import Reading

USUAL: Reading = "consistent"
ATTRIBUTABLE = frozenset(["ais_wow", "begin", "faithdial"])
"""The data sets with the reading "attributable"."""


def reading_of(name: str) -> Reading:
    """The reading of the data set with this name.

    >>> reading_of("ais_wow"), reading_of("frank")
    ('attributable', 'consistent')
    """
    return "attributable" if name in ATTRIBUTABLE else USUAL


def told(readings: Mapping[str, Reading]) -> str:
    """The sentence below a table that says which reading each data set has.

    >>> told({"ais_wow": "attributable", "frank": "consistent"})
    'Definition of supported: "attributable" for ais_wow; "consistent" for frank.'
    """
    by_reading: dict[Reading, list[str]] = {}
    for name, reading in sorted(readings.items(), key=lambda item: item[1]):
        by_reading.setdefault(reading, []).append(name)
    return "Definition of supported: " + "; ".join(
        f'"{reading}" for {", ".join(sets)}' for reading, sets in by_reading.items()) + "."
