"""Times in words."""

from __future__ import annotations


def duration(milliseconds: float) -> str:
    """A time as text in a suitable unit: ``1.31 ms``, ``830 µs``."""
    for unit, size in (("s", 1e3), ("ms", 1.0), ("µs", 1e-3)):
        if milliseconds >= size:
            return f"{milliseconds / size:.3g} {unit}"
    return f"{milliseconds * 1e6:.3g} ns"
