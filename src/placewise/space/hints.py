"""Cache hints: what an access may ask of the caches on its way, and how code says so.

PTX ISA, "Cache Operators", "Cache Eviction Priority Hints" and "ld": ``.cg`` caches in L2 and
below, not in L1; ``.cv`` fetches again what L1 has; ``.cs`` "allocates global lines with
evict-first policy in L1 and L2"; ``.lu`` does on global addresses what ``.cs`` does;
``.L1::no_allocate`` does not allocate data to L1; ``.L1::evict_last`` data are evicted from L1
after all others; ``.L2::128B`` is a hint to fetch more data to L2 than the load asks for. All are
hints for performance, which no GPU must follow.

What is assumed beyond these words: ptxas makes the same instruction of ``.L1::evict_first`` as of
``.cs``, so both hold for L1 and L2, and ``.L1::evict_last`` for L1 alone; with ``.L1::no_allocate``
what L1 has is served by it. ``.L1::evict_unchanged`` is taken for an ordinary load. The modifiers
of machine code are those that ptxas makes of these (12.9 and 13, sm_75 to sm_120). A strong load of
a scope beyond the SM, as ``volatile`` and ``ld.relaxed.gpu`` are, sees what other SMs wrote: it
cannot be served by L1, and ``__ldcg`` is compiled to one. Stores have the same modifiers
(``__stcs``: ``.cs``, ``EF``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType


class Priority(StrEnum):
    """How long a load asks caches to keep what it loads."""

    PAST_L1 = "past_l1"
    """Served by L2 or what lies behind."""
    NO_ALLOCATE = "no_allocate"
    """Served by L1 where that has it, but brings no line into it."""
    EVICT_FIRST = "evict_first"
    """Kept, but driven out before everything else, in L1 and L2."""
    EVICT_LAST = "evict_last"
    """Kept in L1 until everything else is driven out."""


@dataclass(frozen=True)
class Hint:
    """What a load asks of the caches."""

    priority: Priority | None = None
    """How long caches are asked to keep the data; None: as long as that of any load."""
    prefetch_bytes: int = 0
    """Bytes, aligned to their number, that L2 is to fetch where it misses the load; 0: as any
    load."""

    def describe(self) -> str:
        """The hint in the words of the PTX ISA: ``L1::no_allocate``, ``L2::128B``."""
        words = [_WORDS[self.priority]] if self.priority else []
        words += [f"L2::{self.prefetch_bytes}B"] if self.prefetch_bytes else []
        return " ".join(words) or "none"


_WORDS = {
    Priority.PAST_L1: "past L1",
    Priority.NO_ALLOCATE: "L1::no_allocate",
    Priority.EVICT_FIRST: "evict first",
    Priority.EVICT_LAST: "L1::evict_last",
}


@dataclass(frozen=True)
class LoadFunction:
    """A function that loads an element."""

    qualifiers: tuple[str, ...]
    """Qualifiers of the load in PTX, such as ``("cg",)`` or ``("L1::no_allocate", "L2::128B")``."""
    hint: Hint | None = None
    """What it asks of the caches; None for a load function without a hint."""
    is_builtin: bool = True
    """CUDA C++ has it; else it is declared in the file that uses it."""
    target: int = 0
    """Least ``.target`` of PTX that has the qualifiers (80: sm_80); 0 where all have them."""


def _own(*qualifiers: str, target: int = 70) -> LoadFunction:
    hint = hint_of(f"ld.{'.'.join(qualifiers)}")
    return LoadFunction(qualifiers, hint, is_builtin=False, target=target)


_PRIORITIES: Mapping[str, Priority] = MappingProxyType(
    {
        **dict.fromkeys(("cg", "cv", "volatile", "mmio", "BYPASS", "MMIO"), Priority.PAST_L1),
        **dict.fromkeys(("L1::no_allocate", "NA"), Priority.NO_ALLOCATE),
        **dict.fromkeys(("cs", "lu", "L1::evict_first", "EF", "LU"), Priority.EVICT_FIRST),
        **dict.fromkeys(("L1::evict_last", "EL"), Priority.EVICT_LAST),
    }
)
"""By modifier of PTX and of machine code."""
_PREFETCHED: Mapping[str, int] = MappingProxyType(
    {f"{word}{size}B": size for word in ("L2::", "LTC") for size in (64, 128, 256)}
)
_STRONG = frozenset({"STRONG", "relaxed", "acquire"})
_BEYOND_SM = frozenset({"GPU", "SYS", "gpu", "sys", "cluster"})


def hint_of(opcode: str) -> Hint | None:
    """Hint of a load or store, by its opcode in PTX (``ld.global.cs.f32``) or in machine code
    (``LDG.E.STRONG.GPU``); None where it has none."""
    parts = opcode.split(".")
    found = [_PRIORITIES[p] for p in parts if p in _PRIORITIES]
    if not _STRONG.isdisjoint(parts) and not _BEYOND_SM.isdisjoint(parts):
        found.append(Priority.PAST_L1)
    priority = Priority.PAST_L1 if Priority.PAST_L1 in found else next(iter(found), None)
    size = max((_PREFETCHED[p] for p in parts if p in _PREFETCHED), default=0)
    return Hint(priority, size) if priority or size else None


LOAD_FUNCTIONS: Mapping[str, LoadFunction] = MappingProxyType(
    {
        "__ldg": LoadFunction(("nc",)),
        "__ldca": LoadFunction(("ca",)),
        "__ldcg": LoadFunction(("cg",), Hint(Priority.PAST_L1)),
        "__ldcv": LoadFunction(("cv",), Hint(Priority.PAST_L1)),
        "__ldcs": LoadFunction(("cs",), Hint(Priority.EVICT_FIRST)),
        "__ldlu": LoadFunction(("lu",), Hint(Priority.EVICT_FIRST)),
        "load_no_allocate": _own("L1::no_allocate"),
        "load_evict_last": _own("L1::evict_last"),
        "load_prefetch_64": _own("L2::64B", target=75),
        "load_prefetch_128": _own("L2::128B", target=75),
        "load_prefetch_256": _own("L2::256B", target=80),
        "load_once_prefetch_256": _own("L1::no_allocate", "L2::256B", target=80),
    }
)
"""Load functions that machine files may name: those of CUDA C++, and those that a rewritten file
declares itself, each around one PTX instruction."""


@dataclass(frozen=True)
class HintSpace:
    """A cache hint as machine files list it among their spaces."""

    name: str
    letter: str
    function: str | None
    """Load function; None for the access policy window of L2, which the host sets."""
    oldest: tuple[int, int]
    """First compute capability that has it (PTX ISA, "ld"; CUDA Programming Guide, "L2 Cache
    Control")."""


HINT_SPACES = (
    HintSpace("l2only", "L", "__ldcg", (7, 0)),
    HintSpace("streaming", "E", "__ldcs", (7, 0)),
    HintSpace("no_allocate", "N", "load_no_allocate", (7, 0)),
    HintSpace("evict_last", "K", "load_evict_last", (7, 0)),
    HintSpace("prefetch_64", "U", "load_prefetch_64", (7, 5)),
    HintSpace("prefetch_128", "V", "load_prefetch_128", (7, 5)),
    HintSpace("prefetch_256", "W", "load_prefetch_256", (8, 0)),
    HintSpace("once", "O", "load_once_prefetch_256", (8, 0)),
    HintSpace("persisting", "P", None, (8, 0)),
)
"""Cache hints of GPUs since Volta, each with the first compute capability that has it."""


def hint_spaces(compute_capability: tuple[int, int]) -> tuple[HintSpace, ...]:
    """The cache hints that a GPU of a compute capability has."""
    return tuple(h for h in HINT_SPACES if h.oldest <= compute_capability)
