"""Python's search for cyclic garbage, held while a stage makes many objects that stay."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collection_held() -> Iterator[None]:
    """No garbage collection inside: lowering a large kernel makes half a million nodes, none of
    them garbage, and looking through them again and again takes a quarter of the time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
