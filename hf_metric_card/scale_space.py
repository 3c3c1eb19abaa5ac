"""``python hf_metric_card/scale_space.py FOLDER``: the Space of SCALE, out of that of Q².

The two share card, page, requirements and tests; the card's title and the module differ.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

HERE = Path(__file__).parent
SHARED = ("app.py", "requirements.txt", "tests.py")
CHANGES = (
    ("title: Q²\n", "title: SCALE\n"),
    ("description: >-\n  Q² ", "description: >-\n  SCALE, beside Q², "),
    ("# Metric card for Q² and SCALE", "# Metric card for SCALE and Q²"),
)


def build(folder: Path) -> None:
    """Writes the Space of SCALE into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in SHARED:
        shutil.copyfile(HERE / name, folder / name)
    script = (HERE / "q2.py").read_text(encoding="utf-8")
    script = script.replace("Q² (Honovich et al.", "SCALE (Lattimer et al.", 1).replace(
        "EMNLP 2021", "EMNLP 2023").replace("import Q2", "import Scale")
    (folder / "scale.py").write_text(script, encoding="utf-8")
    card = (HERE / "README.md").read_text(encoding="utf-8")
    for old, new in CHANGES:
        if old not in card:
            raise SystemExit(f"README.md has no {old!r}: scale_space.py must follow it")
        card = card.replace(old, new, 1)
    (folder / "README.md").write_text(card, encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    build(Path(sys.argv[1]))
