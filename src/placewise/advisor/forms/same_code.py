"""Finds forms of a kernel that compile to the same machine code as the present form, so that they
need not be run or timed."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from placewise.kernel.binary.cubin import read_cubin
from placewise.kernel.cases.case import Case
from placewise.kernel.kernel import Kernel
from placewise.kernel.launch import Inputs


def is_same_launch(form: Kernel, rewritten: Case, present: Kernel, case: Case) -> bool:
    """Whether ``form``, launched as ``rewritten``, has the same instructions, constants and
    arguments as ``present``, launched as ``case``.

    This is common: compilers often load through the read-only cache by themselves, so asking for it
    changes nothing. False where either kernel has no machine code.
    """
    if form.cubin is None or present.cubin is None or form.passing != present.passing:
        return False
    if rewritten.launch != case.launch or not _same_inputs(rewritten.inputs, case.inputs):
        return False
    one, other = read_cubin(form.cubin, form.entry), read_cubin(present.cubin, present.entry)
    return replace(one, entry=other.entry) == other


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
