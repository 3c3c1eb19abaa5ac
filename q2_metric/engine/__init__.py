"""Scores rows in blocks, here or on a cluster; each finished block is kept.

    identity.py   what makes a score
    cache.py      values by key in a file that processes share
    cached.py     a metric whose scores are looked up there first
    blocks.py     where rows are cut into blocks
    job.py        what is to be scored and how; one block of rows -> its output rows
    manifest.py   what a run consists of: files, settings, identities
    parts.py      finished blocks in a folder, from which an interrupted run resumes
    run.py        what "q2 score" does, from files to output
    cluster.py    the missing blocks scored by actors of a Ray cluster

A block always has the same rows, here and on a cluster. Without a cache, batches therefore have
the same composition, and scores are the same to the last bit. With a cache, only the missing
responses of a block are scored.
"""
