"""From a case and a machine to advice on the layout of its arrays.

A few layouts are chosen by what the launch's accesses would move in each; each is written out, run,
compared with the original bit for bit, and timed from its own machine code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from placewise.advisor.finalists import DEMAND, Demand
from placewise.advisor.forms.timing import time_form
from placewise.advisor.layouts.advise_matrices import advise_matrices
from placewise.advisor.layouts.estimate_layouts import StaticKernel, cache_levels
from placewise.advisor.layouts.joined_trial import join_remarks, joined_trial
from placewise.advisor.layouts.layout_advice import (
    Conversion,
    LayoutAdvice,
    LayoutOption,
    StructAdvice,
)
from placewise.advisor.layouts.layout_trial import Trial, fastest_first, recommended
from placewise.advisor.layouts.read_for_layouts import read_for_layouts
from placewise.advisor.layouts.verify_layout import verify_layout
from placewise.cases import CaseLike, load_case
from placewise.choose.layouts import awkwardness, layout_candidates, padded_struct
from placewise.errors import PlacewiseError, UnsupportedError
from placewise.executor import DEFAULT_LIMIT, Execution
from placewise.kernel.cases.case import Case
from placewise.kernel.cases.prepare_case import compile_case
from placewise.kernel.kernel import Kernel
from placewise.kernel.struct_uses import StructArrays
from placewise.kernel.view import find_matrices, find_struct_arrays
from placewise.kernel.view.separate_arrays import pointer_structs
from placewise.kernel.view.static_accesses import static_accesses
from placewise.machine import Machine, MachineLike, load_machine
from placewise.memory.fields import FieldAccesses, FieldCosts, FieldRecorder, field_costs
from placewise.memory.fields.record import line_uses
from placewise.memory.occupancy import occupancy
from placewise.progress import Progress, silent
from placewise.rewriter.layouts import Relaid, rewrite_layout
from placewise.space.layout import Layout, parse_layout, structure_of_arrays

_FALLBACK_L1_BYTES = 16 * 1024
"""Bytes of L1 that are assumed where a machine file has no cache in front of L2: the least that
GPUs with an L1 have."""


def advise_layout(
    case: CaseLike,
    machine: MachineLike,
    *,
    layouts: Sequence[str] = (),
    join: Sequence[str] = (),
    demand: Demand = DEMAND,
    nvrtc: str | None = None,
    progress: Progress = silent,
    instruction_limit: int = DEFAULT_LIMIT,
) -> LayoutAdvice:
    """Advise how the arrays of ``case`` should be laid out on ``machine``: arrays of structs from
    AoS to SoA, arrays that are indexed as matrices row by row or column by column.

    ``layouts`` names the layouts of structs to try, as :func:`placewise.space.layout.parse_layout`
    reads them; without it, layouts are chosen from what the launch accesses. ``join`` names
    separate arrays of one length that are tried as the fields of one array of structs. The members
    of a struct of pointers, which the kernel gets by value, are tried so without being named where
    there is no array of structs.

    Raises UnsupportedError where the kernel is not CUDA C++ or arrays cannot be joined, and
    CaseError, CompileError, MachineError or ExecutionError for bad input. A struct that cannot have
    another layout is no error: its advice says why.
    """
    machine = load_machine(machine)
    read, notes = read_for_layouts(load_case(case), machine, nvrtc, progress)
    case, kernel, view = read.case, read.kernel, read.view
    if join:
        present = time_form(kernel, case, machine)
        trial = Trial(case, kernel, machine, view, present, demand, progress, instruction_limit)
        return LayoutAdvice(case, machine, (_joined_advice(trial, join, layouts),), None, notes)
    found, matrices = find_struct_arrays(case), find_matrices(case)
    holders = () if found else pointer_structs(case)
    if not found and not matrices and not holders:
        remarks = join_remarks(case, view)
        return LayoutAdvice(case, machine, (), None, (*notes, *remarks))
    wanted = {s.type_name: [parse_layout(t, s.record) for t in layouts]
              for s in found if s.obstacle is None}  # fmt: skip
    progress("timing the present layout", 0, 0)
    present = time_form(kernel, case, machine)
    trial = Trial(case, kernel, machine, view, present, demand, progress, instruction_limit)
    advice = [_joined_advice(trial, (holder,), layouts) for holder in holders]
    for structs in found:
        recorder = FieldRecorder(structs.record, structs.parameters, case.launch)
        truth = trial.trace(recorder)
        chosen = wanted.get(structs.type_name, [])
        advice.append(_struct_advice(trial, structs, found, recorder.accesses(), truth, chosen))
    orders = advise_matrices(trial, matrices) if matrices and not layouts else None
    remarks = () if found or holders else join_remarks(case, view)
    return LayoutAdvice(case, machine, tuple(advice), orders, (*notes, *remarks))


def _joined_advice(trial: Trial, join: Sequence[str], layouts: Sequence[str]) -> StructAdvice:
    """Try separate arrays as the fields of one array of structs, in layouts other than the present
    one."""
    made = joined_trial(trial, join)
    structs, trial = made.structs, made.trial
    record = structs.record
    recorder = FieldRecorder(record, structs.parameters, trial.case.launch)
    truth = trial.trace(recorder)
    now = structure_of_arrays(record)
    wanted = [parse_layout(text, record) for text in layouts]
    costs = field_costs(record, recorder.accesses(), _reuse_bytes(trial))
    if not wanted:
        padded = padded_struct(record)
        wanted = [record.declared, *([padded] if padded else [])]
        wanted += [c for c in layout_candidates(costs) if c not in (now, *wanted)]
    options = _judged(trial, structs, (structs,), now, costs, _tried(trial, structs, wanted, truth))
    best = recommended(options, trial.demand, lambda o: awkwardness(o.layout))
    conversion = None
    if best is not None:
        fields = sum(f.size_bytes for f in record.fields)
        elements = sum(n for _, n in best.relaid.elements) if best.relaid else 0
        conversion = _conversion(trial, best, fields * elements)
    return StructAdvice(structs, (), trial.present, options, best, conversion, joined=made.joined)


def _struct_advice(
    trial: Trial, structs: StructArrays, all_structs: Sequence[StructArrays],
    accesses: FieldAccesses, truth: Execution, wanted: list[Layout],
) -> StructAdvice:  # fmt: skip
    """Try the layouts of one struct type; ``all_structs`` are all that the kernel has."""
    if structs.obstacle is not None:
        return StructAdvice(structs, (), trial.present, (), None, None)
    lines = line_uses(structs.record, accesses)
    trial.progress(f"choosing layouts of {structs.type_name}", 0, 0)
    costs = field_costs(structs.record, accesses, _reuse_bytes(trial))
    tried = _tried(trial, structs, wanted or layout_candidates(costs), truth)
    ranked = _judged(trial, structs, all_structs, structs.record.declared, costs, tried)
    best = recommended(ranked, trial.demand, lambda o: awkwardness(o.layout))
    conversion = None if best is None else _conversion(trial, best)
    return StructAdvice(structs, lines, trial.present, ranked, best, conversion)


def _tried(
    trial: Trial, structs: StructArrays, wanted: Sequence[Layout], truth: Execution
) -> tuple[LayoutOption, ...]:
    """Layouts written out, proven and timed, the fastest first."""
    options = []
    for done, layout in enumerate(wanted):
        trial.progress(f"trying layout {layout.describe()}", done, len(wanted))
        options.append(_option(trial, structs, layout, truth))
    return fastest_first(options)


def _judged(
    trial: Trial, structs: StructArrays, all_structs: Sequence[StructArrays], now: Layout,
    costs: FieldCosts, options: Sequence[LayoutOption],
) -> tuple[LayoutOption, ...]:  # fmt: skip
    """The options with what the traced accesses and the source alone say of them."""
    moved = costs.sectors(now)
    try:
        program = static_accesses(trial.case)
    except UnsupportedError:
        of = None
    else:
        levels = cache_levels(trial.kernel, trial.case.launch, trial.machine)
        of = StaticKernel(program, all_structs, trial.case.launch, levels)
    present = None if of is None else of.cost(structs, now)
    made = []
    for option in options:
        static = None
        if of is not None and present is not None and present.total:
            static = of.cost(structs, option.layout).over(present)
        sectors = costs.sectors(option.layout) / moved if moved else None
        made.append(replace(option, sectors_ratio=sectors, static_ratio=static))
    return tuple(made)


def _option(trial: Trial, structs: StructArrays, layout: Layout, truth: Execution) -> LayoutOption:
    """Write, compile, prove and time one layout."""
    relaid: Relaid | None = None
    named = layout.describe(), layout.kind()
    try:
        relaid = rewrite_layout(trial.case, trial.view, structs, layout)
        kernel = compile_case(relaid.case)
    except PlacewiseError as error:
        return LayoutOption(*named, False, error.message, None, None, structs, layout, relaid)
    proof = verify_layout(relaid, trial.case, truth, kernel)
    timed, ratio = trial.time(relaid.case, kernel) if proof.identical else (None, None)
    return LayoutOption(
        *named, proof.identical, proof.detail, timed, ratio, structs, layout, relaid
    )


def _reuse_bytes(trial: Trial) -> int:
    return reuse_bytes(trial.case, trial.kernel, trial.machine)


def reuse_bytes(case: Case, kernel: Kernel, machine: Machine) -> int:
    """One resident warp's share of the L1 cache, in bytes."""
    first = machine.levels("global")[0]
    size = first.size_bytes or _FALLBACK_L1_BYTES
    if len(machine.levels("global")) < 3:
        size = _FALLBACK_L1_BYTES
    resident = occupancy(
        case.launch,
        machine,
        registers=kernel.registers,
        shared_bytes=case.launch.shared_bytes + kernel.static_shared_bytes,
    )
    return max(1024, size // max(1, resident.warps))


def _conversion(trial: Trial, option: LayoutOption, old: int | None = None) -> Conversion:
    """Cost of converting the arrays to the layout and back, beside what a launch gains. ``old`` is
    the present size of the arrays in bytes; None: the size of the array of structs."""
    relaid = option.relaid
    assert relaid is not None, "a recommended layout is written"
    sizes = dict(relaid.case.inputs.array_bytes)
    groups = range(len(option.layout.groups))
    new = sum(
        sizes[relaid.names.parameter(array, number)]
        for array, _ in relaid.elements
        for number in groups
    )
    if old is None:
        old = sum(n * relaid.struct_bytes for _, n in relaid.elements)
    return trial.conversion(option, old, new)
