"""The static cost of layouts: from a case's source and a machine's caches, without a run.

Peng, Grossman and Sarkar 2016, sections III and IV, with the choice of a layout that they leave to
future work.
"""

from __future__ import annotations

from collections.abc import Sequence

from placewise.advisor.layouts.read_for_layouts import read_for_layouts
from placewise.advisor.layouts.static_advice import (
    StaticLayoutAdvice,
    StaticOption,
    StaticStructAdvice,
)
from placewise.cases import CaseLike, load_case
from placewise.choose.layouts import awkwardness
from placewise.choose.static_layouts import search_static
from placewise.kernel.cases.prepare_case import ReadCase, named_case
from placewise.kernel.kernel import Kernel
from placewise.kernel.launch import Launch
from placewise.kernel.static_accesses import StaticProgram
from placewise.kernel.struct_uses import StructArrays
from placewise.kernel.view import find_struct_arrays
from placewise.kernel.view.separate_arrays import pointer_structs, separate_arrays
from placewise.kernel.view.static_accesses import static_accesses
from placewise.machine import Machine, MachineLike, load_machine
from placewise.memory.occupancy import occupancy
from placewise.model.static_layout import CacheLevels, CostVector, static_cost
from placewise.progress import Progress, silent
from placewise.rewriter.layouts.join_arrays import JoinedArrays, join_arrays
from placewise.space.layout import Layout, Record, parse_layout, structure_of_arrays

LEAST_GAIN = 0.03
"""Least part of the cost that a recommended layout saves, as the cost before over that after."""
MOST_SHOWN = 8
"""Most layouts of a search that are kept, the cheapest; the structure of arrays is kept besides."""
_LINE_BYTES = 128
"""Line of L1 where a machine file gives none: that of all GPUs with an L1 for global memory."""


def estimate_layouts(
    case: CaseLike,
    machine: MachineLike,
    *,
    layouts: Sequence[str] = (),
    join: Sequence[str] = (),
    least_gain: float = LEAST_GAIN,
    nvrtc: str | None = None,
    progress: Progress = silent,
) -> StaticLayoutAdvice:
    """Static cost of the layouts of the arrays of structs of ``case``, without a run (Peng,
    Grossman and Sarkar 2016).

    The kernel is compiled for the number of its registers, which decide how many blocks share an
    L1; its accesses are read off the source. ``layouts`` names layouts to look at, as
    :func:`placewise.space.layout.parse_layout` reads them; without it, all partitions of few fields
    are looked at, and of more fields those that a descent meets. ``join`` names separate arrays
    that are taken as the fields of one struct; the members of a struct of pointers are taken so
    where there is no array of structs. A layout is recommended if it lowers the cost by
    ``least_gain``: 0.03 is a cost of 1 / 1.03.

    Raises UnsupportedError where the kernel is not CUDA C++, its definition is not found, or arrays
    cannot be joined; CaseError, CompileError or MachineError for bad input.
    """
    machine = load_machine(machine)
    read, notes = read_for_layouts(load_case(case), machine, nvrtc, progress)
    levels = cache_levels(read.kernel, read.case.launch, machine)
    progress("reading the accesses off the source", 0, 0)
    found = () if join else find_struct_arrays(read.case)
    wanted = [join] if join else [] if found else [(h,) for h in pointer_structs(read.case)]
    parts: list[StaticStructAdvice] = []
    programs: list[StaticProgram] = []
    if found:
        program = static_accesses(read.case)
        programs.append(program)
        of = StaticKernel(program, found, read.case.launch, levels)
        parts += [_advice(of, s, layouts, least_gain, None) for s in found]
    for arrays in wanted:
        joined, structs, program = _joined(read, arrays)
        programs.append(program)
        of = StaticKernel(program, (structs,), read.case.launch, levels)
        parts.append(_advice(of, structs, layouts, least_gain, joined))
    assumed = tuple(dict.fromkeys(said for program in programs for said in program.assumed))
    return StaticLayoutAdvice(read.case, machine, levels, tuple(parts), assumed, notes)


