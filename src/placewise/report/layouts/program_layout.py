"""Advice on a program's layouts as a person reads it, alone and with placements, and its files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from placewise.advisor.explain.duration import duration
from placewise.advisor.explain.gain import chance, gain_of, speedup, speedup_range
from placewise.advisor.programs.program_layout_advice import (
    NOTHING,
    ProgramForm,
    ProgramJointAdvice,
    ProgramLayoutAdvice,
    ProgramLayoutOption,
    ProgramStructAdvice,
)
from placewise.output_file import write_together
from placewise.report.formats import json_text
from placewise.report.layouts.layout import LINES_SHOWN
from placewise.report.tables import plain_table
from placewise.rewriter.layouts import cpp_conversion, numpy_conversion


def render_program_layout(advice: ProgramLayoutAdvice) -> RenderableType:
    """The whole report, for a rich console."""
    parts: list[RenderableType] = [_heading(advice), Text()]
    if not advice.structs:
        parts.append(Text(NOTHING))
    for structs in advice.structs:
        parts += _struct(advice, structs)
    if advice.together is not None:
        both = " and ".join(o.structs.arrays.type_name for o in advice.together.chosen)
        verdict = f"{both} laid out so: the program is {gain_of(advice.together.ratio)}, all "
        verdict += f"conversions counted ({advice.together.detail})."
        parts += [Text(verdict, style="bold"), Text()]
    parts += [Text(note, style="dim") for note in advice.notes]
    return Group(*parts)


def _heading(advice: ProgramLayoutAdvice) -> Text:
    program = advice.program
    rounds = f", {program.rounds} rounds" if program.rounds > 1 else ""
    return Text.from_markup(
        f"[bold]{escape(program.name)}[/bold], {len(program.launches)} launches of "
        f"{escape(program.filename)}{rounds}, on {escape(advice.machine.name)}"
    )


def _struct(advice: ProgramLayoutAdvice, structs: ProgramStructAdvice) -> Iterator[RenderableType]:
    yield Text(structs.verdict, style="bold")
    if structs.best is not None:
        yield _conversion(structs.best)
    yield Text()
    if structs.structs.obstacle is not None:
        return
    yield _options(advice, structs)
    yield Text()
    if any(use.moved_bytes > use.used_bytes for _, use in structs.lines):
        yield Text("Bytes that warps use of those they move, as it is", style="bold")
        yield _lines(advice, structs)
        yield Text()


def _conversion(option: ProgramLayoutOption) -> Text:
    found = option.conversion
    if found is None or found.milliseconds is None or option.kernels_ratio is None:
        return Text()
    if not found.bytes:
        return Text("Nothing is converted: the host neither fills these arrays nor reads them.")
    rounds = "one round" if found.rounds == 1 else f"{found.rounds} rounds"
    paid = "" if found.rounds is None else f": paid back after {rounds}"
    return Text(
        f"Converting what the host fills, and back what launches write, takes about "
        f"{duration(found.milliseconds)} on the GPU at the bandwidth of its DRAM{paid}. Where the "
        f"host keeps the arrays in this layout itself, the program is "
        f"{speedup(option.kernels_ratio.ratio)} times as fast."
    )


def _options(advice: ProgramLayoutAdvice, structs: ProgramStructAdvice) -> Table:
    """Every layout: the whole program, then each launch."""
    table = plain_table()
    table.add_column("layout", overflow="fold")
    table.add_column("kind")
    for one in advice.launches:
        table.add_column(one.step.case.kernel, justify="right", overflow="fold")
    table.add_column("program", justify="right")
    table.add_column("times as fast", justify="right")
    table.add_column("likely\nfaster", justify="right")
    table.add_column("proof", overflow="fold")
    times = [duration(one.timed.ms or 0.0) for one in advice.launches]
    declared = structs.structs.arrays.record.declared.describe()
    table.add_row(escape(declared), "as it is", *times, duration(advice.present_ms), "", "", "")
    for option in structs.options:
        ratio = option.ratio
        if ratio is None or option.total_ms is None:
            blank = [""] * (len(advice.launches) + 3)
            table.add_row(escape(option.text), option.kind, *blank, escape(option.detail))
            continue
        table.add_row(
            escape(option.text),
            option.kind,
            *(duration(timed.ms or 0.0) for timed in option.launches),
            duration(option.total_ms),
            f"{speedup(ratio.ratio)} ({speedup_range(ratio)})",
            "" if ratio.faster is None else chance(ratio.faster),
            escape(option.detail),
        )
    return table


def _lines(advice: ProgramLayoutAdvice, structs: ProgramStructAdvice) -> Table:
    table = plain_table()
    for name in ("launch", "line", "array", "access", "fields"):
        table.add_column(name, overflow="fold")
    table.add_column("bytes moved\nper request", justify="right")
    table.add_column("used", justify="right")
    for number, use in structs.lines[:LINES_SHOWN]:
        table.add_row(
            escape(advice.launches[number - 1].step.title),
            "" if use.line is None else str(use.line),
            escape(use.array),
            use.kind,
            escape(" ".join(use.fields)),
            f"{use.moved_bytes / use.requests:.0f}",
            f"{use.used_bytes / max(1, use.moved_bytes):.0%}",
        )
    return table


def write_program_layout_files(advice: ProgramLayoutAdvice, folder: Path) -> tuple[Path, ...]:
    """Write the report as JSON and, where layouts are recommended, the source with all kernels and
    the host's conversions. Returns the files written.

    Layouts of several struct types are in one source; where they cannot be written together, each
    source has one of them.
    """
    texts = {"layout.json": json_text(advice.to_dict()) + "\n"}
    stem = Path(advice.program.file_name).stem
    recommended = [s.best for s in advice.structs if s.best is not None]
    for best in recommended:
        named = f"{stem}-{best.structs.arrays.type_name}" if len(recommended) > 1 else stem
        texts |= _written(best, named)
        if advice.together is not None:
            del texts[f"{named}.cu"]
    if advice.together is not None:
        texts[f"{stem}.cu"] = advice.together.source
    return write_together(folder, texts)


def _written(option: ProgramLayoutOption, stem: str) -> dict[str, str]:
    """The source with all kernels in a layout, and the host's conversions, by file name."""
    assert option.relaid is not None, "a proven layout is written"
    first = next(iter(option.relaid.relaid.values()))
    return {
        f"{stem}.cu": option.relaid.program.source,
        f"{stem}-convert.cuh": cpp_conversion(first),
        f"{stem}_convert.py": numpy_conversion(first),
    }


