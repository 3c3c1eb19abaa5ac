"""How rows get scored: in blocks, each finished one kept, on this machine or on many.

    job.py        what is to be scored and how; one block of rows -> its output rows
    manifest.py   what a run is of: files, settings, signatures
    parts.py      finished blocks in a folder: a run that was killed goes on after them
    run.py        the loop over the blocks of a file
    score.py      all of it together: what "q2 score" does
    on_ray.py     the missing blocks scored by actors of a Ray cluster
    results.py    what became of a file

A block is always the same rows, whatever engine scores it: batches have the same
composition, so that scores are the same to the last bit.
"""
