"""Machine code kept on disk between runs, by a hash of all that it depends on.

The cache never matters for results: a file that is missing, cut short or altered is compiled again,
and a folder that cannot be written is done without.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path

import platformdirs

_FILES = 400
"""Entries kept; the ones longest unused go first."""


def folder() -> Path:
    """Where the code is kept."""
    return Path(platformdirs.user_cache_dir("placewise")) / "code"


def key_of(*parts: str) -> str:
    """A name for what ``parts`` determine."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.encode())
        digest.update(b"\0")
    return digest.hexdigest()


def read(key: str) -> bytes | None:
    """The code under ``key``, or None."""
    path = folder() / key
    try:
        stored = path.read_bytes()
        if hashlib.sha256(stored[32:]).digest() != stored[:32]:
            return None
        with contextlib.suppress(OSError):
            os.utime(path)
    except OSError:
        return None
    return stored[32:]


def write(key: str, code: bytes) -> None:
    """Keep ``code`` under ``key``; whole or not at all."""
    place = folder()
    with contextlib.suppress(OSError):
        place.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=place, prefix="new-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.sha256(code).digest() + code)
            Path(name).replace(place / key)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
        _trim(place)


def _trim(place: Path) -> None:
    files = [p for p in place.iterdir() if p.is_file()]
    if len(files) > _FILES:
        files.sort(key=lambda p: p.stat().st_mtime)
        for path in files[: len(files) - _FILES]:
            path.unlink(missing_ok=True)