def render_program_joint(advice: ProgramJointAdvice) -> RenderableType:
    """The whole report on layouts and placements together, for a rich console."""
    layouts = advice.layouts
    parts: list[RenderableType] = [_heading(layouts), Text()]
    parts += [Text(advice.verdict, style="bold"), Text()]
    table = plain_table()
    table.add_column("layout", overflow="fold")
    table.add_column("placement", overflow="fold")
    table.add_column("program", justify="right")
    table.add_column("times as fast", justify="right")
    table.add_column("likely\nfaster", justify="right")
    table.add_row("as it is", "as it is", duration(layouts.present_ms), "", "")
    for form in advice.forms:
        table.add_row(*map(escape, _form_cells(form)))
    parts += [table, Text(), Text("Layouts alone", style="bold")]
    alone = [part for structs in layouts.structs for part in _struct(layouts, structs)]
    parts.append(Padding(Group(*(alone or [Text(NOTHING)])), (0, 0, 0, 2)))
    parts += [Text(note, style="dim") for note in advice.notes]
    return Group(*parts)


def _form_cells(form: ProgramForm) -> Sequence[str]:
    ratio = form.ratio
    return (
        form.layout_text,
        form.placement_text,
        duration(form.total_ms),
        f"{speedup(ratio.ratio)} ({speedup_range(ratio)})",
        "" if ratio.faster is None else chance(ratio.faster),
    )


def write_program_joint_files(advice: ProgramJointAdvice, folder: Path) -> tuple[Path, ...]:
    """Write the report as JSON and, where a form is recommended, the source with all kernels, the
    host's side of the placements, and the conversions of the layout. Returns the files written."""
    texts = {"joint.json": json_text(advice.to_dict()) + "\n"}
    best = advice.recommended
    if best is not None:
        name = Path(advice.layouts.program.file_name)
        if best.layout is not None:
            texts |= _written(best.layout, name.stem)
        texts[f"{name.stem}.cu"] = best.source
        if best.is_moved and best.advice.written is not None:
            texts[f"{name.stem}.host.txt"] = best.advice.written.host
    return write_together(folder, texts)
