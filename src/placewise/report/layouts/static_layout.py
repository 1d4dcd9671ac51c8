"""The static cost of layouts as text."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from placewise.advisor.layouts.static_advice import StaticLayoutAdvice, StaticStructAdvice
from placewise.model.static_layout import CostVector
from placewise.report.layouts.layout import layout_heading
from placewise.report.tables import plain_table

NO_STRUCTS = "The kernel has no array of structs; --join x,y tries separate arrays as one."


def render_static_layouts(advice: StaticLayoutAdvice) -> RenderableType:
    """The whole report, for a rich console."""
    parts: list[RenderableType] = [layout_heading(advice.case, advice.machine), Text()]
    if not advice.structs:
        parts.append(Text(NO_STRUCTS))
    for structs in advice.structs:
        parts += _struct(structs)
    if advice.assumed:
        parts.append(Text("Assumed", style="bold"))
        parts += [Text(said) for said in advice.assumed]
        parts.append(Text())
    parts.append(Text(_basis(advice), style="dim"))
    parts += [Text(note, style="dim") for note in advice.notes]
    return Group(*parts)


def _struct(structs: StaticStructAdvice) -> list[RenderableType]:
    parts: list[RenderableType] = [Text(structs.verdict, style="bold"), Text()]
    if structs.options:
        parts += [_table(structs), Text()]
    if structs.looked_at > len(structs.options):
        how = "every partition of the accessed fields" if structs.exact else "found by a descent"
        parts += [Text(f"The cheapest of {structs.looked_at} layouts, {how}.", style="dim"), Text()]
    if structs.options and structs.arrays.obstacle is not None:
        parts += [Text(f"No other layout can be written: {structs.arrays.obstacle}"), Text()]
    return parts


def _table(structs: StaticStructAdvice) -> Table:
    table = plain_table()
    table.add_column("layout", overflow="fold")
    table.add_column("kind")
    depth = len(structs.present.entries)
    if depth > 1:
        for loops in range(depth):
            table.add_column(f"cost in {loops}\nopen loops", justify="right")
    table.add_column("static cost", justify="right")
    table.add_column("of the\npresent one", justify="right")
    rows = [(structs.now, "as it is", structs.present, "")]
    rows += [(o.layout, o.layout.kind(), o.cost, f"{o.ratio:.2f}") for o in structs.options]
    for layout, kind, cost, ratio in rows:
        entries = _entries(cost, depth) if depth > 1 else []
        table.add_row(escape(layout.describe()), kind, *entries, f"{cost.total:,.0f}", ratio)
    return table


def _entries(cost: CostVector, depth: int) -> list[str]:
    padded = (*cost.entries, *(0.0,) * (depth - len(cost.entries)))
    return [f"{entry:,.0f}" for entry in padded]


def _basis(advice: StaticLayoutAdvice) -> str:
    """What the costs rest on, in a sentence."""
    levels, weights = advice.levels, advice.weights
    l1 = f"L1 of {levels.l1_bytes // 1024} KB" if levels.l1_bytes else "no L1 for global memory"
    return (
        f"static cost (Peng et al. 2016): transactions, {weights.l1:g} for a hit of L1, "
        f"{weights.l2:g} of L2, {weights.dram:g} from DRAM; {l1}, L2 of {levels.l2_bytes // 1024} "
        f"KB, {levels.blocks_per_sm} blocks on an SM; {advice.reading.describe()}"
    )
