"""Instructions that a warp issues from one burst of memory accesses to the next.

Huang and Li 2017 use the number of instructions between two DRAM requests as the time between them
(section III-C3). The executor counts how often each instruction is executed; the code says where
control goes after it. From both follows, for each instruction, how many instructions were issued
since the previous burst: it is one more than at the instruction before, or one if that instruction
starts a burst. This gives one linear equation for each instruction.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from placewise.executor.result import Execution
from placewise.kernel.binary.machine_code import machine_code
from placewise.kernel.binary.sass.instruction import Immediate, Instruction
from placewise.kernel.kernel import Kernel

_ENDS = frozenset({"EXIT", "RET", "BRX", "JMX"})
_JUMPS = frozenset({"BRA", "JMP"})
_LABEL = re.compile(r"^\s*(\$?\w[\w$]*):")
_BRANCH = re.compile(r"^\s*(@\S+\s+)?bra(?:\.uni)?\s+([\w$]+)\s*;")
_PTX_END = re.compile(r"^\s*(ret|exit)\s*;")

Followers = Mapping[int, tuple[int, ...]]
"""For each instruction's place, the places that control can go to after it."""


def burst_distances(
    kernel: Kernel, execution: Execution, bursts: Collection[int]
) -> dict[int, float]:
    """:func:`distances` of a run of ``kernel``, whose ``bursts`` start at these offsets of its
    machine code or lines of its PTX."""
    executed = {one.place: float(one.warps) for one in execution.instruction_counts()}
    followers = (
        followers_of_code(machine_code(kernel).instructions)
        if kernel.machine_code
        else followers_of_ptx(kernel.ptx, executed)
    )
    return distances(executed, followers, bursts)


def followers_of_code(code: Sequence[Instruction]) -> Followers:
    """Where control can go after each instruction of machine code, by offset. Calls are assumed to
    return."""
    found: dict[int, tuple[int, ...]] = {}
    for n, one in enumerate(code):
        after = (code[n + 1].offset,) if n + 1 < len(code) else ()
        opcode, always = one.parts[0], one.guard is None
        if opcode in _JUMPS:
            to = [int(o.value) for o in one.operands if isinstance(o, Immediate)]
            uncertain = not always or len(one.operands) > 1
            found[one.offset] = tuple(dict.fromkeys((*to, *(after if uncertain else ()))))
        elif opcode in _ENDS and always:
            found[one.offset] = ()
        else:
            found[one.offset] = after
    return found


def followers_of_ptx(ptx: str, places: Collection[int]) -> Followers:
    """Where control can go after each PTX instruction, by line (the first is 1); ``places`` are the
    lines of the instructions."""
    text = ptx.splitlines()
    ordered = sorted(places)
    next_at = {line: ordered[n + 1] for n, line in enumerate(ordered[:-1])}
    labels = {m[1]: n for n, line in enumerate(text, 1) if (m := _LABEL.match(line))}
    found: dict[int, tuple[int, ...]] = {}
    for line in ordered:
        after = (next_at[line],) if line in next_at else ()
        words = text[line - 1] if line <= len(text) else ""
        branch = _BRANCH.match(words)
        if branch and branch[2] in labels:
            target = next((p for p in ordered if p > labels[branch[2]]), None)
            to = () if target is None else (target,)
            found[line] = tuple(dict.fromkeys((*to, *(after if branch[1] else ()))))
        elif _PTX_END.match(words):
            found[line] = ()
        else:
            found[line] = after
    return found


def distances(
    executed: Mapping[int, float], followers: Followers, bursts: Collection[int]
) -> dict[int, float]:
    """Mean number of instructions that a warp issues before each of ``bursts`` since its previous
    burst, or since its start. ``executed`` is how often warps executed each place.

    If control can go to several places, it is assumed to go to each in proportion to how often that
    place is executed.
    """
    places = [p for p in sorted(executed) if executed[p] > 0]
    number = {p: n for n, p in enumerate(places)}
    rows: list[int] = []
    columns: list[int] = []
    shares: list[float] = []
    firsts = set(bursts)
    for place in places:
        to = [p for p in followers.get(place, ()) if p in number]
        total = sum(executed[p] for p in to)
        for p in to:
            rows.append(number[p])
            columns.append(number[place])
            shares.append(executed[p] / total)
    # Imported here because otherwise every command would start more slowly.
    from scipy.sparse import csc_array, csr_array, eye_array
    from scipy.sparse.linalg import splu

    count = len(places)
    if not count:
        return {}
    own = np.array([executed[p] for p in places], np.float64)
    came = np.array(shares) * own[np.array(columns, np.int64)]
    from_before = np.bincount(np.array(rows, np.int64), came, minlength=count)
    passed = [
        0.0 if places[c] in firsts else share for c, share in zip(columns, shares, strict=True)
    ]
    # The number at an instruction: that of each instruction before it, unless this starts a burst,
    # plus that instruction itself. The factor just below 1 keeps the equations of endless loops
    # solvable.
    kept = csr_array(((1e-9 - 1.0) * np.array(passed), (rows, columns)), shape=(count, count))
    matrix = csc_array(eye_array(count, format="csr") + kept)
    come = splu(matrix).solve(from_before)
    return {p: float(come[number[p]] / executed[p]) for p in places if p in firsts}
