"""Finds and compares values in texts: numbers, percentages and fractions, money, quantities, dates,
times of day. One value has many notations ("3 km", "3,000 metres"; "4 May 2021", "2021-05-04")."""

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
