"""Advice as text: the verdict, a ranked table, reasons and costs."""

from __future__ import annotations

from pathlib import Path

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from placewise.advisor.advice import Advice, Option
from placewise.advisor.explain.gain import chance, speedup, speedup_range
from placewise.advisor.explain.why import count, in_shares
from placewise.choose import in_words
from placewise.kernel.cases.case import Language
from placewise.model import SAME
from placewise.model.additive import SHARED
from placewise.report.source_lines import short
from placewise.report.tables import plain_table

SHOWN = 6
"""Most rows of the ranking that are shown. The JSON document has all of them."""
ILLEGAL_SHOWN = 12
IDENTICAL = "identical"
NOT_RUN = "not run"


def render(advice: Advice) -> RenderableType:
    """The whole report of advice, for a rich console."""
    parts: list[RenderableType] = [_heading(advice), Text(), _answer(advice), Text()]
    parts += [ranking(advice), Text(), _arrays(advice), Text()]
    if advice.patterns:
        lines = [Text(pattern) for pattern in advice.patterns]
        parts += [Text("Access patterns", style="bold"), _indented(*lines), Text()]
    if advice.races:
        lines = [Text(race.text) for race in advice.races]
        parts += [Text("Benign races", style="bold"), _indented(*lines), Text()]
    best = advice.recommended or (advice.options[0] if advice.options else None)
    if best is not None and best.reasons:
        which = "the move" if advice.recommended else "the first in the ranking"
        limits = _limits(advice, best)
        if limits is not None:
            title = f"What each part of the machine alone would take, with {which}"
            parts += [Text(title, style="bold"), limits, Text()]
        parts += [Text(f"Accesses with {which}", style="bold"), _why(advice, best), Text()]
        if best.costs:
            lines = [Text(cost.text) for cost in best.costs]
            parts += [Text("It costs", style="bold"), _indented(*lines), Text()]
    if advice.illegal:
        parts += [Text("Not possible", style="bold"), _illegal(advice), Text()]
    if advice.notes:
        parts += [Text("Notes", style="bold"), _indented(*map(Text, advice.notes)), Text()]
    return Group(*parts)


def _answer(advice: Advice) -> RenderableType:
    """The verdict, and notes on what it rests on."""
    grid = Table.grid(padding=(0, 2))
    grid.add_row(Text("Verdict", style="bold"), Text(advice.verdict))
    if advice.why:
        grid.add_row(Text("Why", style="bold"), Text(advice.why))
    return grid


def _heading(advice: Advice) -> RenderableType:
    case, run, machine = advice.case, advice.run, advice.machine
    grid = "×".join(str(d) for d in case.launch.grid)
    block = "×".join(str(d) for d in case.launch.block)
    occupancy = run.occupancy
    sampled = (
        "all blocks traced"
        if run.traced_blocks == run.blocks
        else f"{run.traced_blocks} of {run.blocks} blocks traced, scaled"
    )
    registers = "" if run.registers is None else f"{run.registers} registers ({run.arch}), "
    return Group(
        Text.from_markup(
            f"[bold]{escape(case.kernel)}[/bold] of {escape(case.filename)} on "
            f"[bold]{escape(machine.name)}[/bold] ({escape(machine.title)})"
        ),
        Text(
            f"grid {grid}, block {block}; {registers}{occupancy.blocks} blocks and "
            f"{occupancy.warps} of {occupancy.max_warps} warps per SM",
            style="dim",
        ),
        Text(
            f"run on the CPU in {run.seconds:.2g} s: {count(run.thread_instructions)} thread "
            f"instructions; {count(run.traced_accesses)} warp accesses ({sampled})",
            style="dim",
        ),
    )


