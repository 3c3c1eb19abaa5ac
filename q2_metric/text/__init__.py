"""Works on strings in pure Python, without models: normalisation, overlap, chunks and tree search.
"""
