"""Scores the rows of files in blocks, in this process or on a Ray cluster.

    run.py         what "q2 score" does, from files to output
    job.py         the files, metrics and settings of a run; scores a block of rows
    blocks.py      cuts rows into blocks, and blocks into slices: always the same for the same file,
                   so that all engines give the models the same batches and get equal scores
    identity.py    what determines a score: models, code, settings
    cache.py       JSON values by key, in a file that several processes can share
    cached.py      a metric that computes only scores that are not in the cache
    manifest.py    the record of a run as JSON
    unfinished.py  finished blocks on disk, from which an interrupted run resumes
    cluster.py     the connection to a Ray cluster, and the actors that score there
    result.py      the result of each file, and the mean scores of groups of rows
"""
