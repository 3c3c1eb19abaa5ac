"""Says which definition of "supported" the annotation guideline of each labelled data set has.

We call such a definition a reading. There are two. With "consistent", chat and opinion do not
count. With "attributable" (AIS, BEGIN, FaithDial), the knowledge must contain every statement, and
a response without a claim is not supported.
"""

from __future__ import annotations

from collections.abc import Mapping

from q2_metric.metrics.scale_settings import Reading

USUAL: Reading = "consistent"
ATTRIBUTABLE = frozenset(["ais_wow", "begin", "faithdial"])
"""The data sets whose guideline requires that the knowledge contains every statement. The reading
of all other sets is "consistent"."""


def reading_of(name: str) -> Reading:
    """What "supported" means in the annotation guideline of the data set with this name.

    The result is "attributable" if the knowledge must contain every statement, and "consistent" if
    chat and opinion do not count.

    >>> reading_of("ais_wow"), reading_of("frank")
    ('attributable', 'consistent')
    """
    return "attributable" if name in ATTRIBUTABLE else USUAL


def told(readings: Mapping[str, Reading]) -> str:
    """The sentence to print below a table. It says which reading (definition of "supported") each
    data set has.

    >>> told({"ais_wow": "attributable", "frank": "consistent"})
    'Definition of supported: "attributable" for ais_wow; "consistent" for frank.'
    """
    by_reading: dict[Reading, list[str]] = {}
    for name, reading in sorted(readings.items(), key=lambda item: item[1]):
        by_reading.setdefault(reading, []).append(name)
    return "Definition of supported: " + "; ".join(
        f'"{reading}" for {", ".join(sets)}' for reading, sets in by_reading.items()) + "."
