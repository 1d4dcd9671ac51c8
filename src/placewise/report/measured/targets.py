"""Placements' times predicted from one measured sample, as text."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from placewise.advisor.predictions.one_sample import TargetTimes
from placewise.model.huang_li.model import Parts
from placewise.report.tables import plain_table


def render_targets(found: TargetTimes) -> RenderableType:
    """A row for each placement, the fastest first, with the terms of its time."""
    table = plain_table()
    table.add_column("placement", overflow="fold")
    for column in ("time", "of sample", "T_comp", "T_mem", "T_overlap", "staging"):
        table.add_column(column, justify="right", no_wrap=True)
    rows = [(t.milliseconds, t.ratio, t.placement.describe(found.sample), t.parts)
            for t in found.targets]  # fmt: skip
    rows.append((found.measured_ms, 1.0, "as it is (measured)", found.sample_parts))
    for milliseconds, ratio, words, parts in sorted(rows, key=lambda row: row[0]):
        table.add_row(words, f"{milliseconds:.4g} ms", f"{ratio:.3f}", *_cycles(parts))
    head = (
        f"{found.case.name} on {found.machine.name}: measured {found.measured_ms:.4g} ms as it is; "
        f"{len(found.targets)} other placements predicted by the model of Huang and Li"
    )
    notes = [Padding(Text(f"· {note}", style="dim"), (0, 0, 0, 2)) for note in found.notes]
    return Group(Text(head), Text(), table, *([Text()] if notes else []), *notes)


def _cycles(parts: Parts) -> tuple[str, ...]:
    named = (parts.t_comp, parts.t_mem, parts.t_overlap, parts.staging)
    return tuple(f"{cycles:,.0f}" for cycles in named)
