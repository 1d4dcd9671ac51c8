"""The user's caches: where they are, how large, and how to empty them."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path

from placewise.compiled_code import USER_CACHE
from placewise.disk_cache import DiskCache, cache_root
from placewise.executor.codegen.backend.jit import CODE
from placewise.kernel.cases.generators.kept_matrix import MATRICES
from placewise.kernel.toolchain.disassembler import LISTINGS
from placewise.kernel.toolchain.nvrtc_library import COMPILATIONS

_KNOWN: tuple[tuple[DiskCache, str], ...] = (
    (USER_CACHE, "machine code of the simulator"),
    (CODE, "machine code of kernels that were run"),
    (COMPILATIONS, "compiled kernels"),
    (LISTINGS, "disassembled kernels"),
    (MATRICES, "generated matrices of cases"),
)


@dataclass(frozen=True)
class CacheFolder:
    """One cache on disk."""

    what: str
    path: Path
    files: int
    bytes: int
    most_files: int | None
    """Most files kept (the least recently used are deleted first); None where the number is
    fixed."""


def cache_folders() -> tuple[CacheFolder, ...]:
    """All caches below the user's cache folder, empty ones included."""
    known = {cache.folder(): (what, cache.files) for cache, what in _KNOWN}
    root = cache_root()
    found = [_measured(what, folder, most) for folder, (what, most) in known.items()]
    rest = [p for p in _files(root) if not any(p.is_relative_to(folder) for folder in known)]
    found.append(CacheFolder("parse tables and others", root, len(rest), _bytes(rest), None))
    return tuple(found)


def clear_caches() -> int:
    """Delete every file in the user's caches, and return the bytes freed.

    Results do not depend on caches: the next run fills them again. A file that cannot be deleted is
    left.
    """
    freed = 0
    for path in _files(cache_root()):
        with contextlib.suppress(OSError):
            size = path.stat().st_size
            path.unlink()
            freed += size
    return freed


def _measured(what: str, folder: Path, most: int) -> CacheFolder:
    files = _files(folder)
    return CacheFolder(what, folder, len(files), _bytes(files), most)


def _files(folder: Path) -> list[Path]:
    """Regular files below ``folder``, without following links; none where it cannot be read."""
    try:
        return [p for p in folder.rglob("*") if p.is_file() and not p.is_symlink()]
    except OSError:
        return []


def _bytes(files: list[Path]) -> int:
    total = 0
    for path in files:
        with contextlib.suppress(OSError):
            total += path.stat().st_size
    return total
