"""Candidate orders of a kernel's matrices, to be written out and timed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from placewise.kernel.matrix_arrays import MatrixArray, StoredMatrix
from placewise.memory.fields import FieldAccesses
from placewise.memory.fields.matrix_cost import matrix_sectors
from placewise.memory.fields.record import SECTOR
from placewise.space.array_order import ArrayOrder, row_major, transposed

LEAST_SAVING = 0.9
"""An order is tried if with it the array's accesses move at most this share of the present
sectors."""
MOST_ALONE = 4
"""Most matrices that are tried one by one, those that save most first."""
_LEAST_PADDED = 512
"""Rows of at least this many bytes are padded; the padding is then at most a quarter of the row."""
_LINE = 128
"""Rows or columns begin at multiples of this many bytes: a line of the L1 cache."""


@dataclass(frozen=True)
class MatrixUse:
    """What the traced accesses to a matrix move as it is, and in the order that moves least."""

    matrix: MatrixArray
    requests: int
    sectors: int
    best: StoredMatrix | None
    """None where no other order moves fewer sectors."""
    best_sectors: int


def matrix_uses(matrices: Sequence[MatrixArray], accesses: FieldAccesses) -> tuple[MatrixUse, ...]:
    """The best order of each array. If an array can be seen as a matrix in several ways, it is the
    one whose accesses move the fewest sectors."""
    found: dict[str, MatrixUse] = {}
    for matrix in matrices:
        if matrix.name not in accesses.arrays:
            continue
        use = _use(matrix, accesses)
        before = found.get(matrix.name)
        if before is None or use.best_sectors < before.best_sectors:
            found[matrix.name] = use
    return tuple(found.values())


def order_candidates(uses: Sequence[MatrixUse]) -> list[tuple[StoredMatrix, ...]]:
    """Sets of matrices to store in another order: first all that save sectors together, then one by
    one."""
    saving = sorted(
        (u for u in uses if u.best is not None and u.best_sectors <= LEAST_SAVING * u.sectors),
        key=lambda u: u.best_sectors - u.sectors,
    )
    best = [u.best for u in saving if u.best is not None]
    together = [tuple(best)] if len(best) > 1 else []
    return [*together, *((one,) for one in best[:MOST_ALONE])]


def transposed_matrix(matrix: MatrixArray) -> StoredMatrix:
    """The matrix column by column, each column at a multiple of 128 bytes."""
    extents = (matrix.rows, matrix.columns)
    return StoredMatrix(matrix, transposed(extents, _padded(matrix.rows, matrix)))


def padded_matrix(matrix: MatrixArray) -> StoredMatrix:
    """The matrix row by row, each row at a multiple of 128 bytes."""
    extents = (matrix.rows, matrix.columns)
    return StoredMatrix(matrix, row_major(extents, _padded(matrix.columns, matrix)))


def _padded(length: int, matrix: MatrixArray) -> int:
    """Elements from one stored row or column of ``length`` elements to the next, padding
    included."""
    elements = max(1, _LINE // matrix.parameter.element_bytes)
    return -(-length // elements) * elements


def _use(matrix: MatrixArray, accesses: FieldAccesses) -> MatrixUse:
    array = accesses.arrays.index(matrix.name)
    extents = (matrix.rows, matrix.columns)

    def sectors(order: ArrayOrder) -> int:
        return matrix_sectors(accesses, array, extents, order, matrix.parameter.element_bytes)

    present = sectors(row_major(extents))
    options = [transposed_matrix(matrix)]
    row_bytes = matrix.columns * matrix.parameter.element_bytes
    if row_bytes % SECTOR and row_bytes >= _LEAST_PADDED:
        options.append(padded_matrix(matrix))
    moved = {id(o): sectors(o.order) for o in options}
    best = min(options, key=lambda o: moved[id(o)])
    least = moved[id(best)]
    requests = int((accesses.array == array).sum())
    is_better = least < present
    return MatrixUse(matrix, requests, present, best if is_better else None, min(least, present))
