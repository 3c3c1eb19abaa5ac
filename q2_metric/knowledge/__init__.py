"""Knowledge selection: finds the snippet that grounds a response (Bae et al., DSTC9 track 1, 2021).

First, a :class:`~q2_metric.knowledge.types.Ranker` (RSS, BM25 or the bundled ranker) orders the
snippets for a dialogue. Then Entity Guided Reranking (EGR, :mod:`~q2_metric.knowledge.egr`) moves a
snippet about the entity mentioned last to the front. If there are several rankers, they vote
(:mod:`~q2_metric.knowledge.ensemble`). :mod:`~q2_metric.knowledge.respond` writes a response from
the chosen snippet.
"""
