"""Scores rows in blocks, here or on a cluster, and keeps each finished block.

    identity.py   everything that determines a score
    cache.py      values by key, in a file that processes share
    cached.py     a metric that takes scores from the cache and computes the missing ones
    blocks.py     cuts rows into blocks
    job.py        what to score and how; turns one block of rows into output rows
    manifest.py   what a run consists of: files, settings, identities
    parts.py      finished blocks in a folder, from which an interrupted run resumes
    run.py        what "q2 score" does, from files to output
    cluster.py    actors of a Ray cluster that score the missing blocks

A block always has the same rows, here and on a cluster. Without a cache, batches therefore have
the same composition, and scores are the same to the last bit. With a cache, only the missing
responses of a block are scored.
"""
