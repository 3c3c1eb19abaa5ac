"""Finds and compares values in texts: numbers, percentages and fractions, money, quantities, dates,
times of day.

One value has many notations ("25", "twenty-five"; "3 km", "3,000 metres"; "4 May 2021",
"2021-05-04"). :func:`values_in` finds the values of a text. :func:`compare_values` says whether two
values agree. :func:`compare_answers` compares two answers to one question.
:func:`has_wrong_value` says whether a passage contradicts a claim's value, and :func:`follows`
whether a sentence confirms a claim.
"""

from q2_metric.english.values.compare import (
    compare_answers,
    compare_values,
    has_wrong_value,
    in_notation_of,
    stated,
)
from q2_metric.english.values.find import values_in, without_values
from q2_metric.english.values.follows import follows
from q2_metric.english.values.value import Value

__all__ = ["Value", "compare_answers", "compare_values", "follows", "has_wrong_value",
           "in_notation_of", "stated", "values_in", "without_values"]
