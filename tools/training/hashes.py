"""``python -m tools.training.hashes [FOLDER]``: writes the SHA-256 of the files with the weights.

Exports do this by themselves. Run this command only after a file was changed in another way.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

from q2_metric.models.bundled.stored import HASHES, WEIGHTS

HASHED = (".json", ".onnx", ".safetensors")


def write(folder: Path) -> None:
    """Writes a JSON file with the SHA-256 of each model file in the folder."""
    found = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.iterdir()) if path.suffix in HASHED and path.name != HASHES
    }
    (folder / HASHES).write_text(json.dumps({"sha256": found}, indent=1) + "\n", encoding="utf-8")


def renew(folder: Path) -> None:
    """Writes the file of hashes again, if the folder already contains one."""
    if (folder / HASHES).exists():
        write(folder)


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else WEIGHTS)
