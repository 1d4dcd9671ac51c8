"""A memory space: a place an array can live, and the way a kernel reaches it there."""

from __future__ import annotations

from dataclasses import dataclass

from placewise.space.hints import LOAD_FUNCTIONS, Hint
from placewise.space.way import Way


@dataclass(frozen=True)
class MemorySpace:
    """One placement choice of a machine, as an entry of its MSL file states it.

    ``levels`` names the machine's memories that an access may reach, nearest to the cores first;
    the last one is where the data lives and its size is the space's capacity. ``path`` is the data
    path the traffic takes (the paths of PORPLE's model run concurrently).
    """

    name: str
    letter: str
    way: Way
    levels: tuple[str, ...]
    path: str
    writable: bool
    declaration: str | None = None
    """Declaration keyword or type, e.g. ``__constant__``, ``cudaTextureObject_t``."""
    intrinsic: str | None = None
    """Function that reads an element, e.g. ``__ldg``, ``tex1Dfetch``."""

    @property
    def hint(self) -> Hint | None:
        """What its load function asks of the caches; None for a space that is no cache hint."""
        known = LOAD_FUNCTIONS.get(self.intrinsic or "")
        return known.hint if known and self.way.facts.by_load_function else None

    @property
    def is_cache_hint(self) -> bool:
        """Whether arrays stay where they are, and only caches treat them otherwise."""
        return self.hint is not None or self.way.facts.host_window
