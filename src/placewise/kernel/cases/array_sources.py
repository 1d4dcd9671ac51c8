"""Where a case file's arrays come from: files, sparse matrices, images and seeded generators."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from placewise.errors import CaseError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

MAX_BYTES = 2**34
"""Largest array of a case. The executor takes up to 64 GiB, but a size beyond what a GPU's memory
mostly holds is more likely a slip."""

_PIECE = 1 << 15
"""Values drawn at a time."""
BFLOAT16 = "bfloat16"
"""Name of the type in case files."""

_UNREADABLE = (
    OSError,
    EOFError,
    ValueError,
    OverflowError,
    MemoryError,
    KeyError,
    zipfile.BadZipFile,
    zlib.error,
)
"""What NumPy's and SciPy's readers raise on truncated, foreign or lying files."""


def load_array(path: Path, member: str | None) -> NDArray[np.generic]:
    """Array of an ``.npy`` file or of one member of an ``.npz``; pickled objects are refused.

    Raises CaseError located at the file.
    """
    require_file(path)
    try:
        loaded = np.load(path, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            if member is not None:
                raise CaseError("holds one array and has no members", where=str(path))
            return np.ascontiguousarray(loaded)
        with loaded:
            return np.ascontiguousarray(loaded[_member(path, loaded.files, member)])
    except _UNREADABLE as error:
        raise CaseError(
            f"not a readable NumPy file: {_one_line(error)}",
            where=str(path),
            hint="write it with np.save or np.savez, without object arrays",
        ) from error


def _member(path: Path, members: list[str], member: str | None) -> str:
    if member is None and len(members) == 1:
        return members[0]
    if member is None or member not in members:
        what = "member is missing" if member is None else f"has no member '{member}'"
        raise CaseError(what, where=str(path), hint=f"its members: {', '.join(members)}")
    return member


def load_matrix(path: Path) -> csr_array:
    """Sparse matrix of a Matrix Market file (``.mtx``, ``.mtx.gz``) with sorted column indices.

    Symmetric files are expanded, duplicate entries summed, patterns become ones. Raises CaseError
    located at the file.
    """
    # Here, as few cases need them and every command would take longer to start.
    from scipy.io import mmread
    from scipy.sparse import coo_array, coo_matrix, csr_array

    require_file(path)
    try:
        matrix = mmread(path)
    except _UNREADABLE as error:
        raise CaseError(
            f"not a readable Matrix Market file: {_one_line(error)}", where=str(path)
        ) from error
    if not isinstance(matrix, coo_array | coo_matrix):
        raise CaseError("holds a dense matrix, not coordinates", where=str(path))
    compressed = csr_array(matrix)
    compressed.sum_duplicates()
    if compressed.nnz == 0:
        raise CaseError("the matrix has no entries", where=str(path))
    return compressed


def load_image(path: Path) -> NDArray[np.uint8]:
    """(height, width) grey levels 0 to 255; raises CaseError located at the file."""
    from PIL import Image, UnidentifiedImageError

    require_file(path)
    try:
        with Image.open(path) as image:
            return np.asarray(image.convert("L"))
    except (
        OSError,
        ValueError,
        SyntaxError,
        UnidentifiedImageError,
        Image.DecompressionBombError,
    ) as error:
        raise CaseError(f"not a readable image: {_one_line(error)}", where=str(path)) from error


def require_file(path: Path) -> None:
    """Raises CaseError unless ``path`` is a file."""
    if not path.is_file():
        what = "is a folder, not a file" if path.is_dir() else "no such file"
        raise CaseError(what, where=str(path))


def check_size(shape: tuple[int, ...], dtype: DTypeLike, where: str) -> None:
    """Raises CaseError for an array that is empty or larger than the executor's memory."""
    count = 1
    for extent in shape:
        count *= extent
    if count < 1:
        raise CaseError(f"shape {shape} holds no elements", where=where)
    if count * np.dtype(dtype).itemsize > MAX_BYTES:
        raise CaseError(f"shape {shape} takes more than {MAX_BYTES >> 30} GiB", where=where)


def stored_type(dtype: DTypeLike) -> np.dtype[Any]:
    """The type that holds ``dtype``: NumPy has no bfloat16, its bits are kept as uint16."""
    return np.dtype(np.uint16 if dtype == BFLOAT16 else dtype)


def converted(values: NDArray[Any], dtype: DTypeLike, where: str) -> NDArray[np.generic]:
    """``values`` as ``dtype``; raises CaseError where whole numbers would change."""
    if dtype == BFLOAT16:
        return _bfloat16(converted(values, np.float32, where))
    target = np.dtype(dtype)
    if values.dtype.hasobject:
        raise CaseError("numbers beyond 64 bits do not fit any type", where=where)
    if target.kind in "iu" and values.dtype.kind in "iu":
        limits = np.iinfo(target)
        if int(values.min()) < limits.min or int(values.max()) > limits.max:
            raise CaseError(f"values do not fit {target}", where=where)
    elif target.kind in "biu" and values.dtype.kind in "fc":
        with np.errstate(invalid="ignore"):
            if not np.array_equal(values.astype(target), values):
                raise CaseError(f"values with fractions do not fit {target}", where=where)
    elif target.kind != "c" and values.dtype.kind == "c":
        raise CaseError(f"complex values do not fit {target}", where=where)
    with np.errstate(over="ignore"):
        result: NDArray[np.generic] = np.ascontiguousarray(values, dtype=target)
    if target.kind in "fc" and bool((np.isinf(result) & ~np.isinf(values)).any()):
        raise CaseError(f"values do not fit {target}", where=where)
    return result


def drawn(
    draw: Callable[[int], NDArray[Any]], shape: tuple[int, ...], dtype: DTypeLike, where: str
) -> NDArray[np.generic]:
    """What ``draw`` gives, a number of values at a time, as ``dtype``: in pieces that stay in the
    processor's caches, since whole arrays of doubles take several times as long."""
    result: NDArray[np.generic] = np.empty(shape, stored_type(dtype))
    flat = result.reshape(-1)
    for at in range(0, flat.size, _PIECE):
        some = flat[at : at + _PIECE]
        some[:] = converted(draw(len(some)), dtype, where)
    return result


def _bfloat16(values: NDArray[Any]) -> NDArray[np.generic]:
    """Bits of the nearest bfloat16 numbers, ties to even, as uint16."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32).astype(np.uint64)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    # Rounding must not turn a NaN's payload into an infinity.
    result: NDArray[np.generic] = np.where(np.isnan(values), 0x7FC0, rounded).astype(np.uint16)
    return result


def gaussian_taps(radius: int, sigma: float) -> NDArray[np.float64]:
    """(2·radius + 1,) samples of a Gaussian at whole distances, normalised to sum 1."""
    at = np.arange(-radius, radius + 1)
    taps = np.exp(-0.5 * (at / sigma) ** 2)
    return np.asarray(taps / taps.sum())


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
