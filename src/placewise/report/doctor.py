"""A diagnosis of this machine as text."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from placewise.choose import in_words
from placewise.doctor import Diagnosis, State
from placewise.report.tables import plain_table

_STYLE = {State.works: "green", State.absent: "yellow", State.fails: "bold red"}


def render_diagnosis(found: Diagnosis) -> RenderableType:
    """The answer in one line, then a table of checks and one of caches."""
    broken = [check.name for check in found.checks if check.state is State.fails]
    answer = "everything needed works" if found.healthy else f"not working: {', '.join(broken)}"
    parts: list[RenderableType] = [
        Text(f"Placewise {found.version}: {answer}", style="bold"),
        Text(),
        _checks(found),
        Text(),
        _caches(found),
    ]
    if found.freed_bytes is None:
        parts.append(Text("To empty them: placewise doctor --clear-caches", style="dim"))
    else:
        parts.append(Text(f"Caches cleared: {in_words(found.freed_bytes)} freed"))
    return Group(*parts)


def _checks(found: Diagnosis) -> Table:
    table = plain_table()
    for column in ("what", "state"):
        table.add_column(column, no_wrap=True)
    table.add_column("detail", overflow="fold")
    for check in found.checks:
        detail = Text(check.detail)
        if check.hint:
            detail.append(f"\nto get it: {check.hint}", style="cyan")
        table.add_row(check.name, Text(check.state, style=_STYLE[check.state]), detail)
    return table


def _caches(found: Diagnosis) -> Table:
    table = plain_table()
    table.add_column("cache")
    table.add_column("size", justify="right", no_wrap=True)
    table.add_column("files", justify="right", no_wrap=True)
    table.add_column("at most", justify="right", no_wrap=True)
    table.add_column("folder", overflow="fold")
    for cache in found.caches:
        most = "" if cache.most_files is None else str(cache.most_files)
        table.add_row(
            cache.what, in_words(cache.bytes), str(cache.files), most, Text(str(cache.path))
        )
    return table
