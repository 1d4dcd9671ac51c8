"""Remarks on uncoalesced accesses to arrays of structs that name the layout which mends them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from placewise.advisor.lint import Remark, Rule, lint
from placewise.advisor.predictions.predicted_counters import CounterReport
from placewise.choose.layouts import SIMPLEST_FIRST, layout_candidates
from placewise.errors import PlacewiseError
from placewise.executor import execute
from placewise.kernel.cases.case import Case, Language
from placewise.kernel.cases.prepare_case import compile_case, read_case
from placewise.kernel.struct_uses import StructArrays
from placewise.kernel.view import find_struct_arrays
from placewise.memory.fields import FieldRecorder, field_costs

LEAST_SAVING = 0.7
"""A layout is named if it moves at most this share of the sectors."""
AS_GOOD = 1.1
"""A layout counts as good if it moves at most this many times the sectors that the best one moves.
The simplest good layout is named."""
_REUSE_BYTES = 4096
"""Bytes of L1 that one warp is assumed to have for itself. On a full SM since Volta it has at least
half of that: 128 KiB or more for 64 warps."""


def lint_with_layouts(report: CounterReport) -> tuple[Remark, ...]:
    """Remarks on a launch, as :func:`placewise.advisor.lint.lint` makes them. Where another layout
    of an array of structs would help, the remark also names that layout and the share of the
    sectors that it moves."""
    remarks = lint(report.run)
    wanted = {r.array for r in remarks if r.rule is Rule.uncoalesced and r.array}
    if not wanted or report.case.language is not Language.CUDA:
        return remarks
    try:
        better = dict(_better_layouts(report.case, {name for name in wanted if name}))
    except PlacewiseError:
        # The launch could be simulated, but its source cannot be read: remarks without layouts.
        return remarks
    return tuple(
        replace(r, message=f"{r.message}; {better[r.array]}")
        if r.rule is Rule.uncoalesced and r.array in better
        else r
        for r in remarks
    )


def _better_layouts(case: Case, wanted: set[str]) -> Iterator[tuple[str, str]]:
    """(array, what its best layout saves) for the arrays of structs among ``wanted``."""
    read = read_case(case)
    for structs in find_struct_arrays(read.case):
        if structs.obstacle is None and wanted & set(structs.parameters):
            said = _saving(read.case, structs)
            if said is not None:
                yield from ((name, said) for name in structs.parameters)


def _saving(case: Case, structs: StructArrays) -> str | None:
    """What the layout that moves the fewest sectors saves; None where that is little."""
    recorder = FieldRecorder(structs.record, structs.parameters, case.launch)
    execute(
        compile_case(case), case.launch, case.inputs,
        consumer=recorder, trace_blocks=recorder.trace_blocks,
    )  # fmt: skip
    costs = field_costs(structs.record, recorder.accesses(), _REUSE_BYTES)
    present = costs.layout(structs.record.declared)
    candidates = layout_candidates(costs)
    if not present or not candidates:
        return None
    least = min(map(costs.layout, candidates))
    as_good = [c for c in candidates if costs.layout(c) <= AS_GOOD * least]
    best = min(as_good, key=lambda c: (SIMPLEST_FIRST.index(c.kind()), len(c.groups)))
    share = costs.layout(best) / present
    if share > LEAST_SAVING:
        return None
    return (
        f"laid out as {best.kind()}, {best.describe()}, {structs.type_name} would cause "
        f"{share:.2f} times the traffic (`placewise layout` writes it and predicts the gain)"
    )
