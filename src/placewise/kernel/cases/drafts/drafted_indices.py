"""Which arrays hold places in other arrays, as the text of a kernel uses them."""

from __future__ import annotations

import re
from collections.abc import Collection

_SUBSCRIPT = r"\s*\[([^\[\]]{1,80})\]"


def are_starts(body: str, array: str) -> bool:
    """Whether ``array`` holds where rows start, as that of a sparse matrix does: the kernel in
    ``body`` reads it at a place and the next one, and nowhere else."""
    found = {"".join(told.split()) for told in re.findall(rf"\b{array}{_SUBSCRIPT}", body)}
    pair = len(found) == 2 and any({f"{told}+1", f"1+{told}"} & found for told in found)
    return pair and not re.search(rf"\b{array}{_SUBSCRIPT}\s*[-+*/|&^]?=(?!=)", body)


def indexed_by(body: str, array: str, arrays: Collection[str]) -> tuple[str, ...]:
    """The arrays, of ``arrays``, that the kernel in ``body`` indexes by elements of ``array``."""
    found = re.findall(rf"\b(\w+)\s*\[\s*{array}\s*\[", body)
    for name in dict.fromkeys(re.findall(rf"\b(\w+)\s*=\s*{array}{_SUBSCRIPT}\s*;", body)):
        found += re.findall(rf"\b(\w+)\s*\[\s*{name[0]}\s*\]", body)
    return tuple(one for one in dict.fromkeys(found) if one in arrays and one != array)
