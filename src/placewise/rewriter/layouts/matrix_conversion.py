"""Host code that stores matrices in another order and back, in C++ and in NumPy."""

from __future__ import annotations

from placewise.kernel.matrix_arrays import StoredMatrix
from placewise.rewriter.layouts.rewrite_matrices import Reordered

_CPP = """\
#include <cstddef>

// Element (row, column) of `rows_first` is rows_first[row * columns + column]. The other array
// holds lines of `stride` elements: a line for each column, or for each row.
template <typename T>
void store_columns(const T *rows_first, T *lines, size_t rows, size_t columns, size_t stride) {
    for (size_t row = 0; row < rows; row++)
        for (size_t column = 0; column < columns; column++)
            lines[column * stride + row] = rows_first[row * columns + column];
}
template <typename T>
void restore_columns(const T *lines, T *rows_first, size_t rows, size_t columns, size_t stride) {
    for (size_t row = 0; row < rows; row++)
        for (size_t column = 0; column < columns; column++)
            rows_first[row * columns + column] = lines[column * stride + row];
}
template <typename T>
void store_rows(const T *rows_first, T *lines, size_t rows, size_t columns, size_t stride) {
    for (size_t row = 0; row < rows; row++)
        for (size_t column = 0; column < columns; column++)
            lines[row * stride + column] = rows_first[row * columns + column];
}
template <typename T>
void restore_rows(const T *lines, T *rows_first, size_t rows, size_t columns, size_t stride) {
    for (size_t row = 0; row < rows; row++)
        for (size_t column = 0; column < columns; column++)
            rows_first[row * columns + column] = lines[row * stride + column];
}
"""
_NUMPY = '''\
import numpy as np


def store_columns(array, rows, columns, stride):
    """The matrix column by column, `stride` elements from one column to the next."""
    lines = np.zeros((columns, stride), array.dtype)
    lines[:, :rows] = array.reshape(rows, columns).T
    return lines


def restore_columns(lines, rows, columns, stride):
    """The matrix of shape (rows, columns) that store_columns() stored."""
    return np.ascontiguousarray(lines.reshape(columns, stride)[:, :rows].T)


def store_rows(array, rows, columns, stride):
    """The matrix row by row, `stride` elements from one row to the next."""
    lines = np.zeros((rows, stride), array.dtype)
    lines[:, :columns] = array.reshape(rows, columns)
    return lines


def restore_rows(lines, rows, columns, stride):
    """The matrix of shape (rows, columns) that store_rows() stored."""
    return np.ascontiguousarray(lines.reshape(rows, stride)[:, :columns])
'''


def cpp_matrix_conversion(reordered: Reordered) -> str:
    """C++ functions that convert to the stored order and back, with the calls for this case's
    arrays."""
    calls = [
        f"// store_{_line(one)}s({one.matrix.name}, {one.matrix.name}_lines, {_sizes(one)});"
        for one in reordered.stored
    ]
    return _CPP + "\n".join(["// For the launch that was looked at:", *calls]) + "\n"


def numpy_matrix_conversion(reordered: Reordered) -> str:
    """Python functions that convert to the stored order and back, with the calls for this case's
    arrays."""
    calls = [
        f"# {one.matrix.name} = store_{_line(one)}s({one.matrix.name}, {_sizes(one)})"
        for one in reordered.stored
    ]
    return _NUMPY + "\n\n" + "\n".join(["# For the launch that was looked at:", *calls]) + "\n"


def _line(one: StoredMatrix) -> str:
    return "column" if one.is_transposed else "row"


def _sizes(one: StoredMatrix) -> str:
    return f"{one.matrix.rows}, {one.matrix.columns}, {one.order.pitch}"
