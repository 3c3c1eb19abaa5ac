"""Knowledge selection: finds the snippet that grounds a response (Bae et al., DSTC9 track 1, 2021).
A :class:`~q2_metric.knowledge.types.Ranker` orders the snippets, Entity Guided Reranking may move
one, and :mod:`~q2_metric.knowledge.respond` writes a response from the first."""
