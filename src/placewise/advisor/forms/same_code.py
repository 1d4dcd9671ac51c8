"""Finds forms of a kernel that compile to the machine code of the present form, or to one that
takes the same time, so that they need not be run or timed."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from placewise.kernel.binary.cubin import CubinKernel, read_cubin
from placewise.kernel.binary.machine_code import listing_of
from placewise.kernel.binary.sass import Instruction
from placewise.kernel.cases.case import Case
from placewise.kernel.kernel import Kernel
from placewise.kernel.launch import Inputs

_MARK = "CONSTANT"


def is_same_launch(form: Kernel, rewritten: Case, present: Kernel, case: Case) -> bool:
    """Whether ``form``, launched as ``rewritten``, has the same instructions, constants and
    arguments as ``present``, launched as ``case``.

    This is common: compilers often load through the read-only cache by themselves, so asking for it
    changes nothing. False where either kernel has no machine code.
    """
    facts = _facts_of_same_arguments(form, rewritten, present, case)
    return facts is not None and facts[0] == facts[1]


def differs_in_marks_alone(form: Kernel, rewritten: Case, present: Kernel, case: Case) -> bool:
    """Whether ``form`` has the instructions of ``present``, launched with the same arguments, in
    the same order, but marks other loads as reads of what nothing writes (LDG.CONSTANT).

    Since Volta all loads go through the same L1 cache, so that the mark by itself changes no time.
    """
    facts = _facts_of_same_arguments(form, rewritten, present, case)
    if facts is None or form.cubin is None or present.cubin is None:
        return False
    one, other = facts
    if len(one.code) != len(other.code) or replace(one, code=other.code) != other:
        return False
    mine = listing_of(form.cubin, form.entry).instructions
    theirs = listing_of(present.cubin, present.entry).instructions
    return all(map(_same_but_for_mark, mine, theirs))


def _same_but_for_mark(one: Instruction, other: Instruction) -> bool:
    return (one.guard, one.operands, [p for p in one.parts if p != _MARK]) == (
        other.guard,
        other.operands,
        [p for p in other.parts if p != _MARK],
    )


def _facts_of_same_arguments(
    form: Kernel, rewritten: Case, present: Kernel, case: Case
) -> tuple[CubinKernel, CubinKernel] | None:
    """Machine code of both kernels under one name; None where their launches or arguments differ,
    or either has none."""
    if form.cubin is None or present.cubin is None or form.passing != present.passing:
        return None
    if rewritten.launch != case.launch or not _same_inputs(rewritten.inputs, case.inputs):
        return None
    one, other = read_cubin(form.cubin, form.entry), read_cubin(present.cubin, present.entry)
    return replace(one, entry=other.entry), other


def _same_inputs(one: Inputs, other: Inputs) -> bool:
    """Whether both have the same scalars, and the very same arrays under the same names."""
    return all(
        len(mine) == len(theirs) and all(map(_same_value, mine, theirs))
        for mine, theirs in (
            (one.arguments, other.arguments),
            (one.buffers, other.buffers),
            (one.constants, other.constants),
            (one.constant_pointers, other.constant_pointers),
        )
    )


def _same_value(one: Any, other: Any) -> bool:
    """Whether both are the very same array, equal values, or dataclasses or tuples whose members
    are."""
    if one is other:
        return True
    if type(one) is not type(other) or isinstance(one, np.ndarray):
        return False
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(_same_value, one, other))
    if is_dataclass(one):
        return all(_same_value(getattr(one, f.name), getattr(other, f.name)) for f in fields(one))
    return bool(one == other)
