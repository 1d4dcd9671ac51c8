"""What the tables of a case file have in common: strict models, and the types of their keys."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

Size = Annotated[int, Field(ge=0, lt=2**63)] | str
"""A number, or the name of one: an entry of ``[sizes]`` or ``[parameters]``, ``MATRIX.rows``,
``IMAGE.width`` …; or a formula of such, ``"(n + 2) // tile_size_x"``."""

DtypeName = Literal[
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "bfloat16", "float32", "float64", "complex64", "complex128",
]  # fmt: skip


def listed(given: object) -> object:
    """A single extent as a list of one: ``block = 256`` means ``block = [256]``."""
    single = isinstance(given, int | str) and not isinstance(given, bool)
    return [given] if single else given


def within(outer: list[Any], inner: object) -> object:
    """Shape of all values of a struct's member over structs of shape ``outer``; ``inner`` as it is
    where it is no shape."""
    extents = listed(inner)
    return outer + extents if isinstance(extents, list) else inner


Shape = Annotated[list[Size], BeforeValidator(listed), Field(min_length=1)]
Dims = Annotated[list[Size], BeforeValidator(listed), Field(min_length=1, max_length=3)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Seed = Annotated[int, Field(ge=0)]
Int64 = Annotated[int, Field(ge=-(2**63), lt=2**63)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z_]\w*$")]
Parameter = bool | int | Finite | str


class Strict(BaseModel):
    """No coercion, no unknown keys, no change after reading."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class LaunchModel(Strict):
    """Grid or problem size, and block, fastest dimension first."""

    grid: Dims | None = None
    problem: Dims | None = None
    per_block: Dims | None = None
    block: Dims
    shared_bytes: Size = 0

    @model_validator(mode="after")
    def _one_extent(self) -> LaunchModel:
        if (self.grid is None) == (self.problem is None):
            raise ValueError("needs either grid (in blocks) or problem (in threads)")
        if self.grid is not None and self.per_block is not None:
            raise ValueError("per_block goes with problem, not with grid")
        return self