def _arrays(advice: Advice) -> Table:
    table = plain_table()
    table.add_column("array", overflow="fold")
    table.add_column("now in")
    for column in ("size", "cost", "requests", "lanes", "trans./req."):
        table.add_column(column, justify="right")
    table.add_column("served by", overflow="fold")
    table.add_column("heaviest at")
    for facts in advice.arrays:
        now = facts.service
        table.add_row(
            escape(facts.array),
            now.space,
            in_words(facts.bytes),
            f"{facts.share:.0%}",
            count(now.requests),
            f"{now.lanes_per_request:.3g}",
            f"{now.transactions_per_request:.3g}",
            in_shares(now.served),
            "" if facts.heaviest_line is None else f"line {facts.heaviest_line}",
        )
    return table


def ranking(advice: Advice) -> Table:
    """A table of the best options and the present placement, one row each."""
    table = plain_table()
    table.add_column("#", justify="right")
    table.add_column("what moves", overflow="fold")
    timed = any(option.rerun is not None for option in (advice.present, *advice.options))
    table.add_column("gain" if timed else "gain in\nmemory time", justify="right")
    table.add_column("80 % interval", justify="right")
    table.add_column("likely\nfaster", justify="right")
    if advice.present.predicted_ms is not None:
        table.add_column("ms", justify="right")
    table.add_column("limited by" if timed else "binding path")
    table.add_column("verified", overflow="fold", min_width=len(IDENTICAL))
    # Beside forms with a time, the others would be rows without a figure.
    shown = [o for o in advice.options if not timed or o.rerun or o.verification]
    rows = [*shown[:SHOWN], advice.present]
    for number, option in enumerate(rows, start=1):
        is_present = option is advice.present
        cells = ["–" if is_present else str(number), *_ranked_cells(option, advice, timed)]
        recommended = option is advice.recommended
        table.add_row(*cells, style="bold green" if recommended else "dim" if is_present else "")
    hidden = len(advice.options) - len(rows) + 1
    said = []
    if hidden > 0 or advice.placements > len(rows):
        said.append(f"{advice.placements} legal placements compared")
    if any(_proof(option, advice) == NOT_RUN for option in rows):
        said.append("forms that gain nothing are not run")
    if said:
        table.caption = "; ".join(said)
        table.caption_justify = "left"
    return table


def _ranked_cells(option: Option, advice: Advice, timed: bool) -> list[str]:
    """Cells of one row of the ranking, after its number. ``timed``: some form has a predicted
    time."""
    known = not timed or option.rerun is not None
    cells = [_moves(option, advice), f"{speedup(option.ratio)}×" if known else ""]
    same = option is advice.present or option.judged is SAME
    faster = option.judged.faster if known and not same else None
    cells += ["", ""] if faster is None else [speedup_range(option), chance(faster)]
    if advice.present.predicted_ms is not None:
        ms = option.predicted_ms
        cells.append(f"{ms:.4g}" if known and ms is not None else "")
    return [*cells, _limit(option) if known else "", _proof(option, advice)]


def _limit(option: Option) -> str:
    """The part of the machine that limits the option, as text."""
    if option.timed is not None and option.timed.prediction is not None:
        return option.timed.prediction.binding
    return option.prediction.binding


def _moves(option: Option, advice: Advice) -> str:
    moves = option.placement.describe(advice.present.placement)
    return escape(moves or "nothing (the present placement)")


def _proof(option: Option, advice: Advice) -> str:
    if option.verification is None:
        return "" if option.rerun is None or option is advice.present else NOT_RUN
    if advice.case.language is not Language.CUDA:
        return "not written out"  # The notes say why.
    return IDENTICAL if option.verification.identical else option.verification.detail


