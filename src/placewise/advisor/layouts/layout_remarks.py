"""Remarks on uncoalesced accesses to arrays of structs that name the layout which mends them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from placewise.advisor.layouts.joined_trial import looked_up_together
from placewise.advisor.lint import Remark, Rule, lint
from placewise.advisor.predictions.predicted_counters import CounterReport
from placewise.choose.layouts import awkwardness, layout_candidates, padded_struct
from placewise.errors import PlacewiseError
from placewise.executor import execute
from placewise.kernel.cases.case import Case, Language
from placewise.kernel.cases.prepare_case import ReadCase, compile_case, read_case
from placewise.kernel.struct_uses import StructArrays
from placewise.kernel.view import find_struct_arrays
from placewise.kernel.view.separate_arrays import (
    SeparateArrays,
    pointer_structs,
    separate_arrays,
)
from placewise.memory.fields import FieldCosts, FieldRecorder, field_costs
from placewise.rewriter.layouts.join_arrays import join_arrays
from placewise.space.layout import Layout, structure_of_arrays

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
        # The launch itself was simulated well; only its source cannot be read.
        return remarks
    return tuple(
        replace(r, message=f"{r.message}; {better[r.array]}")
        if r.rule is Rule.uncoalesced and r.array in better
        else r
        for r in remarks
    )


def _better_layouts(case: Case, wanted: set[str]) -> Iterator[tuple[str, str]]:
    """(array, what its best layout saves) for the arrays of structs among ``wanted``, and for
    separate arrays that gain as one array of structs."""
    read = read_case(case)
    for structs in find_struct_arrays(read.case):
        if structs.obstacle is None and wanted & set(structs.parameters):
            said = _saving(read.case, structs)
            if said is not None:
                yield from ((name, said) for name in structs.parameters)
    groups = looked_up_together(read.case, read.view)
    for group in (*groups, *((holder,) for holder in pointer_structs(read.case))):
        try:
            found = separate_arrays(read.case, read.view, group)
            said = _saving_together(read, found) if wanted & set(found.arrays) else None
        except PlacewiseError:
            # Each can be joined with some array, but not all of them with each other.
            continue
        if said is not None:
            yield from ((name, said) for name in found.arrays)


def _saving(case: Case, structs: StructArrays) -> str | None:
    """What the layout that moves the fewest sectors saves; None where that is little."""
    costs = _costs(case, structs)
    best = _best(costs, layout_candidates(costs), costs.layout(structs.record.declared))
    if best is None:
        return None
    layout, share = best
    return (
        f"laid out as {layout.kind()}, {layout.describe()}, {structs.type_name} would cause "
        f"{share:.2f} times the traffic (`placewise layout` writes it and predicts the gain)"
    )


def _saving_together(read: ReadCase, found: SeparateArrays) -> str | None:
    """What separate arrays save as one array of structs; None where that is little, or they cannot
    be joined."""
    joined = join_arrays(read.case, read.view, found)
    together = read_case(joined.case)
    (structs,) = (s for s in find_struct_arrays(together.case) if s.type_name == joined.type_name)
    if structs.obstacle is not None:
        return None
    record = structs.record
    costs = _costs(together.case, structs)
    apart = structure_of_arrays(record)
    padded = padded_struct(record)
    tried = [record.declared, *([padded] if padded else []), *layout_candidates(costs)]
    best = _best(costs, [c for c in tried if c != apart], costs.layout(apart))
    if best is None:
        return None
    layout, share = best
    return (
        f"{', '.join(joined.shown)} as one array of structs, {layout.describe()}, would cause "
        f"{share:.2f} times their traffic (`placewise layout --join {','.join(joined.shown)}` "
        "writes it and predicts the gain)"
    )


def _costs(case: Case, structs: StructArrays) -> FieldCosts:
    """Costs of groups of fields for the launch's accesses to the arrays."""
    recorder = FieldRecorder(structs.record, structs.parameters, case.launch)
    execute(
        compile_case(case), case.launch, case.inputs,
        consumer=recorder, trace_blocks=recorder.trace_blocks,
    )  # fmt: skip
    return field_costs(structs.record, recorder.accesses(), _REUSE_BYTES)


def _best(
    costs: FieldCosts, candidates: Sequence[Layout], present: float
) -> tuple[Layout, float] | None:
    """The simplest of the best layouts, and its cost over the ``present`` one's; None where that is
    little less."""
    if not present or not candidates:
        return None
    least = min(map(costs.layout, candidates))
    as_good = [c for c in candidates if costs.layout(c) <= AS_GOOD * least]
    best = min(as_good, key=awkwardness)
    share = costs.layout(best) / present
    return (best, share) if share <= LEAST_SAVING else None
