"""Results kept on disk between runs, by a hash of all that they depend on.

A cache never changes results: what a missing, cut short or altered file should hold is computed
again, and where the folder cannot be written, nothing is kept.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

import platformdirs


def key_of(*parts: str | bytes) -> str:
    """A file name for a result that depends on ``parts`` alone: their SHA-256 in hexadecimal."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.encode() if isinstance(part, str) else part)
        digest.update(b"\0")
    return digest.hexdigest()


def cache_root() -> Path:
    """The user's cache folder for Placewise; it need not exist."""
    return Path(platformdirs.user_cache_dir("placewise"))


@dataclass(frozen=True)
class DiskCache:
    """A folder of results, by default below the user's cache folder."""

    name: str
    files: int
    """Most entries kept; the least recently used are deleted first."""
    place: Path | None = None
    """The folder, if it is not the one below the user's cache folder."""

    def folder(self) -> Path:
        """Where the results are kept."""
        if self.place is not None:
            return self.place
        return cache_root() / self.name

    def read(self, key: str) -> bytes | None:
        """The result under ``key``, or None."""
        path = self.folder() / key
        try:
            stored = path.read_bytes()
            if hashlib.sha256(stored[32:]).digest() != stored[:32]:
                return None
            with contextlib.suppress(OSError):
                os.utime(path)
        except OSError:
            return None
        return stored[32:]

    def write(self, key: str, result: bytes) -> None:
        """Keep ``result`` under ``key``: all of it, or nothing if the folder cannot be written."""
        place = self.folder()
        with contextlib.suppress(OSError):
            place.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=place, prefix="new-")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(hashlib.sha256(result).digest() + result)
                Path(name).replace(place / key)
            except BaseException:
                Path(name).unlink(missing_ok=True)
                raise
            self._trim(place)

    def _trim(self, place: Path) -> None:
        # Names alone are read quickly; an eighth goes at a time, so that few writes ask for times.
        if sum(1 for _ in place.iterdir()) > self.files:
            files = sorted((p for p in place.iterdir() if p.is_file()), key=_last_used)
            for path in files[: len(files) - (self.files - self.files // 8)]:
                path.unlink(missing_ok=True)


def _last_used(path: Path) -> float:
    return path.stat().st_mtime
