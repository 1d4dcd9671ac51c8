"""A trace of accesses that a user recorded, in place of one that is taken here.

Where the accesses of a kernel cannot be derived, the programmer provides a function that records
them (Chen et al. 2017, section 3.3): for each access its thread, array, element, and whether it
writes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from placewise.errors import CaseError, reading

COLUMNS = ("thread", "array", "element", "write")


@dataclass(frozen=True, eq=False)
class GivenAccesses:
    """``n`` accesses of single threads, those of one thread in the order in which it makes them.

    Threads of some blocks are enough if these stand for all; a block is given whole.
    """

    thread: NDArray[np.int64]
    """(n,) number of the thread: block * threads of a block + thread of the block, x fastest."""
    array: NDArray[Any]
    """(n,) names of parameters, or their numbers from 0."""
    element: NDArray[np.int64]
    """(n,) index into the array."""
    write: NDArray[np.bool_]
    """(n,) True for stores and atomics."""
    line: NDArray[np.int64]
    """(n,) source line, 0 where it is not known. Accesses of a warp's threads that are made
    together have the same line."""
    where: str
    """Where they come from, for messages."""

    @staticmethod
    def of(columns: Any, where: str) -> GivenAccesses:
        """From a mapping of columns ``thread``, ``array``, ``element``, ``write`` and, if known,
        ``line``. Raises CaseError for other columns, types and lengths."""
        if not isinstance(columns, Mapping):
            raise CaseError(f"accesses are a {type(columns).__name__}, no columns", where=where,
                            hint=f"give a mapping with {', '.join(COLUMNS)}")  # fmt: skip
        unknown = [name for name in columns if name not in (*COLUMNS, "line")]
        missing = [name for name in COLUMNS if name not in columns]
        if unknown or missing:
            problem = f"no column '{missing[0]}'" if missing else f"unknown column '{unknown[0]}'"
            raise CaseError(
                problem, where=where, hint=f"columns are {', '.join(COLUMNS)}, and line if known"
            )
        found = {name: np.atleast_1d(np.asarray(columns[name])) for name in columns}
        count = len(found["thread"])
        for name, column in found.items():
            if column.shape != (count,):
                raise CaseError(f"'{name}' has shape {column.shape}, not ({count},)", where=where)
            text = name == "array" and column.dtype.kind == "U"
            if not text and column.dtype.kind not in "iub" and count:
                raise CaseError(f"'{name}' holds {column.dtype}, no whole numbers", where=where)
        if not count:
            raise CaseError("no accesses", where=where)
        line = found.get("line", np.zeros(count, np.int64))
        return GivenAccesses(
            found["thread"].astype(np.int64),
            found["array"],
            found["element"].astype(np.int64),
            found["write"].astype(np.bool_),
            line.astype(np.int64),
            where,
        )

    @property
    def digest(self) -> str:
        """SHA-256 of all columns: equal for equal accesses."""
        found = hashlib.sha256()
        for column in (self.thread, self.array, self.element, self.write, self.line):
            found.update(np.ascontiguousarray(column).tobytes())
        return found.hexdigest()


def read_accesses(path: Path) -> GivenAccesses:
    """The accesses in a NumPy archive (``.npz``) of columns; raises CaseError."""
    if not path.is_file():
        raise CaseError("no such file", where=str(path))
    with reading("NumPy archive", path, CaseError), np.load(path, allow_pickle=False) as archive:
        columns = {name: archive[name] for name in archive.files}
    return GivenAccesses.of(columns, str(path))
