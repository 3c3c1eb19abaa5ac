"""Scores the rows of files in blocks, in this process or on a Ray cluster.

Each finished block is written to disk, so that an interrupted run can resume.

    identity.py   computes an identity: everything that determines a score (models, code, settings)
    cache.py      stores JSON values by key, in a file that several processes can share
    cached.py     a metric that takes scores from the cache and computes the missing scores
    blocks.py     cuts rows into blocks, and blocks into slices
    job.py        the files, metrics and settings of a run; turns a block of rows into output rows
    manifest.py   records the files, settings and identities of a run as JSON
    unfinished.py keeps finished blocks in a file until the output is complete
    run.py        what "q2 score" does, from files to output
    connection.py connects to a Ray cluster
    cluster.py    scores blocks with actors of the Ray cluster
    groups.py     mean scores of the rows that share a value of a column
    result.py     the result of each file, as the table and --json show it

The same file is always cut into the same blocks and slices, in this process and on a cluster.
Without a cache, the models therefore get the same batches, and scores are equal to the last bit.
With a cache, only those responses of a slice are scored whose scores are not in the cache.
"""
