"""Writes placements in PTX, for kernels without CUDA C++ source. Only placements that change how
arrays in global memory are loaded are possible: ``ld.global.f32`` → ``ld.global.cg.f32``.

Syntax: PTX ISA, "ld" and "ld.global.nc". A run of the kernel shows which load accesses which array.
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
"""Qualifiers of loads that order memory accesses between threads; such loads are not changed."""


def is_written_in_ptx(space: MemorySpace) -> bool:
    """Whether arrays of a PTX kernel can be placed in ``space``."""
    return _modifier(space) is not None


def _modifier(space: MemorySpace) -> str | None:
    """The qualifiers that a load needs for a space, such as ``.cg``; None where loads of global
    memory do not reach it."""
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
    """``kernel`` with the arrays in ``moves`` loaded as their new spaces ask.

    ``loads`` has the arrays that each load accessed in a run, by its line in the PTX. Raises
    UnsupportedError where loads of global memory do not reach a space, or where an instruction
    loads from several arrays that do not all get the same load.
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
        passing=kernel.passing,
    )
    placement = Placement(tuple((array, space.name) for array, space in moves.items()))
    rewritten = Rewritten(placement, written, "// Loaded and launched as before.\n", edits)
    return rewritten, replace(made, name=kernel.name, passing=kernel.passing)


def _least_target(space: MemorySpace) -> int:
    """Least ``.target`` (sm_ number) that supports the loads of a space."""
    function = LOAD_FUNCTIONS.get(space.intrinsic or "")
    return function.target if function else 0


def _for_target(text: str, least: int) -> str:
    """PTX whose ``.target`` is at least sm_``least``."""
    found = _TARGET.search(text)
    if found is None or int(found[1]) >= least:
        return text
    return text[: found.start(1)] + str(least) + text[found.end(1) :]


def _with(line: str, modifier: str, number: int) -> str:
    """``line`` with the cache hint of its only load replaced."""
    found = _LOAD.findall(line)
    if len(found) != 1:
        raise UnsupportedError(f"PTX line {number} has {len(found)} loads")
    parts = found[0].split(".")
    if _ORDERED & set(parts):
        raise UnsupportedError(f"PTX line {number}: {found[0]} is ordered with other threads")
    parts = [p for p in parts if p not in _REPLACED and not p.startswith("L1::")]
    at = parts.index("global") + 1 if "global" in parts else 1 + ("weak" in parts)
    if modifier == ".nc" and "global" not in parts:
        raise UnsupportedError(f"PTX line {number}: {found[0]} may load from any memory")
    new = ".".join(parts[:at]) + modifier + "".join(f".{p}" for p in parts[at:])
    return line.replace(found[0], new)
