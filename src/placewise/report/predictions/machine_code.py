"""A kernel's machine code as text."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from placewise.advisor.documents.machine_code import executions, groups_of, most_live
from placewise.advisor.explain.why import count
from placewise.advisor.predictions.machine_code import CodeReport
from placewise.choose import in_words
from placewise.kernel.binary.sass.control import control
from placewise.kernel.binary.sass.instruction import Instruction
from placewise.report.tables import plain_table


def render_machine_code(report: CodeReport, *, listing: bool = False) -> RenderableType:
    """The report for a rich console; with ``listing`` every instruction under its source line."""
    parts: list[RenderableType] = [_heading(report), Text(), _resources(report)]
    if report.code.instructions:
        parts += [Text(), _mix(report)]
    if report.hints:
        parts += [Text(), Text("Cache hints", style="bold")]
        parts += [Text(f"  {fate.text}") for fate in report.hints]
    if report.run is not None:
        parts += [Text(), *_run(report)]
    if listing and report.code.instructions:
        parts += [Text(), *_listing(report)]
    if report.notes:
        parts += [Text(), *(Text(f"note: {note}", style="dim") for note in report.notes)]
    return Group(*parts)


def _heading(report: CodeReport) -> Text:
    case, code = report.case, report.code
    return Text.assemble(
        (case.kernel, "bold"),
        f" of {case.filename} for ",
        (report.target.arch, "bold"),
        f", compiled by NVRTC {code.kernel.compiler}",
    )


def _resources(report: CodeReport) -> Table:
    facts, spills, launch = report.code.facts, report.code.spills, report.case.launch
    table = plain_table(header=False)
    table.add_column(style="bold")
    table.add_column()
    live = most_live(report)
    used = "" if live is None else f", at most {live} in use at a time"
    table.add_row("registers", f"{facts.registers} per thread{used}")
    shared = facts.static_shared_bytes + launch.shared_bytes
    dynamic = f", {in_words(launch.shared_bytes)} of them dynamic" if launch.shared_bytes else ""
    table.add_row("shared memory", f"{in_words(shared)} per block{dynamic}")
    local = "no bound known" if facts.stack_bytes is None else in_words(facts.stack_bytes)
    spilled = ""
    if spills is not None:
        spilled = (
            f"; spills: {in_words(spills.store_bytes)} stored, {in_words(spills.load_bytes)} loaded"
            if spills.store_bytes or spills.load_bytes
            else "; nothing spilled"
        )
    table.add_row("local memory", f"{local} per thread{spilled}")
    table.add_row("barriers", str(facts.barriers))
    listed = f"{len(report.code.instructions)} instructions, " if report.code.listing else ""
    table.add_row("code", f"{listed}{in_words(len(facts.code))}")
    found = report.occupancy
    if found is not None and report.machine is not None:
        limits = ", ".join(f"{name} {n}" for name, n in found.limits)
        block = "×".join(str(d) for d in launch.block)
        table.add_row(
            "occupancy",
            f"{found.blocks} blocks of {block}, {found.warps} of {found.max_warps} warps per SM of "
            f"the {report.machine.name} ({found.fraction:.0%}); limited by "
            f"{' and '.join(found.binding)}\nblocks that each allows: {limits}",
        )
    return table


def _mix(report: CodeReport) -> Table:
    table = plain_table()
    table.add_column("kind of instruction")
    table.add_column("in the code", justify="right")
    table.add_column("")
    total = len(report.code.instructions)
    if report.run is not None:
        table.add_column("executed by warps", justify="right")
        table.add_column("")
    for name, static, executed in sorted(groups_of(report), key=lambda g: -(g[2] or g[1])):
        cells = [name, str(static), f"{static / total:.0%}"]
        if executed is not None and report.run is not None:
            cells += [count(executed), f"{executed / report.run.warp_instructions:.0%}"]
        table.add_row(*cells)
    return table


def _run(report: CodeReport) -> Iterator[Text]:
    run = report.run
    assert run is not None
    lanes = run.thread_instructions / run.warp_instructions if run.warp_instructions else 0.0
    yield Text(
        f"Executed with the case's inputs: {count(run.warp_instructions)} warp instructions, "
        f"{lanes:.3g} lanes each; {count(run.ptx_warp_instructions)} in PTX."
    )
    for check in run.outputs:
        if check.identical:
            found = "bit-identical to the PTX run's"
        else:
            ulp = "" if check.max_ulp is None else f", by {check.max_ulp} ulp at the most"
            found = f"{check.different} of {check.elements} elements differ from the PTX run's{ulp}"
        yield Text(f"{check.array}: {found}.")


def _listing(report: CodeReport) -> Iterator[Text]:
    yield Text(
        "B scoreboards waited for, R and W scoreboard released when operands are read and when the "
        "result is there,\nY yields to other warps, S stall cycles; live: registers in use",
        style="dim",
    )
    yield Text(
        f"offset  control               live{'   executed' if report.run else ''}  instruction",
        style="bold",
    )
    sources = {report.case.filename: report.case.source.splitlines()}
    for place, instructions in groupby(report.code.instructions, key=lambda i: i.place):
        if place is not None:
            yield Text(_source_line(sources, *place), style="cyan")
        for i in instructions:
            yield Text(_line(report, i))


def _source_line(sources: dict[str, list[str]], file: str, line: int) -> str:
    lines = sources.get(file, [])
    text = lines[line - 1].strip() if 0 < line <= len(lines) else ""
    return f"{Path(file).name}:{line}  {text}"


def _line(report: CodeReport, i: Instruction) -> str:
    live = report.code.live.get(i.offset)
    warps = executions(report, i)
    executed = "" if warps is None else f"  {count(warps):>9}"
    return (
        f"  {i.offset:04x}  {control(i.encoding)}  {live.general if live else 0:4}{executed}  "
        f"{report.code.text[i.offset]}"
    )
