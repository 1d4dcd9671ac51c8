"""The ``repr`` of values that hold whole sources and arrays: a few words, not all their fields."""

from __future__ import annotations


class ShortRepr:
    """Gives a value a ``repr`` of its class and what the value says of itself. A base class without
    fields, for dataclasses with ``repr=False``."""

    def _in_short(self) -> str:
        """What the value is, and its main answer."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._in_short()})"
