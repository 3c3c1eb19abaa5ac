"""``python hf_metric_card/space.py NAME FOLDER [WHEEL]``: makes the Space of a metric (q2, scale or
groundedness), which can be pushed.

The Spaces share the card, the page and the tests; only the card's title and the module differ. A
wheel of this package (``pip wheel --no-deps .``) is put beside the page and installed from there.
This is needed until the package is published.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

HERE = Path(__file__).parent
SCRIPTS = HERE.parent / "q2_metric" / "integrations" / "evaluate" / "scripts"
SHARED = ("app.py", "requirements.txt", "tests.py", "README.md")
TITLES = {"q2": "Q²", "scale": "SCALE", "groundedness": "Groundedness"}


def build(name: str, folder: Path, wheel: Path | None = None) -> None:
    """Writes the Space of a metric into ``folder``. ``name`` is a key of :data:`TITLES`."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in SHARED:
        shutil.copyfile(HERE / file, folder / file)
    shutil.copyfile(SCRIPTS / name / f"{name}.py", folder / f"{name}.py")
    card = (HERE / "README.md").read_text(encoding="utf-8")
    for line in ("title: {}\n", "description: >-\n  {} "):
        old, new = line.format(TITLES["q2"]), line.format(TITLES[name])
        if old not in card:
            raise SystemExit(f"README.md does not contain {old!r}: adapt space.py to the page")
        card = card.replace(old, new, 1)
    (folder / "README.md").write_text(card, encoding="utf-8")
    if wheel is not None:
        shutil.copyfile(wheel, folder / wheel.name)
        needed = (folder / "requirements.txt").read_text(encoding="utf-8")
        (folder / "requirements.txt").write_text(
            needed.replace("q2-metric[", f"./{wheel.name}["), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4) or sys.argv[1] not in TITLES:
        raise SystemExit(__doc__)
    build(sys.argv[1], *map(Path, sys.argv[2:]))
