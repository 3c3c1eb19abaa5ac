"""Functions on strings, in pure Python and without models: normalisation, overlap, chunks, values
(numbers, amounts, dates, times).
"""
