"""Arrays that a kernel's source indexes as matrices: enough to store them in another order."""

from __future__ import annotations

from dataclasses import dataclass

from placewise.kernel.source import AccessPlace, Parameter, Split
from placewise.space.array_order import ArrayOrder


@dataclass(frozen=True)
class MatrixArray:
    """A flat array of which every access is ``a[row * columns + column]``.

    An array of three dimensions is a matrix in two ways: ``a[(z * ny + y) * nx + x]`` has rows
    ``z * ny + y`` of ``nx`` columns, or rows ``z`` of ``ny * nx``.
    """

    parameter: Parameter
    rows: int
    columns: int
    columns_text: str
    """Number of columns, as an expression of the source."""
    accesses: tuple[AccessPlace, ...]
    splits: tuple[Split, ...]
    """Row and column of each access, as terms of the source."""
    bound_to: tuple[str, ...]
    """Arguments and dimensions of the launch whose values are needed to know that a column stays
    within its row; empty where the source's own conditions and loops say so."""
    wide: bool
    """The source computes an index of the array with 64 bits."""

    @property
    def name(self) -> str:
        """Name of the kernel's parameter."""
        return self.parameter.name


@dataclass(frozen=True)
class StoredMatrix:
    """A matrix and the order that it is stored in."""

    matrix: MatrixArray
    order: ArrayOrder

    @property
    def extents(self) -> tuple[int, int]:
        """(rows, columns) of the matrix as the kernel sees it."""
        return self.matrix.rows, self.matrix.columns

    @property
    def is_transposed(self) -> bool:
        """Whether its columns, not its rows, are the stored lines."""
        return self.order.order == (1, 0)

    @property
    def kind(self) -> str:
        """``transposed``, or ``padded`` where only the lines are longer."""
        return "transposed" if self.is_transposed else "padded"

    def describe(self) -> str:
        """``a transposed (1000 × 48, lines of 1024)``."""
        size = f"{self.matrix.rows} × {self.matrix.columns}"
        return f"{self.matrix.name} {self.kind} ({size}, lines of {self.order.pitch})"
