"""One hostile input: files, a command line, and what surrounds the process that gets them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

KINDS = ("case", "array", "cuda", "draft", "ptx", "machine", "measured", "surroundings")
SHARES = dict(zip(KINDS, (20, 13, 17, 7, 11, 9, 14, 9), strict=True))
"""Per cent of all inputs."""


@dataclass(frozen=True)
class Surroundings:
    """What is unusual about the process, apart from its input."""

    fresh: bool = False
    """Start ``python -m placewise`` anew; otherwise a copy of a process that has imported all."""
    interrupt_s: float | None = None
    """Send SIGINT this many seconds after the start."""
    whole_group: bool = True
    """Send it to the process and its helpers, as a terminal does; otherwise to the process."""
    stdout: str = "file"
    """Standard output: ``file``, ``read-only``, ``closed``, ``full`` or ``closed pipe``."""
    environment: Mapping[str, str] = field(default_factory=dict)
    delete_folder: bool = False
    """The working folder is gone when the process starts."""
    cache: str = "warm"
    """``warm`` (shared by all), ``damaged``, ``read-only`` or ``twice`` (two processes at once)."""


@dataclass(frozen=True)
class HostileInput:
    """What one process gets."""

    kind: str
    what: str
    """What is hostile about it, in words."""
    command: tuple[str, ...]
    """Arguments of ``placewise``."""
    files: Mapping[str, bytes]
    """Content by path, relative to the working folder."""
    surroundings: Surroundings = Surroundings()
