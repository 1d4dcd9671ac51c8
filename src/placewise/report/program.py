"""Advice on a program as text, and its files."""

from __future__ import annotations

from pathlib import Path

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from placewise.advisor.explain.duration import duration
from placewise.advisor.explain.gain import chance, speedup
from placewise.advisor.programs.joint_search import Combination
from placewise.advisor.programs.program_advice import ProgramAdvice
from placewise.choose import in_words
from placewise.model import SAME
from placewise.output_file import write_together
from placewise.report.advice.text import ranking
from placewise.report.formats import json_text
from placewise.report.tables import plain_table

SHOWN = 6
"""Most combinations that are shown. The JSON document has more of them."""


def render_program(advice: ProgramAdvice) -> RenderableType:
    """The whole report, for a rich console: the program, then each of its launches."""
    program = advice.program
    rounds = f", {program.rounds} rounds" if program.rounds > 1 else ""
    heading = Text.from_markup(
        f"[bold]{escape(program.name)}[/bold], {len(program.launches)} launches of "
        f"{escape(program.filename)}{rounds}, on [bold]{escape(advice.machine.name)}[/bold] "
        f"({escape(advice.machine.title)})"
    )
    parts: list[RenderableType] = [heading, Text(), _launches(advice), Text()]
    parts += [_combinations(advice), Text()]
    parts += [Text.assemble(("Verdict  ", "bold"), advice.verdict), Text()]
    shown = advice.recommended or next((c for c in advice.combinations if c.moves), None)
    if shown is not None and shown.fills:
        lines = [Text(_copies(shown, n)) for n in range(len(shown.fills))]
        parts += [Text("Copies", style="bold"), Padding(Group(*lines), (0, 0, 0, 2)), Text()]
    for one in advice.launches:
        title = f"Launch {one.step.title} alone"
        parts += [Text(title, style="bold"), Padding(ranking(one.advice), (0, 0, 0, 2)), Text()]
    if advice.notes:
        lines = [Text(note) for note in advice.notes]
        parts += [Text("Notes", style="bold"), Padding(Group(*lines), (0, 0, 0, 2)), Text()]
    return Group(*parts)


def _launches(advice: ProgramAdvice) -> Table:
    """A table of the launches: how often each runs, its share of the time, and what moves in it."""
    table = plain_table()
    table.add_column("launch", overflow="fold")
    table.add_column("launches", justify="right")
    table.add_column("time", justify="right")
    table.add_column("share", justify="right")
    table.add_column("writes", overflow="fold")
    table.add_column("what moves", overflow="fold")
    table.add_column("gain", justify="right")
    for one in advice.launches:
        times = advice.program.rounds * one.step.launch.times
        cells = [
            escape(one.step.title),
            str(times),
            duration(one.present_ns * 1e-6),
            f"{times * one.present_ns / advice.present_ns:.0%}",
            escape(", ".join(sorted(one.step.written))),
        ]
        if advice.recommended is not None:
            form, option = advice.recommended.by_launch[one.step.number]
            cells += [escape(form.moves), f"{speedup(option.ratio)}×" if form.moves else ""]
        table.add_row(*cells)
    return table


def _combinations(advice: ProgramAdvice) -> Table:
    """A table of the fastest combinations of forms, and the program as it is."""
    table = plain_table()
    table.add_column("#", justify="right")
    table.add_column("what moves in the program", overflow="fold")
    table.add_column("time", justify="right")
    table.add_column("copies", justify="right")
    table.add_column("gain", justify="right")
    table.add_column("80 % interval", justify="right")
    table.add_column("likely\nfaster", justify="right")
    moved = [c for c in advice.combinations if c.moves]
    shown = moved[:SHOWN]
    if advice.recommended is not None and advice.recommended not in shown:
        shown = [advice.recommended, *shown[:-1]]
    for number, one in enumerate(shown, start=1):
        ratio, copied = one.ratio, sum(f.nanoseconds for f in one.fills)
        same = ratio is SAME or ratio.faster is None
        table.add_row(
            str(number),
            escape(one.moves),
            duration(one.nanoseconds * 1e-6),
            duration(copied * 1e-6) if copied else "",
            f"{speedup(ratio.ratio)}×",
            "" if same else f"{speedup(ratio.high)}–{speedup(ratio.low)}",
            "" if same or ratio.faster is None else chance(ratio.faster),
            style="bold green" if one is advice.recommended else "",
        )
    now = duration(advice.present_ns * 1e-6)
    table.add_row("–", "nothing (the present placement)", now, "", "1.00×", "", "", style="dim")
    return table


def _copies(one: Combination, number: int) -> str:
    """One array's copies to memory that the host fills, in a sentence."""
    fill = one.fills[number]
    size = in_words(fill.bytes)
    if fill.before:
        launches = " and ".join(str(n) for n in fill.before)
        return (
            f"{fill.array}: {size}, again before launch {launches} of each round, as launches "
            f"write it; {fill.times} copies, {duration(fill.nanoseconds * 1e-6)} in all"
        )
    if not fill.times:
        return (
            f"{fill.array}: {size}, once, in place of the copy to global memory: no launch reads "
            "it there any more"
        )
    return f"{fill.array}: {size}, once, {duration(fill.nanoseconds * 1e-6)}"


def write_program_files(advice: ProgramAdvice, folder: Path) -> tuple[Path, ...]:
    """Write the report as JSON and, where forms are recommended, the source with all kernels in
    their forms and the host code. Returns the files written."""
    texts = {"program.json": json_text(advice.to_dict()) + "\n"}
    if advice.written is not None:
        name = Path(advice.program.file_name)
        texts[name.name] = advice.written.source
        texts[f"{name.stem}.host.txt"] = advice.written.host
    return write_together(folder, texts)
