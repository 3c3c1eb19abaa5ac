"""Finds and compares values in texts: numbers, percentages and fractions, money, quantities, dates,
times of day.

One value has many notations ("25", "twenty-five"; "3 km", "3,000 metres"; "4 May 2021",
"2021-05-04"). :func:`values_in` finds the values of a text. :func:`compare_values` says whether two
values agree. :func:`compare_answers` compares two answers to one question.
:func:`has_wrong_value` compares a claim with a passage. :func:`follows`, :func:`by_row`,
:func:`ranks`, :func:`of_another`, :func:`respectively`, :func:`mispaired`, :func:`changed`,
:func:`share_of` and :func:`worked_out` each decide by a rule about values whether the knowledge
supports a claim. A value that is a share of a known amount is not a wrong value
(:func:`may_follow`).
"""

from q2_metric.text.values.arithmetic import (
    changed,
    combines,
    may_follow,
    share_of,
    worked_out,
)
from q2_metric.text.values.compare import (
    compare_answers,
    compare_values,
    has_wrong_value,
    in_notation_of,
    may_be_meant,
    stated,
)
from q2_metric.text.values.comparisons import REFERRING
from q2_metric.text.values.find import values_in, without_values
from q2_metric.text.values.follows import by_row, follows, ranks
from q2_metric.text.values.owner import mispaired, of_another, respectively
from q2_metric.text.values.value import Value

__all__ = ["REFERRING", "Value", "by_row", "changed", "combines", "compare_answers",
           "compare_values", "follows", "has_wrong_value", "in_notation_of", "may_be_meant",
           "may_follow", "mispaired", "of_another", "ranks", "respectively", "share_of", "stated",
           "values_in", "without_values", "worked_out"]
