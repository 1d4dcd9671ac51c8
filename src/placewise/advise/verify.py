"""Proof: the rewritten kernel, compiled and executed on the same inputs, computes the same bits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from placewise.advise.advice import Verification
from placewise.errors import PlacewiseError
from placewise.execute import execute
from placewise.execute.result import Execution
from placewise.kernel.nvrtc import compile_kernel
from placewise.rewrite import Rewritten


def verify(rewritten: Rewritten, original: Execution) -> Verification:
    """Compile and run ``rewritten``; compare every array that the original run wrote.

    Errors of compilation or execution are findings here, not failures: they come back as detail.
    """
    case = rewritten.case
    try:
        kernel = compile_kernel(case.source, case.filename, case.kernel, case.options)
        run = execute(kernel, case.launch, case.inputs)
    except PlacewiseError as error:
        return Verification(False, f"failed: {error}", ())
    outputs = dict(run.outputs)
    compared = tuple(name for name, _ in original.outputs if name in outputs)
    missing = sorted(original.written - set(compared))
    if missing:
        return Verification(False, f"written array {missing[0]} is gone", compared)
    for name in compared:
        found = first_difference(original.output(name), outputs[name])
        if found is not None:
            return Verification(False, f"{name} differs at element {found}", compared)
    return Verification(True, "bit-identical", compared)


def first_difference(one: NDArray[np.generic], other: NDArray[np.generic]) -> int | None:
    """Flat index of the first element whose bits differ, or None."""
    a = np.ascontiguousarray(one).reshape(-1).view(np.uint8).reshape(one.size, -1)
    b = np.ascontiguousarray(other).reshape(-1).view(np.uint8).reshape(other.size, -1)
    if a.shape != b.shape:
        return 0
    differs = (a != b).any(axis=1)
    return int(differs.argmax()) if differs.any() else None
