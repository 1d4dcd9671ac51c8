"""Advice on layouts and placements together as text, and its files."""

from __future__ import annotations

from pathlib import Path

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from placewise.advisor.explain.duration import duration
from placewise.advisor.explain.gain import chance, speedup, speedup_range
from placewise.advisor.layouts.joint_advice import JointAdvice
from placewise.advisor.layouts.layout_advice import LayoutOption, MatrixOption
from placewise.output_file import write_together
from placewise.report.formats import json_text
from placewise.report.tables import plain_table
from placewise.rewriter.layouts import (
    cpp_conversion,
    cpp_matrix_conversion,
    numpy_conversion,
    numpy_matrix_conversion,
)

FORMS_SHOWN = 10


def render_joint(advice: JointAdvice) -> RenderableType:
    """The whole report, for a rich console."""
    launch = advice.case.launch
    heading = Text.from_markup(
        f"[bold]{escape(advice.case.kernel)}[/bold] of {escape(advice.case.filename)}, "
        f"grid {'×'.join(map(str, launch.grid))}, block {'×'.join(map(str, launch.block))}, "
        f"on {escape(advice.machine.name)}"
    )
    notes = [Text(note, style="dim") for note in advice.notes]
    verdict = Text(advice.verdict, style="bold")
    return Group(heading, Text(), verdict, Text(), _forms(advice), Text(), *notes)


def _forms(advice: JointAdvice) -> Table:
    table = plain_table()
    table.add_column("layout", overflow="fold")
    table.add_column("placement", overflow="fold")
    table.add_column("time", justify="right")
    table.add_column("times as fast", justify="right")
    table.add_column("likely\nfaster", justify="right")
    if advice.present.ms is not None:
        table.add_row("as it is", "as it is", duration(advice.present.ms), "", "")
    for form in advice.forms[:FORMS_SHOWN]:
        ratio, ms = form.ratio, form.timed.ms
        table.add_row(
            escape(form.layout_text),
            escape(form.placement_text),
            "" if ms is None else duration(ms),
            f"{speedup(ratio.ratio)} ({speedup_range(ratio)})",
            "" if ratio.faster is None else chance(ratio.faster),
        )
    return table


def write_joint_files(advice: JointAdvice, folder: Path) -> tuple[Path, ...]:
    """Write the report as JSON and, where a form is recommended, its source, the host code of its
    placement, and the conversions of its layout. Returns the files written."""
    texts = {"joint.json": json_text(advice.to_dict()) + "\n"}
    best = advice.recommended
    if best is not None:
        stem = Path(advice.case.file_name).stem
        texts[f"{stem}.cu"] = best.case.source
        if best.option is not None and best.option.rewritten is not None:
            texts[f"{stem}-host.cu"] = best.option.rewritten.host
        match best.layout:
            case LayoutOption(relaid=relaid) if relaid is not None:
                joined = next(s.joined for s in advice.layouts.structs if best.layout in s.options)
                fields = () if joined is None else joined.fields
                texts[f"{stem}-convert.cuh"] = cpp_conversion(relaid, fields)
                texts[f"{stem}_convert.py"] = numpy_conversion(relaid, fields)
            case MatrixOption(reordered=reordered) if reordered is not None:
                texts[f"{stem}-convert.cuh"] = cpp_matrix_conversion(reordered)
                texts[f"{stem}_convert.py"] = numpy_matrix_conversion(reordered)
            case _:
                pass
    return write_together(folder, texts)
