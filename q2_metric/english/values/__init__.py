"""Finds and compares values in texts: numbers, percentages and fractions, money, quantities, dates,
times of day. One value has many notations ("3 km", "3,000 metres"; "4 May 2021", "2021-05-04")."""
