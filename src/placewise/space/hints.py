"""Cache hints: what an access may ask of the caches on its way, and how code says so.

PTX ISA, "Cache Operators" and "Cache Eviction Priority Hints": ``.cg`` caches in L2 and below, not
in L1; ``.cv`` fetches again what L1 has; ``.cs`` "allocates global lines with evict-first policy in
L1 and L2"; ``.lu`` does on global addresses what ``.cs`` does; ``.L1::no_allocate`` is not kept in
L1. ``.L1::evict_last`` and ``.L1::evict_unchanged`` are taken for ordinary loads. The modifiers of
machine code are those that ptxas makes of these (12.9 and 13, sm_75 to sm_100). A strong load of a
scope beyond the SM, as ``volatile`` and ``ld.relaxed.gpu`` are, sees what other SMs wrote: it
cannot be served by L1, and ``__ldcg`` is compiled to one. Stores have the same modifiers
(``__stcs``: ``.cs``, ``EF``).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType


class Hint(StrEnum):
    """What a load asks of the caches."""

    PAST_L1 = "past_l1"
    """To be served by L2 or what lies behind."""
    EVICT_FIRST = "evict_first"
    """To be kept, but driven out before everything else."""


LOAD_FUNCTIONS: Mapping[str, Hint] = MappingProxyType(
    {
        "__ldcg": Hint.PAST_L1,
        "__ldcv": Hint.PAST_L1,
        "__ldcs": Hint.EVICT_FIRST,
        "__ldlu": Hint.EVICT_FIRST,
    }
)
"""Load functions of CUDA C++ that give a hint."""

_EVICT_FIRST = frozenset({"cs", "lu", "L1::evict_first", "EF", "LU"})
_PAST_L1 = frozenset({"cg", "cv", "volatile", "mmio", "L1::no_allocate", "NA", "BYPASS", "MMIO"})
_STRONG = frozenset({"STRONG", "relaxed", "acquire"})
_BEYOND_SM = frozenset({"GPU", "SYS", "gpu", "sys", "cluster"})


def hint_of(opcode: str) -> Hint | None:
    """Hint of a load or store, by its opcode in PTX (``ld.global.cs.f32``) or in machine code
    (``LDG.E.STRONG.GPU``)."""
    parts = set(opcode.split("."))
    if parts & _PAST_L1 or (parts & _STRONG and parts & _BEYOND_SM):
        return Hint.PAST_L1
    return Hint.EVICT_FIRST if parts & _EVICT_FIRST else None
