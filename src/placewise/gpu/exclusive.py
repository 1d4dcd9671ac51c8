"""One process at a time on a GPU, so that the launches that are timed do not disturb each other."""

from __future__ import annotations

import fcntl
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def exclusive_use(bus_id: str) -> Iterator[None]:
    """Wait until no other process of this user times launches on the GPU at PCI address ``bus_id``,
    then keep the others waiting until the block ends.

    Other programs that use the GPU are not kept away. Where no lock file can be made in the folder
    for temporary files, nothing is waited for.
    """
    name = re.sub(r"\W+", "-", bus_id.lower())
    path = Path(tempfile.gettempdir()) / f"placewise-{os.getuid()}-gpu-{name}.lock"
    try:
        # Another user's link of this name must not be followed.
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError:
        yield
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)