def _why(advice: Advice, option: Option) -> RenderableType:
    """A table of how the accesses change to the arrays that ``option`` moves. Where forms have no
    predicted time, they are ranked by the cycles of the data paths, which are then shown, too."""
    by_paths = option.rerun is None
    table = plain_table()
    for column in ("array", "move", "requests", "trans./req.", "served by"):
        table.add_column(column, overflow="fold")
    for column in ("cycles", "path") if by_paths else ():
        table.add_column(column, overflow="fold")
    for r in option.reasons:
        cells = [
            escape(r.array),
            _change(r.before.space, r.after.space),
            count(r.after.requests),
            _change(
                f"{r.before.transactions_per_request:.3g}",
                f"{r.after.transactions_per_request:.3g}",
            ),
            _change(in_shares(r.before.served), in_shares(r.after.served)),
        ]
        if by_paths:
            cells.append(_change(count(r.before.cycles), count(r.after.cycles)))
            cells.append(_change(r.before.path, r.after.path))
        table.add_row(*cells)
    return _indented(table, _paths(advice, option)) if by_paths else _indented(table)


def _paths(advice: Advice, option: Option) -> Text:
    """Cycles of each data path, at present and after the move."""
    before = {p.path: p.cycles for p in advice.present.prediction.parts}
    after = {p.path: p.cycles for p in option.prediction.parts}
    # The part that all paths share is shown only where more than one path has cycles.
    paths = "; ".join(
        f"{path} "
        + " → ".join(
            count(form.get(path, 0.0)) for form in (before, after) if path in form or path != SHARED
        )
        for path in dict.fromkeys([*before, *after])
    )
    binding = _change(advice.present.prediction.binding, option.prediction.binding)
    return Text(f"Data paths in cycles, the slowest binds: {paths}. Binding: {binding}.")


def _line(where: str, advice: Advice) -> str:
    """``file:line``, or just the line where it is in the case's own source."""
    file, _, line = where.rpartition(":")
    own = Path(advice.case.filename).resolve() == Path(file).resolve()
    return f"line {line}" if own else short(where)


LIMITS_SHOWN = 8


def _limits(advice: Advice, option: Option) -> RenderableType | None:
    """A table of the parts of ``option``'s predicted time beside those of the present form."""
    if option.timed is None or option.timed.prediction is None:
        return None
    assert option.beside is not None
    before = option.beside.prediction
    after = option.timed.prediction
    now = {part.path: part for part in before.parts} if before is not None else {}
    then = {part.path: part for part in after.parts}
    most = {
        name: max(form[name].cycles for form in (now, then) if name in form)
        for name in {**then, **now}
    }
    table = plain_table()
    table.add_column("part")
    table.add_column("cycles now → then", justify="right")
    table.add_column("most of it now at", overflow="fold")
    for name in sorted(most, key=lambda name: -most[name])[:LIMITS_SHOWN]:
        # Only lines of the present form: line numbers of the rewritten form differ from the user's.
        lines = now[name].lines[:2] if name in now else ()
        cycles = [count(form[name].cycles if name in form else 0.0) for form in (now, then)]
        table.add_row(
            name, _change(*cycles), escape(", ".join(_line(where, advice) for where, _ in lines))
        )
    total = _change(count(before.total) if before is not None else "", count(after.total))
    table.add_row("all together", total, "", style="bold")
    return _indented(table)


def _change(before: str, after: str) -> str:
    return before if before == after else f"{before} → {after}"


def _illegal(advice: Advice) -> RenderableType:
    by_reason: dict[tuple[str, str], list[str]] = {}
    for illegal in advice.illegal:
        by_reason.setdefault((illegal.array, illegal.reason or ""), []).append(illegal.space)
    lines = [
        Text.assemble((f"{array} ", "bold"), f"in {', '.join(spaces)}: {reason}")
        for (array, reason), spaces in by_reason.items()
    ]
    if len(lines) > ILLEGAL_SHOWN:
        lines[ILLEGAL_SHOWN:] = [
            Text(f"and {len(lines) - ILLEGAL_SHOWN} more (in the JSON report)")
        ]
    return _indented(*lines)


def _indented(*lines: RenderableType) -> Padding:
    return Padding(Group(*lines), (0, 0, 0, 2))
