"""Proof of a layout: the rewritten kernel computes the same bits after conversion back."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from placewise.advisor.advice import Verification
from placewise.advisor.verify import UNCONTRACTED
from placewise.errors import PlacewiseError
from placewise.executor import Execution, execute
from placewise.kernel.cases.case import Case
from placewise.kernel.cases.prepare_case import compile_case
from placewise.kernel.kernel import Kernel
from placewise.rewriter.layouts import Relaid, original_arrays
from placewise.space.layout import PADDING, field_at


def verify_layout(relaid: Relaid, original: Case, truth: Execution, kernel: Kernel) -> Verification:
    """Run ``kernel``, the compiled form of ``relaid``, and compare every array with ``truth``, the
    run of ``original``; bytes of padding do not count.

    An error of the execution is a finding: it comes back as detail. Where outputs differ, both are
    compared once more without contraction of multiply and add.
    """
    try:
        found = execute(kernel, relaid.case.launch, relaid.case.inputs)
        unlike = first_unlike(relaid, truth, found)
        if unlike is None:
            return Verification(True, "bit-identical", _names(truth))
        if first_unlike_of(truth, _run(original), _names(truth)) is not None:
            detail = "not provable: the kernel races, two runs of the original differ"
            return Verification(False, detail, _names(truth))
        expected, plain = _uncontracted(original), _uncontracted(relaid.case)
        if first_unlike(relaid, expected, plain) is None:
            detail = f"bit-identical under {UNCONTRACTED}; else multiply-adds are contracted"
            return Verification(True, f"{detail} otherwise", _names(truth))
    except PlacewiseError as error:
        return Verification(False, f"failed: {error.message}", ())
    return Verification(False, f"{unlike} differs", _names(truth))


def first_unlike(relaid: Relaid, truth: Execution, found: Execution) -> str | None:
    """The first array whose bits differ, after conversion back; None where none does."""
    outputs = dict(found.outputs)
    converted = original_arrays(relaid, outputs)
    held = _held_bytes(relaid)
    for name, expected in truth.outputs:
        before = _bytes(expected)
        if name in converted:
            is_held = held[np.arange(before.size) % len(held)]
            if (converted[name] != before)[is_held].any():
                return name
        elif name in outputs and (_bytes(outputs[name]) != before).any():
            return name
    return None


def first_unlike_of(truth: Execution, found: Execution, names: tuple[str, ...]) -> str | None:
    """The first array of two runs of one kernel whose bits differ."""
    for name in names:
        if (_bytes(truth.output(name)) != _bytes(found.output(name))).any():
            return name
    return None


def _held_bytes(relaid: Relaid) -> NDArray[np.bool_]:
    """(struct size,) which bytes of the declared struct belong to a field."""
    record = relaid.arrays.record
    group = record.declared.groups[0]
    size = relaid.struct_bytes
    owner, _, _ = field_at(record, group, np.arange(size))
    held: NDArray[np.bool_] = owner != PADDING
    return held


def _bytes(data: NDArray[np.generic]) -> NDArray[np.uint8]:
    return np.ascontiguousarray(data).reshape(-1).view(np.uint8)


def _names(run: Execution) -> tuple[str, ...]:
    return tuple(name for name, _ in run.outputs)


def _run(case: Case) -> Execution:
    return execute(compile_case(case), case.launch, case.inputs)


def _uncontracted(case: Case) -> Execution:
    flags = (*case.options.flags, UNCONTRACTED)
    return _run(replace(case, options=replace(case.options, flags=flags)))
