"""Written placements as text, and the files that they are written to."""

from __future__ import annotations

from pathlib import Path

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from placewise.advisor.forms.agnostic import AgnosticReport, WrittenPlacement
from placewise.output_file import write_together
from placewise.report.tables import plain_table


def render_written(written: WrittenPlacement) -> RenderableType:
    """Report of one placement: what was proven, what changed, and the host code."""
    parts: list[RenderableType] = [
        Text.from_markup(
            f"[bold]{escape(written.case.kernel)}[/bold] of {escape(written.case.filename)}, "
            f"for {escape(written.machine.name)}"
        ),
        Text(f"Outputs on the case's inputs: {written.verification.detail}."),
        Text(),
        *(Text(f"- {edit}") for edit in written.rewritten.edits),
        Text(),
        Text("Host code", style="bold"),
        Text(written.rewritten.host.rstrip()),
    ]
    return Group(*parts)


def render_agnostic(report: AgnosticReport) -> RenderableType:
    """Report of a placement-agnostic kernel: its versions, and the memories that its arrays may be
    in."""
    form = report.form
    names = ", ".join(m.name for m in report.machines)
    count = len(report.versions)
    tested = f"{len(report.settings)} settings"
    if len(report.settings) < report.possible:
        tested += (
            f" of {report.possible}, which cover every pair of memories of every two arrays, as "
            "far as these fit together"
        )
    parts: list[RenderableType] = [
        Text.from_markup(
            f"[bold]{escape(report.case.kernel)}[/bold] of {escape(report.case.filename)}, for "
            f"{escape(names)}"
        ),
        Text(
            f"{count} {'version' if count == 1 else 'versions'} and one fine-grained kernel, "
            f"{form.any.kernel}, compute the same bits on the case's inputs ({tested})."
        ),
        Text(),
    ]
    if report.versions:
        parts += [_versions(report), Text()]
    parts += [_spaces(report), Text()]
    parts += [Text(note, style="dim") for note in report.notes]
    return Group(*parts)


def write_placement_files(written: WrittenPlacement, folder: Path) -> tuple[Path, ...]:
    """Write the new source under its own name, and the host code it needs as ``NAME.host.txt``."""
    name = Path(written.rewritten.case.file_name)
    texts = {
        name.name: written.rewritten.case.source,
        f"{name.stem}.host.txt": written.rewritten.host,
    }
    return write_together(folder, texts)


def write_agnostic_files(report: AgnosticReport, folder: Path) -> tuple[Path, ...]:
    """Write the source with all versions under its own name, and the header that it includes."""
    texts = {
        report.case.file_name: report.form.source,
        report.form.header_name: report.form.header,
    }
    return write_together(folder, texts)


def _versions(report: AgnosticReport) -> Table:
    table = plain_table()
    for column in ("version", "moves", "best on"):
        table.add_column(column, overflow="fold")
    for version in report.versions:
        moves = ", ".join(f"{array} → {space}" for array, space in version.placement)
        if version.placement.tiles:
            moves += f" ({version.placement.tiles})"
        table.add_row(version.kernel, escape(moves), escape(", ".join(version.best_on)))
    return table


def _spaces(report: AgnosticReport) -> Table:
    table = plain_table()
    table.add_column("array")
    table.add_column(f"{report.form.any.kernel} can have it in", overflow="fold")
    for array, spaces in report.spaces.items():
        table.add_row(escape(array), escape(", ".join(spaces)))
    return table
