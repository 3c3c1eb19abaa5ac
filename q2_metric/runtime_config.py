"""How models run. Only the number format (``dtype``) and ``any_language`` change scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from q2_metric.checks import check_fields
from q2_metric.errors import InputError


@dataclass(frozen=True, slots=True)
class RuntimeConfig:
    """Where and how the models of a metric run.

    Attributes:
        device: where the models run: "auto", "cpu", "cuda", "cuda:1" or "mps".
        dtype: number format of the models: "float32", "bfloat16" or "float16". Bundled models on a
            CPU also run in "int8"; "auto" means "int8" for them, and "float32" for others.
        batch_size: rows in one model call; ``None`` takes as many as fit into memory (on a CPU, as
            many as are fast).
        any_language: also scores texts that are not English, which the bundled models do not know.

    Raises:
        InputError: a value has the wrong type, or the batch size is below 1.
    """

    device: str = "auto"
    dtype: str = "auto"
    batch_size: int | None = None
    any_language: bool = False

    def __post_init__(self) -> None:
        check_fields(self)
        if self.batch_size is not None and self.batch_size < 1:
            raise InputError(f"batch_size must be at least 1, not {self.batch_size}")

    @classmethod
    def of(cls, keywords: Mapping[str, Any]) -> RuntimeConfig:
        """The settings among some keyword arguments; a missing field, or ``None``, gets its
        default."""
        given = {name: keywords.get(name) for name in RUNTIME_FIELDS}
        return cls(**{name: value for name, value in given.items() if value is not None})


RUNTIME_FIELDS = tuple(field.name for field in fields(RuntimeConfig))
