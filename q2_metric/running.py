"""How models run, as one value; what they compute does not depend on it (but for ``dtype``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from q2_metric.checks import check_fields
from q2_metric.errors import InputError


@dataclass(frozen=True, slots=True)
class Running:
    """Where and how the models of a metric run.

    Attributes:
        device: "auto", "cpu", "cuda", "cuda:1", "mps".
        dtype: "float32", "bfloat16", "float16"; for the bundled models on a CPU also "int8", and
            "auto" for what is faster of float32 and int8 on this machine
            (on the command line float32 where a stage has another model).
        batch_size: rows of a model call; ``None`` for as many as fit into memory (on a
            CPU, as are fast).
        attn_implementation: of transformers models: "sdpa", "flash_attention_2", …
        compile: compile transformers models with ``torch.compile``.

    Raises:
        InputError: a value of another type, or a batch of no row.
    """

    device: str = "auto"
    dtype: str = "float32"
    batch_size: int | None = None
    attn_implementation: str | None = None
    compile: bool = False

    def __post_init__(self) -> None:
        check_fields(self)
        if self.batch_size is not None and self.batch_size < 1:
            raise InputError(f"batch_size must be at least 1, not {self.batch_size}")

    @classmethod
    def of(cls, keywords: Mapping[str, Any]) -> Running:
        """The running among keywords; ``None`` there, and what is missing, is the default."""
        given = {name: keywords.get(name) for name in RUNNING}
        return cls(**{name: value for name, value in given.items() if value is not None})

    def keywords(self) -> dict[str, Any]:
        """The fields by name."""
        return {name: getattr(self, name) for name in RUNNING}


RUNNING = tuple(field.name for field in fields(Running))
"""Names of its fields."""
