"""What can be written for one kernel, and whether it computes the same bits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from placewise.advisor import Prepared, prepare, verify
from placewise.advisor.layouts.verify_layout import verify_layout
from placewise.errors import PlacewiseError
from placewise.executor.check import Checker
from placewise.executor.one_launch import execute
from placewise.kernel.cases.case import Case
from placewise.kernel.cases.prepare_case import compile_case, named_case
from placewise.kernel.view import find_struct_arrays
from placewise.machine import load_machine
from placewise.rewriter import rewrite
from placewise.rewriter.layouts import rewrite_layout
from placewise.space import Placement
from placewise.space.layout import Layout, structure_of_arrays, tiled_structs

MACHINE = "A100"
TOGETHER = 3
"""Placements that move several arrays at once, drawn at random."""
CHECKED_INSTRUCTIONS = 2_000_000
"""Warp instructions up to which a written form also runs under the checker."""


@dataclass(frozen=True)
class Outcome:
    """What came of one kernel."""

    suite: str
    program: str
    kernel: str
    placements: int = 0
    """Proven: compiled, and the same bits."""
    example: str = ""
    """One of them."""
    wrong: tuple[str, ...] = ()
    """Forms with other bits, or that do not compile, or with new findings of the checker."""
    layouts: int = 0
    """Layouts of arrays of structs that are proven."""
    why_not: str = ""
    """Why there is no placement, or no layout of arrays of structs."""


def judge(suite: str, program: str, kernel: str, case: Case) -> Outcome:
    """Write placements and layouts of a case and compare them with it."""
    try:
        prepared = prepare(case, load_machine(MACHINE))
    except PlacewiseError as error:
        return Outcome(suite, program, kernel, why_not=_short(error))
    proven: list[str] = []
    wrong: list[str] = []
    refused: Counter[str] = Counter()
    clean = _is_clean(prepared.case)
    for placement in candidates(prepared):
        what = placement.describe(prepared.legality.present)
        moves = placement.moved(prepared.legality.present)
        part = Placement(tuple((a, to) for a, _, to in moves), placement.chunk)
        try:
            written = rewrite(prepared.case, part, prepared.machine, prepared.view)
        except PlacewiseError as error:
            refused[_short(error)] += 1
            continue
        found = verify(written, prepared.case, prepared.execution)
        if not found.identical:
            (refused.update([found.detail]) if "not provable" in found.detail else
             wrong.append(f"{what}: {found.detail}"))  # fmt: skip
        elif clean and _is_clean(written.case) is False:
            wrong.append(f"{what}: findings of the checker")
        else:
            proven.append(what)
    layouts, unlike = _layouts(prepared)
    reason = "" if proven else _reason(prepared, refused)
    return Outcome(
        suite, program, kernel, len(proven), proven[0] if proven else "",
        (*wrong, *unlike), layouts, reason,
    )  # fmt: skip


def candidates(prepared: Prepared) -> Iterator[Placement]:
    """Each array alone in each other legal space, some arrays together, some tiles by chunks."""
    legality = prepared.legality
    present = legality.present
    for array in legality.arrays:
        for space in legality.spaces(array):
            if space != present[array]:
                yield Placement(tuple((a, space if a == array else s) for a, s in present))
    drawn = np.random.default_rng(7)
    for _ in range(TOGETHER):
        spaces = tuple((a, str(drawn.choice(legality.searched(a)))) for a in legality.arrays)
        together = Placement(spaces)
        if len(together.moved(present)) > 1 and legality.fits(together) is None:
            yield together
    yield from legality.chunked[:TOGETHER]


def _layouts(prepared: Prepared) -> tuple[int, tuple[str, ...]]:
    """Layouts of arrays of structs that are proven, and those that are wrong."""
    proven, wrong = 0, []
    for structs in find_struct_arrays(prepared.case):
        if structs.obstacle is not None or len(structs.record.fields) < 2:
            continue
        layouts: list[Layout] = [
            structure_of_arrays(structs.record), tiled_structs(structs.record, 8)
        ]  # fmt: skip
        for layout in layouts:
            try:
                relaid = rewrite_layout(prepared.case, prepared.view, structs, layout)
                kernel = compile_case(relaid.case)
            except PlacewiseError as error:
                wrong += [f"{layout.kind()} of {structs.type_name}: {_short(error)}"]
                continue
            found = verify_layout(relaid, prepared.case, prepared.execution, kernel)
            proven += found.identical
            if not found.identical and "not provable" not in found.detail:
                wrong.append(f"{layout.kind()} of {structs.type_name}: {found.detail}")
    return proven, tuple(wrong)


def _is_clean(case: Case) -> bool | None:
    """Whether the checker finds nothing; None where it is not asked, the launch being large."""
    named = named_case(case)
    kernel = compile_case(case)
    run = execute(kernel, named.launch, named.inputs)
    if run.warp_instructions > CHECKED_INSTRUCTIONS:
        return None
    checker = Checker()
    execute(kernel, named.launch, named.inputs, check=checker)
    return not checker.findings


def _reason(prepared: Prepared, refused: Counter[str]) -> str:
    if refused:
        return refused.most_common(1)[0][0]
    obstacles = Counter(reason for use in prepared.view.arrays for _, reason in use.obstacles)
    if obstacles:
        return obstacles.most_common(1)[0][0]
    return "no array has another legal space"


def _short(error: PlacewiseError) -> str:
    return error.message.splitlines()[0][:120]
