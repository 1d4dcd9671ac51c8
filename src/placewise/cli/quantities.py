"""Parses quantities that a user types on the command line."""

from __future__ import annotations

import re
from pathlib import Path

from placewise.errors import CaseError

_TIME = re.compile(r"^\s*(?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)\s*(?P<unit>ns|us|µs|ms|s)\s*$")
_SHARE = re.compile(r"^\s*(?P<number>\d+(?:\.\d*)?)\s*(?P<percent>%?)\s*$")
_LEAST_MS, _MOST_MS = 1e-9, 1e12
"""Range of accepted times in ms: from a millionth of a nanosecond to thirty years."""
_MS_PER_UNIT = {"ns": 1e-6, "us": 1e-3, "µs": 1e-3, "ms": 1.0, "s": 1e3}


def parse_time_ms(text: str) -> float:
    """Milliseconds of a time such as ``1.3ms`` or ``830us``; raises CaseError without a unit."""
    found = _TIME.match(text)
    if not found and ("/" in text or Path(text).suffix[1:2].isalpha()):
        raise CaseError(
            f"no such file: {text}",
            where="--measured",
            hint="give a file of counters, or a time such as 1.3ms",
        )
    if not found:
        raise CaseError(
            f"'{text}' is not a time",
            where="--measured",
            hint="give a number and a unit, such as 1.3ms or 830us, or a file of counters",
        )
    value = float(found["number"]) * _MS_PER_UNIT[found["unit"]]
    if not _LEAST_MS < value < _MOST_MS:
        raise CaseError(f"no kernel takes {value:g} ms", where="--measured")
    return value


def parse_share(text: str, option: str) -> float:
    """The share that a text such as ``5%`` or ``0.05`` stands for. Raises CaseError, located at
    ``option``, for any other text."""
    found = _SHARE.match(text)
    if not found:
        raise CaseError(f"'{text}' is not a share", where=option, hint="such as 5% or 0.05")
    return float(found["number"]) * (0.01 if found["percent"] else 1.0)


def check_row(row: int | None, file: Path | None) -> None:
    """Raises CaseError where ``row`` chooses a launch although no file of counters is given."""
    if row is not None and file is None:
        raise CaseError(
            "chooses a launch of recorded counters, but no file of recorded counters is given",
            where="--row",
            hint="give --measured FILE",
        )
