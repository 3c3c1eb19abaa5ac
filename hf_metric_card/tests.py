"""Cases for the module beside this file, with the scores of the bundled preset.

Any sound model should agree with them: equal answers, no answer, a changed year.
"""

from pathlib import Path

KNOWLEDGE = "The tower in Paris was opened in 1889. It is made of iron."
Q2_CASES = [
    {"predictions": ["it was opened in 1889 ."], "references": [KNOWLEDGE],
     "result": {"q2": 0.99, "q2_no_nli": 1.0, "coverage": 1.0, "no_answer_rate": 0.0}},
    {"predictions": ["it was opened in 1901 ."], "references": [KNOWLEDGE],
     "result": {"q2": 0.0, "q2_no_nli": 0.0, "coverage": 1.0, "no_answer_rate": 0.0}},
]
RIGHT_AND_WRONG = ((KNOWLEDGE, 1.0), ("The tower in Paris was opened in 1901.", 0.0))
TOLERANCE = {"q2": 0.01, "scale": 0.2, "groundedness": 0.2}

name = next(name for name in TOLERANCE if Path(__file__).with_name(f"{name}.py").exists())
test_cases = Q2_CASES if name == "q2" else [
    {"predictions": [said], "references": [KNOWLEDGE], "result": {name: score}}
    for said, score in RIGHT_AND_WRONG
]
