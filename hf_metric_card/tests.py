"""Cases for the module beside this file, with the scores of the bundled preset.

Any sound model should agree with them: equal answers, no answer, a changed year.
"""

from pathlib import Path

KNOWLEDGE = "The tower in Paris was opened in 1889. It is made of iron."
Q2_CASES = [
    {"predictions": ["it was opened in 1889 ."], "references": [KNOWLEDGE],
     "result": {"q2": 1.0, "q2_no_nli": 1.0, "coverage": 1.0, "no_answer_rate": 0.0}},
    {"predictions": ["it was opened in 1901 ."], "references": [KNOWLEDGE],
     "result": {"q2": 0.0, "q2_no_nli": 0.0, "coverage": 1.0, "no_answer_rate": 0.0}},
]
SCALE_CASES = [
    {"predictions": [KNOWLEDGE], "references": [KNOWLEDGE], "result": {"scale": 1.0}},
    {"predictions": ["The tower in Paris was opened in 1901."], "references": [KNOWLEDGE],
     "result": {"scale": 0.0}},
]
TOLERANCE = {"q2": 0.01, "scale": 0.2}

is_scale = Path(__file__).with_name("scale.py").exists()
test_cases = SCALE_CASES if is_scale else Q2_CASES
