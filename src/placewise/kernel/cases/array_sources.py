"""Where a case file's arrays come from: files, sparse matrices, images and seeded generators."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from placewise.errors import CaseError, reading

if TYPE_CHECKING:
    from scipy.sparse import csr_array

LARGEST_GIB = 1.0
"""Largest array of a case file in GiB. Several copies exist while it is made and while a kernel
runs, and a larger size is most likely a mistake."""
LARGEST_VARIABLE = "PLACEWISE_ARRAY_GIB"
"""Environment variable that sets another largest size, in GiB."""

_SHORT = 100
"""Most characters of a shape in an error message."""
_PIECE = 1 << 15
"""Random values drawn at a time."""
BFLOAT16 = "bfloat16"
"""Name of the type in case files."""


def load_array(path: Path, member: str | None) -> NDArray[np.generic]:
    """Array of an ``.npy`` file or of one member of an ``.npz``; pickled objects are refused.

    Raises CaseError located at the file.
    """
    require_file(path)
    hint = "write it with np.save or np.savez, without object arrays"
    with reading("NumPy file", path, CaseError, hint=hint):
        loaded = np.load(path, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            if member is not None:
                raise CaseError("holds one array and has no members", where=str(path))
            found = loaded
        else:
            with loaded:
                found = loaded[_member(path, loaded.files, member)]
        if not isinstance(found, np.ndarray):
            raise ValueError("its member is no array")
        return np.ascontiguousarray(found)


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
    # Imported here, because few cases need it and every command would start more slowly.
    from scipy.io import mminfo, mmread
    from scipy.sparse import coo_array, coo_matrix, csr_array

    require_file(path)
    with reading("Matrix Market file", path, CaseError):
        rows, _, entries, *_ = mminfo(path)
        # Room for rows, columns and values, and as much again while entries are summed or mirrored.
        check_size((max(rows, entries, 1), 4), np.float64, str(path))
        matrix = mmread(path)
        if not isinstance(matrix, coo_array | coo_matrix):
            raise CaseError("holds a dense matrix, not coordinates", where=str(path))
        compressed = csr_array(matrix)
        compressed.sum_duplicates()
    if compressed.nnz == 0:
        raise CaseError("the matrix has no entries", where=str(path))
    return compressed


def load_image(path: Path) -> NDArray[np.uint8]:
    """(height, width) grey levels 0 to 255; raises CaseError located at the file."""
    from PIL import Image

    require_file(path)
    with reading("image", path, CaseError), Image.open(path) as image:
        return np.asarray(image.convert("L"))


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
        raise CaseError(f"shape {_short(shape)} holds no elements", where=where)
    most = _largest_bytes()
    if count * np.dtype(dtype).itemsize > most:
        raise CaseError(
            f"shape {_short(shape)} takes more than {most / 2**30:g} GiB",
            where=where,
            hint=f"give a smaller one; {LARGEST_VARIABLE}=8 allows 8 GiB",
        )


def _largest_bytes() -> float:
    try:
        return max(0.0, float(os.environ.get(LARGEST_VARIABLE) or LARGEST_GIB)) * 2**30
    except ValueError:
        return LARGEST_GIB * 2**30


def _short(shape: tuple[int, ...]) -> str:
    text = str(shape)
    return text if len(text) < _SHORT else f"{text[:_SHORT]} …"


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
    """Random values as ``dtype``, drawn by ``draw`` in pieces that stay in the processor's caches.
    Drawing a whole array of doubles at once takes several times as long."""
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


def structs_of(
    columns: Mapping[str, NDArray[np.generic]], shape: tuple[int, ...], where: str
) -> NDArray[np.generic]:
    """An array of structs of ``shape``, padded as C does, from its members' values; axes of a
    member beyond ``shape`` are those of an array in the struct. Raises CaseError for an array that
    is too large."""
    types = [(name, c.dtype, c.shape[len(shape) :]) for name, c in columns.items()]
    stored = np.dtype(types, align=True)
    check_size(shape, stored, where)
    made: NDArray[np.void] = np.zeros(shape, stored)
    for name, column in columns.items():
        made[name] = column
    return made