def cache_levels(kernel: Kernel, launch: Launch, machine: Machine) -> CacheLevels:
    """The figures of a machine that the static cost uses, for one compiled kernel. Global memory
    with no cache in front of L2 has no L1; caches of unknown size count as absent."""
    levels = machine.levels("global")
    first = levels[0] if len(levels) > 2 else None
    shared = launch.shared_bytes + kernel.static_shared_bytes
    resident = occupancy(launch, machine, registers=kernel.registers, shared_bytes=shared)
    return CacheLevels(
        l1_bytes=(first.size_bytes or 0) if first is not None else 0,
        l1_line_bytes=(first.detail.line_bytes if first is not None else None) or _LINE_BYTES,
        l2_bytes=(levels[-2].size_bytes or 0) if len(levels) > 1 else 0,
        blocks_per_sm=max(1, resident.blocks),
    )


class StaticKernel:
    """A kernel's accesses, its arrays of structs and the caches that they meet."""

    def __init__(
        self,
        program: StaticProgram,
        structs: Sequence[StructArrays],
        launch: Launch,
        levels: CacheLevels,
    ) -> None:
        self.program = program
        self.launch = launch
        self.levels = levels
        known = [(name, s.record) for s in structs if s.record.fields for name in s.parameters]
        self.records: dict[str, Record] = dict(known)

    def cost(self, structs: StructArrays, layout: Layout) -> CostVector:
        """Cost of the whole kernel with one struct type's arrays in ``layout``, the others as they
        are declared."""
        layouts = {
            name: layout if name in structs.parameters else record.declared
            for name, record in self.records.items()
        }
        return static_cost(self.program, self.records, layouts, self.launch, self.levels)

    def accessed(self, structs: StructArrays) -> frozenset[str]:
        """Fields of a struct type that the kernel accesses."""
        return frozenset(
            access.field for access in self.program.accesses() if access.array in structs.parameters
        )


def _joined(
    read: ReadCase, arrays: Sequence[str]
) -> tuple[JoinedArrays, StructArrays, StaticProgram]:
    """Separate arrays as one array of structs, in a source that has them so."""
    joined = join_arrays(read.case, read.view, separate_arrays(read.case, read.view, arrays))
    case = named_case(joined.case)
    (structs,) = (s for s in find_struct_arrays(case) if s.type_name == joined.type_name)
    return joined, structs, static_accesses(case)


def _advice(
    of: StaticKernel, structs: StructArrays, layouts: Sequence[str], least_gain: float,
    joined: JoinedArrays | None,
) -> StaticStructAdvice:  # fmt: skip
    """Costs of the layouts of one struct type."""
    record = structs.record
    names = structs.parameters if joined is None else joined.shown
    if not record.fields:
        return StaticStructAdvice(structs, names, record.declared, CostVector((0.0,)))
    now = structure_of_arrays(record) if joined else record.declared
    present = of.cost(structs, now)
    if layouts:
        asked = dict.fromkeys(parse_layout(text, record) for text in layouts)
        ranked = sorted(
            ((one, of.cost(structs, one)) for one in asked),
            key=lambda pair: (pair[1], *awkwardness(pair[0])),
        )
        looked_at, exact = len(ranked), False
    else:
        search = search_static(record, of.accessed(structs), lambda one: of.cost(structs, one))
        alone = structure_of_arrays(record)
        shown = search.ranked[:MOST_SHOWN]
        ranked = [*shown, *(p for p in search.ranked[MOST_SHOWN:] if p[0] == alone)]
        looked_at, exact = len(search.ranked), search.exact
    options = tuple(StaticOption(o, c, c.over(present)) for o, c in ranked if o != now)
    best = options[0] if options and options[0].cost < present else None
    if best is not None and best.ratio * (1.0 + least_gain) > 1.0:
        best = None
    return StaticStructAdvice(structs, names, now, present, options, best, looked_at, exact)
