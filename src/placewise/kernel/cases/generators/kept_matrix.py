"""Generated matrices kept on disk: assembling one takes longer than the advice on its kernel."""

from __future__ import annotations

import inspect
import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from placewise.disk_cache import DiskCache, key_of

if TYPE_CHECKING:
    from scipy.sparse import csr_array

MATRICES = DiskCache("matrices", files=16)


@dataclass(frozen=True, eq=False)
class Rows:
    """A sparse matrix in CSR form, without SciPy's sparse matrices, which take long to import."""

    shape: tuple[int, int]
    indptr: NDArray[np.integer]
    """(rows + 1,) where the entries of each row begin, and where those of the last end."""
    indices: NDArray[np.integer]
    """(nnz,) columns."""
    data: NDArray[np.float64]
    """(nnz,) values."""

    @property
    def nnz(self) -> int:
        """Number of entries."""
        return len(self.indices)


def rows_of(matrix: csr_array) -> Rows:
    """The arrays of one of SciPy's matrices."""
    rows, columns = matrix.shape
    return Rows((rows, columns), matrix.indptr, matrix.indices, matrix.data)


def kept_matrix(make: Callable[..., csr_array], *settings: object) -> Rows:
    """``make(*settings)``, from disk where an earlier run made it.

    ``make`` must depend on its settings and on its own module alone: a change of either makes the
    matrix anew. Settings need a repr that tells them apart.
    """
    module = inspect.getmodule(make)
    assert module is not None, f"{make} has no module"
    key = key_of(inspect.getsource(module), make.__name__, repr(settings))
    stored = MATRICES.read(key)
    if stored is not None:
        kept = np.load(io.BytesIO(stored))
        rows, columns = kept["shape"].tolist()
        return Rows((rows, columns), kept["indptr"], kept["indices"], kept["data"])
    matrix = rows_of(make(*settings))
    written = io.BytesIO()
    np.savez(
        written,
        shape=np.array(matrix.shape),
        indptr=matrix.indptr,
        indices=matrix.indices,
        data=matrix.data,
    )
    MATRICES.write(key, written.getvalue())
    return matrix
