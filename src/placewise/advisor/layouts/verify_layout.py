"""Proof of a layout: the rewritten kernel computes the same bits after conversion back."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from placewise.advisor.advice import Verification
from placewise.advisor.forms.verify import UNCONTRACTED, uncontracted
from placewise.errors import PlacewiseError
from placewise.executor import Execution, execute
from placewise.kernel.cases.case import Case
from placewise.kernel.cases.prepare_case import compile_case
from placewise.kernel.kernel import Kernel
from placewise.rewriter.layouts import Relaid, Reordered, original_arrays, original_matrices
from placewise.space.layout import PADDING, field_at

FirstUnlike = Callable[[Execution, Execution], str | None]
"""The first array that differs between a run of the original and one of the rewritten kernel."""


def verify_layout(relaid: Relaid, original: Case, truth: Execution, kernel: Kernel) -> Verification:
    """Run ``kernel``, the compiled form of ``relaid``, and compare every array with ``truth``, the
    run of ``original``; bytes of padding do not count.

    An error of the execution is a finding: it comes back as detail. Where outputs differ, both are
    compared once more, compiled without fused multiply-adds.
    """
    return _verify(relaid.case, partial(first_unlike, relaid), original, truth, kernel)


def verify_matrices(
    reordered: Reordered, original: Case, truth: Execution, kernel: Kernel
) -> Verification:
    """Run ``kernel``, the compiled form of ``reordered``, and compare every array with ``truth``,
    the run of ``original``, after its matrices are put back into row-by-row order. An error of the
    execution comes back as detail. Where outputs differ, both are compared once more, compiled
    without fused multiply-adds."""
    return _verify(reordered.case, partial(_unlike_matrix, reordered), original, truth, kernel)


def _verify(
    written: Case, unlike: FirstUnlike, original: Case, truth: Execution, kernel: Kernel
) -> Verification:
    names = tuple(name for name, _ in truth.outputs)
    try:
        found = unlike(truth, execute(kernel, written.launch, written.inputs))
        if found is None:
            return Verification(True, "bit-identical", names)
        if first_unlike_of(truth, _run(original), names) is not None:
            detail = "not provable: the kernel has a race, two runs of the original differ"
            return Verification(False, detail, names)
        if unlike(_run(uncontracted(original)), _run(uncontracted(written))) is None:
            detail = f"bit-identical under {UNCONTRACTED}; without it other multiply-adds are fused"
            return Verification(True, detail, names)
    except PlacewiseError as error:
        return Verification(False, f"failed: {error.message}", ())
    return Verification(False, f"{found} differs", names)


def first_unlike(relaid: Relaid, truth: Execution, found: Execution) -> str | None:
    """The first array whose bits differ, after conversion back; None where none does."""
    outputs = dict(found.outputs)
    converted = original_arrays(relaid, outputs)
    held = _held_bytes(relaid)
    for name, expected in truth.outputs:
        before = bytes_of(expected)
        if name in converted:
            is_held = held[np.arange(before.size) % len(held)]
            if (converted[name] != before)[is_held].any():
                return name
        elif name in outputs and (bytes_of(outputs[name]) != before).any():
            return name
    return None


def _unlike_matrix(reordered: Reordered, truth: Execution, found: Execution) -> str | None:
    outputs = dict(found.outputs)
    outputs |= original_matrices(reordered, outputs)
    for name, expected in truth.outputs:
        if name in outputs and (bytes_of(outputs[name]) != bytes_of(expected)).any():
            return name
    return None


def first_unlike_of(truth: Execution, found: Execution, names: tuple[str, ...]) -> str | None:
    """The first array of two runs of one kernel whose bits differ."""
    for name in names:
        if (bytes_of(truth.output(name)) != bytes_of(found.output(name))).any():
            return name
    return None


def _held_bytes(relaid: Relaid) -> NDArray[np.bool_]:
    """Whether each byte of the declared struct belongs to a field (not to padding); bool of shape
    (struct size,)."""
    record = relaid.arrays.record
    group = record.declared.groups[0]
    size = relaid.struct_bytes
    owner, _, _ = field_at(record, group, np.arange(size))
    held: NDArray[np.bool_] = owner != PADDING
    return held


def bytes_of(data: NDArray[np.generic]) -> NDArray[np.uint8]:
    """The bytes of an array, of shape (bytes,)."""
    return np.ascontiguousarray(data).reshape(-1).view(np.uint8)


def _run(case: Case) -> Execution:
    return execute(compile_case(case), case.launch, case.inputs)
