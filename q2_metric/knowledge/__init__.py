"""Knowledge selection (Bae et al., DSTC9 track 1, 2021): which snippet grounds a response.

A dialogue passes through a :class:`~q2_metric.knowledge.types.Ranker` (RSS, BM25, the bundled
ranker), then Entity Guided Reranking (:mod:`~q2_metric.knowledge.egr`), and with several rankers a
vote (:mod:`~q2_metric.knowledge.ensemble`). :mod:`~q2_metric.knowledge.respond` answers from the
chosen snippet.
"""
