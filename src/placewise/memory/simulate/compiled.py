"""The compiled functions of the simulation as Python calls them.

Their machine code is kept from one process to the next, by the text of this package: each function
holds all that it calls, of which the files of Numba's cache know nothing.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from numba import njit

from placewise.memory.simulate import requests as rq
from placewise.memory.simulate import wave as wv

_TEXT = b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))


def _entries(version: int) -> tuple[Any, ...]:
    """The functions; ``version`` is part of what they are kept by."""

    @njit(cache=True, nogil=True, _nrt=False)
    def collect(*arguments: Any) -> Any:
        return rq.collect(*arguments) if version else (0, 0)

    @njit(cache=True, nogil=True, _nrt=False)
    def sort_segments(*arguments: Any) -> Any:
        return wv.sort_segments(*arguments) if version else False

    @njit(cache=True, nogil=True, _nrt=False)
    def run_sms(*arguments: Any) -> None:
        if version:
            wv.run_sms(*arguments)

    @njit(cache=True, nogil=True, _nrt=False)
    def run_l2(*arguments: Any) -> None:
        if version:
            wv.run_l2(*arguments)

    return collect, sort_segments, run_sms, run_l2


collect, sort_segments, run_sms, run_l2 = _entries(
    1 + int.from_bytes(hashlib.sha256(_TEXT).digest()[:7])
)
