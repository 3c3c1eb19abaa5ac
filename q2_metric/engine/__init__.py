"""How rows get scored: in blocks, each finished one kept, on this machine or on many.

    identity.py   what makes a score
    cache.py      values by key in a file that processes share
    cached.py     a metric whose scores are looked up there first
    blocks.py     where rows are cut into blocks
    job.py        what is to be scored and how; one block of rows -> its output rows
    manifest.py   what a run is of: files, settings, identities
    parts.py      finished blocks in a folder: a run that was killed goes on after them
    run.py        what "q2 score" does, from files to output
    cluster.py    the missing blocks scored by actors of a Ray cluster

A block is always the same rows, whatever engine scores it: without a cache, which leaves only
what it lacks, batches have the same composition, and scores are the same to the last bit.
"""
