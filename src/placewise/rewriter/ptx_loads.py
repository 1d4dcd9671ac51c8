"""Placements written out in PTX, for kernels that have no source to rewrite: those that change how
an array in global memory is loaded, ``ld.global.f32`` → ``ld.global.cg.f32``.

PTX ISA, "ld" and "ld.global.nc": which load accesses which array is known from a run.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from placewise.errors import UnsupportedError
from placewise.kernel.cases.case import Case, Language
from placewise.kernel.frontends.ptx_kernel import ptx_kernel
from placewise.kernel.kernel import Kernel
from placewise.rewriter.rewritten import Rewritten
from placewise.space import LOAD_FUNCTIONS, MemorySpace, Placement

_LOAD = re.compile(r"(?<![\w.])ld(?:\.\w+(?:::\w+)?)+")
_TARGET = re.compile(r"^[ \t]*\.target[ \t]+sm_(\d+)", re.MULTILINE)
_REPLACED = frozenset(q for f in LOAD_FUNCTIONS.values() for q in f.qualifiers)
_ORDERED = frozenset({"volatile", "relaxed", "acquire", "mmio"})
"""Loads that say more than where to look."""


def is_written_in_ptx(space: MemorySpace) -> bool:
    """Whether a PTX kernel's arrays can be put there."""
    return _modifier(space) is not None


def _modifier(space: MemorySpace) -> str | None:
    """What loads of a space say; None where no load of global memory reaches it."""
    facts = space.way.facts
    if not facts.by_pointer or facts.host_window:
        return None
    if not facts.by_load_function:
        return ""
    function = LOAD_FUNCTIONS.get(space.intrinsic or "")
    return f".{'.'.join(function.qualifiers)}" if function else None


def rewrite_loads(
    case: Case,
    kernel: Kernel,
    moves: Mapping[str, MemorySpace],
    loads: Mapping[int, frozenset[str]],
) -> tuple[Rewritten, Kernel]:
    """``kernel`` with the arrays of ``moves`` loaded as their new spaces have it.

    ``loads`` has the arrays that each load was seen to access, by its line in the PTX. Raises
    UnsupportedError where a space is not reached by loads of global memory, or an instruction loads
    from arrays that do not move alike.
    """
    lines = kernel.ptx.split("\n")
    for array, space in moves.items():
        modifier = _modifier(space)
        if modifier is None:
            raise UnsupportedError(
                f"the kernel is {case.language}, only CUDA C++ is rewritten for {space.name} memory"
            )
        own = [number for number, arrays in loads.items() if array in arrays]
        for number in own:
            for other in loads[number]:
                if moves.get(other) != space:
                    raise UnsupportedError(
                        f"one instruction (PTX line {number}) loads from '{array}' and '{other}'"
                    )
            lines[number - 1] = _with(lines[number - 1], modifier, number)
    text = _for_target("\n".join(lines), max(map(_least_target, moves.values()), default=0))
    made = ptx_kernel(
        text, kernel.entry, filename=kernel.filename, arch=kernel.arch, nvrtc=case.options.nvrtc
    )
    edits = tuple(
        f"{array}: {sum(array in found for found in loads.values())} loads "
        f"{_modifier(space) or 'plain'}"
        for array, space in moves.items()
    )
    written = replace(
        case,
        language=Language.PTX,
        source=text,
        path=case.path if case.language is Language.PTX else None,
        kernel=kernel.entry,
        function=None,
    )
    placement = Placement(tuple((array, space.name) for array, space in moves.items()))
    rewritten = Rewritten(placement, written, "// Loaded and launched as before.\n", edits)
    return rewritten, replace(made, name=kernel.name, passing=kernel.passing)


def _least_target(space: MemorySpace) -> int:
    """Least ``.target`` that has the loads of a space."""
    function = LOAD_FUNCTIONS.get(space.intrinsic or "")
    return function.target if function else 0


def _for_target(text: str, least: int) -> str:
    """PTX whose ``.target`` is at least sm_``least``."""
    found = _TARGET.search(text)
    if found is None or int(found[1]) >= least:
        return text
    return text[: found.start(1)] + str(least) + text[found.end(1) :]


def _with(line: str, modifier: str, number: int) -> str:
    """A line with its one load's hint replaced."""
    found = _LOAD.findall(line)
    if len(found) != 1:
        raise UnsupportedError(f"PTX line {number} has {len(found)} loads")
    parts = found[0].split(".")
    if _ORDERED & set(parts):
        raise UnsupportedError(f"PTX line {number}: {found[0]} keeps an order with other threads")
    parts = [p for p in parts if p not in _REPLACED and not p.startswith("L1::")]
    at = parts.index("global") + 1 if "global" in parts else 1 + ("weak" in parts)
    if modifier == ".nc" and "global" not in parts:
        raise UnsupportedError(f"PTX line {number}: {found[0]} may load from any memory")
    new = ".".join(parts[:at]) + modifier + "".join(f".{p}" for p in parts[at:])
    return line.replace(found[0], new)
