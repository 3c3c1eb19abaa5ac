"""Pure Python on strings: normalisation, overlap, chunks and tree search. No model."""
