"""How the tables of text reports look."""

from __future__ import annotations

from rich.table import Table


def plain_table(*, header: bool = True) -> Table:
    """An empty table without lines, whose header, if any, is bold."""
    return Table(box=None, pad_edge=False, header_style="bold", show_header=header)
