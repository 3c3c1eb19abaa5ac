"""Results that the papers report for their own models, in [0, 1], by our names of metrics.

Q2 is Honovich et al., EMNLP 2021; SCALE is Lattimer et al., EMNLP 2023; TRUE is Honovich et al.,
NAACL 2022. The figures of tables 2, 5, 6, 10 and 11 of Q2 were copied from summaries of the paper,
not from the paper.
"""

from __future__ import annotations

from collections.abc import Mapping

WOW_ACCURACY: Mapping[str, float] = {"q2": 0.773, "q2_no_nli": 0.731, "nli": 0.653}
"""Accuracy at the threshold 0.5 on the 600 selected responses of WoW (Q2, table 3)."""

WOW_SYSTEM_LEVEL: Mapping[str, float] = {
    "q2": 0.9798,
    "nli": 0.9216,
    "knowledge_f1": 0.878,
    "bertscore": 0.8467,
    "knowledge_bleu": 0.3051,
}
"""Mean Spearman correlation of score and quality of simulated systems (Q2, table 4)."""

WOW_AUC: Mapping[str, float] = {
    "q2": 0.809, "scale": 0.843, "bertscore": 0.664, "knowledge_f1": 0.659,
}
"""ROC-AUC on the 1,088 annotated responses of WoW (TRUE paper; SCALE with Flan-T5-large)."""

WOW_MEANS: Mapping[tuple[str, str], tuple[float, float | None, float | None]] = {
    ("dodeca", "consistent"): (0.696, 0.516, 0.1525),
    ("dodeca", "inconsistent"): (0.238, None, 0.5488),
    ("dodeca", "random"): (0.496, None, None),
    ("memnet", "consistent"): (0.756, 0.661, 0.0994),
    ("memnet", "inconsistent"): (0.135, None, 0.6204),
    ("memnet", "random"): (0.448, None, None),
}
"""Mean scores by Q² and by Q² without NLI, and share of unanswerable questions (Q2, table 2)."""

WOW_RANDOM_KNOWLEDGE: Mapping[str, tuple[float, float]] = {
    "same dialogue": (0.02, 0.9102),
    "other dialogue": (0.0, 0.9961),
}
"""Mean score by Q² and share of unanswerable questions (Q2, table 10)."""

WOW_LENGTH: Mapping[str, tuple[float, float]] = {
    "consistent": (69.49, 15.13),
    "inconsistent": (70.84, 15.79),
    "random": (69.44, 15.86),
}
"""Mean number of characters and tokens in dodecaDialogue's responses (Q2, table 11)."""

_SETS = ("frank", "summeval", "mnbm", "qags_cnndm", "qags_xsum", "begin", "q2", "dialfact",
         "paws", "fever", "vitc")


def _true(*hundredths: float) -> dict[str, float]:
    return {name: value / 100 for name, value in zip(_SETS, hundredths, strict=True)}


TRUE_AUC: Mapping[str, Mapping[str, float]] = {
    "q2": _true(87.8, 78.8, 68.7, 83.5, 70.9, 79.7, 80.9, 86.1, 89.7, 88.4, 81.4),
    "scale": _true(88.0, 79.4, 74.2, 81.0, 81.4, 79.3, 84.3, 91.6, 96.9, 93.9, 89.3),
    "bertscore": _true(80.8, 71.0, 58.0, 75.6, 51.0, 85.2, 66.4, 66.0, 70.8, 55.6, 59.3),
    "knowledge_f1": _true(76.1, 61.4, 46.2, 63.8, 51.1, 86.4, 65.9, 72.3, 51.1, 51.8, 61.4),
}
"""ROC-AUC by metric and data set of TRUE (TRUE paper; SCALE with Flan-T5-large)."""

ECE: Mapping[str, float] = {"scale": 0.108}
"""Mean over the sets of TRUE, with scores mapped linearly to [0, 1] (SCALE with Flan-T5-large)."""

DNLI_ACCURACY: Mapping[str, float] = {"q2": 0.7449, "nli": 0.6742}
"""Accuracy on the gold part of Dialogue NLI's test set (Q2, table 6; threshold 0.1 for Q²)."""

USR_CORRELATION: Mapping[str, tuple[float, float | None]] = {
    "q2": (0.4579, 0.4698),
    "q2_no_nli": (0.3933, None),
    "USR": (0.4468, 0.3175),
    "METEOR": (0.3909, 0.3328),
}
"""Spearman and Pearson correlation with people's rating "Uses Knowledge" (Q2, table 5)."""

EVIDENCE_RECALL: Mapping[str, float] = {"scale": 0.471}
"""Recall at 1 of a supporting utterance on ScreenEval (SCALE with Flan-T5-XL)."""
