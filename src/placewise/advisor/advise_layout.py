"""From a case and a machine to advice on the layout of its arrays of structs.

A few layouts are chosen by what the launch's accesses would move in each; each is written out, run,
compared with the original bit for bit, and timed from its own machine code.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from placewise.advisor.finalists import AS_GOOD, Demand
from placewise.advisor.layout_advice import Conversion, LayoutAdvice, LayoutOption, StructAdvice
from placewise.advisor.timing import Timed, ratio_of_times, time_form
from placewise.advisor.verify_layout import verify_layout
from placewise.cases import CaseLike, load_case
from placewise.choose.layouts import SIMPLEST_FIRST, layout_candidates
from placewise.errors import PlacewiseError, UnsupportedError
from placewise.executor import DEFAULT_LIMIT, Execution, execute
from placewise.kernel.cases.case import Case, Language
from placewise.kernel.cases.check_launch import check_case
from placewise.kernel.cases.prepare_case import compile_case, read_case
from placewise.kernel.kernel import Kernel
from placewise.kernel.source import SourceView
from placewise.kernel.struct_uses import StructArrays
from placewise.kernel.target import target_for
from placewise.kernel.view import find_struct_arrays
from placewise.machine import Machine, MachineLike, load_machine
from placewise.memory.fields import FieldAccesses, FieldRecorder, field_costs
from placewise.memory.fields.record import line_uses
from placewise.memory.occupancy import occupancy
from placewise.progress import Progress, silent
from placewise.rewriter.layouts import Relaid, rewrite_layout
from placewise.space.layout import Layout, parse_layout

_FALLBACK_L1_BYTES = 16 * 1024
"""Where a machine file names no cache in front of L2: the least that GPUs with one have."""
DEFAULT_DEMAND = Demand()


@dataclass(frozen=True, eq=False)
class _Line:
    """What all options of a case share."""

    case: Case
    machine: Machine
    view: SourceView
    truth: Execution
    present: Timed
    demand: Demand


def advise_layout(
    case: CaseLike,
    machine: MachineLike,
    *,
    layouts: Sequence[str] = (),
    demand: Demand = DEFAULT_DEMAND,
    nvrtc: str | None = None,
    progress: Progress = silent,
    instruction_limit: int = DEFAULT_LIMIT,
) -> LayoutAdvice:
    """Advise how the arrays of structs of ``case`` should be laid out on ``machine``.

    ``layouts`` names the layouts to try, as :func:`placewise.space.layout.parse_layout` reads them;
    without, they are chosen by what the launch accesses. Raises UnsupportedError where the kernel
    is not CUDA C++, and CaseError, CompileError, MachineError or ExecutionError for bad input. A
    struct that cannot have another layout is no error: its advice says why.
    """
    case, machine = load_case(case), load_machine(machine)
    if case.language is not Language.CUDA:
        raise UnsupportedError(
            f"the kernel is {case.language}; layouts are read from CUDA C++", where=case.filename
        )
    check_case(case, machine.limits)
    nvrtc = nvrtc or case.options.nvrtc
    arch, stand_in = target_for(machine.limits.compute_capability, nvrtc)
    case = replace(case, options=replace(case.options, arch=arch, nvrtc=nvrtc))
    progress("compiling", 0, 0)
    read = read_case(case)
    case, kernel, view = read.case, read.kernel, read.view
    check_case(case, machine.limits, kernel.static_shared_bytes)
    notes = (*machine.warnings, *([stand_in] if stand_in else []), *read.notes)
    found = find_struct_arrays(case)
    if not found:
        return LayoutAdvice(case, machine, (), notes)
    wanted = {s.type_name: [parse_layout(t, s.record) for t in layouts]
              for s in found if s.obstacle is None}  # fmt: skip
    progress("timing the present layout", 0, 0)
    present = time_form(kernel, case, machine)
    advice = []
    for structs in found:
        recorder = FieldRecorder(structs.record, structs.parameters, case.launch)
        progress("running and tracing", 0, 0)
        truth = execute(
            kernel, case.launch, case.inputs, consumer=recorder,
            trace_blocks=recorder.trace_blocks, instruction_limit=instruction_limit,
        )  # fmt: skip
        line = _Line(case, machine, view, truth, present, demand)
        chosen = wanted.get(structs.type_name, [])
        advice.append(_struct_advice(line, structs, kernel, recorder.accesses(), chosen, progress))
    return LayoutAdvice(case, machine, tuple(advice), notes)


def _struct_advice(
    line: _Line, structs: StructArrays, kernel: Kernel, accesses: FieldAccesses,
    wanted: list[Layout], progress: Progress,
) -> StructAdvice:  # fmt: skip
    """Try the layouts of one struct type."""
    if structs.obstacle is not None:
        return StructAdvice(structs, (), line.present, (), None, None)
    lines = line_uses(structs.record, accesses)
    if not wanted:
        progress(f"choosing layouts of {structs.type_name}", 0, 0)
        costs = field_costs(structs.record, accesses, _reuse_bytes(line, kernel))
        wanted = layout_candidates(costs)
    options = []
    for done, layout in enumerate(wanted):
        progress(f"trying layout {layout.describe()}", done, len(wanted))
        options.append(_option(line, structs, layout))
    ranked = sorted(options, key=lambda o: (not o.proven, o.ratio.ratio if o.ratio else math.inf))
    best = _recommended(ranked, line.demand)
    conversion = None if best is None else _conversion(line, best)
    return StructAdvice(structs, lines, line.present, tuple(ranked), best, conversion)


def _option(line: _Line, structs: StructArrays, layout: Layout) -> LayoutOption:
    """Write, compile, prove and time one layout."""
    relaid: Relaid | None = None
    try:
        relaid = rewrite_layout(line.case, line.view, structs, layout)
        kernel = compile_case(relaid.case)
    except PlacewiseError as error:
        return LayoutOption(structs, layout, relaid, False, error.message, None, None)
    proof = verify_layout(relaid, line.case, line.truth, kernel)
    if not proof.identical:
        return LayoutOption(structs, layout, relaid, False, proof.detail, None, None)
    timed = time_form(kernel, relaid.case, line.machine)
    ratio = ratio_of_times(timed, line.present)
    return LayoutOption(structs, layout, relaid, True, proof.detail, timed, ratio)


def _recommended(ranked: list[LayoutOption], demand: Demand) -> LayoutOption | None:
    """The layout to recommend: of those nearly as fast as the fastest, the simplest one."""
    good = [
        o
        for o in ranked
        if o.proven and o.ratio is not None and demand.is_met(o.ratio.ratio, o.ratio.faster)
    ]
    if not good:
        return None
    ratios = {id(o): o.ratio.ratio for o in good if o.ratio is not None}
    least = min(ratios.values())
    as_good = [o for o in good if ratios[id(o)] <= least * (1 + AS_GOOD)]
    return min(as_good, key=lambda o: (_awkwardness(o.layout), ratios[id(o)]))


def _awkwardness(layout: Layout) -> tuple[int, int]:
    """How much harder to live with a layout is than the declared one, to compare."""
    return SIMPLEST_FIRST.index(layout.kind()), len(layout.groups)


def _reuse_bytes(line: _Line, kernel: Kernel) -> int:
    """Bytes of the L1 cache that one resident warp has for itself."""
    first = line.machine.levels("global")[0]
    size = first.size_bytes or _FALLBACK_L1_BYTES
    if len(line.machine.levels("global")) < 3:
        size = _FALLBACK_L1_BYTES
    resident = occupancy(
        line.case.launch,
        line.machine,
        registers=kernel.registers,
        shared_bytes=line.case.launch.shared_bytes + kernel.static_shared_bytes,
    )
    return max(1024, size // max(1, resident.warps))


def _conversion(line: _Line, option: LayoutOption) -> Conversion:
    """Cost of converting the arrays to the layout and back, against what a launch gains."""
    assert option.relaid is not None, "a recommended layout is written"
    sizes = dict(option.relaid.case.inputs.array_bytes)
    groups = range(len(option.layout.groups))
    new = sum(
        sizes[option.relaid.names.parameter(array, number)]
        for array, _ in option.relaid.elements
        for number in groups
    )
    old = sum(n * option.relaid.struct_bytes for _, n in option.relaid.elements)
    limits = line.machine.limits
    bandwidth = limits.dram_bandwidth_achieved_gb_per_s or limits.dram_bandwidth_gb_per_s
    milliseconds = None if not bandwidth else 2 * (new + old) / bandwidth * 1e-6
    launches = None
    before, after = line.present.ms, None if option.timed is None else option.timed.ms
    if milliseconds is not None and before is not None and after is not None and after < before:
        launches = math.ceil(milliseconds / (before - after))
    return Conversion(2 * (new + old), milliseconds, launches)
