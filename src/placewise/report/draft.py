"""A drafted case file as text and JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from placewise.errors import PlacewiseError
from placewise.kernel.cases.drafts.drafted_case import DraftedKernel

DRAFT_SCHEMA_VERSION = 1


def render_draft(
    drafted: DraftedKernel, file: Path, *, tried: bool, stopped: PlacewiseError | None
) -> RenderableType:
    """What was written, whether it runs, and what to do next. ``tried`` is whether it was run, and
    ``stopped`` what stops it."""
    block = " × ".join(map(str, drafted.block))
    return Text(
        f"Written: {file}: kernel {drafted.kernel}, {len(drafted.arguments)} arguments, blocks of "
        f"{block} threads.\n"
        f"{_found(tried, stopped)}"
        f"{_unreached(drafted)}"
        f"{_todo(drafted, stopped)}"
        f"  placewise run {file} --check\n"
        f"  placewise advise {file} --machine A100"
    )


def _todo(drafted: DraftedKernel, stopped: PlacewiseError | None) -> str:
    if stopped is None:
        return (
            "Put your own sizes and data where the file says `guess`. Then see that it runs, and "
            "ask:\n"
        )
    own = "sizes, data and template arguments" if "<" in drafted.kernel else "sizes and data"
    return (
        f"Put your own {own} where the file says `guess`, until the first of these commands runs "
        "it. Then ask:\n"
    )


def _found(tried: bool, stopped: PlacewiseError | None) -> str:
    if stopped is not None:
        return f"The kernel does not run with these guesses yet:\n  {stopped}\n"
    return "The kernel runs with these guesses.\n" if tried else ""


def _unreached(drafted: DraftedKernel) -> str:
    if not drafted.unreached:
        return ""
    names = ", ".join(drafted.unreached)
    return (
        f"With them it never gets to {names}: that is no run to ask about. Values that decide what "
        "a kernel does, such as a count, a flag or indices, have to be yours.\n"
    )


def draft_document(
    drafted: DraftedKernel,
    source: Path,
    file: Path,
    *,
    tried: bool,
    stopped: PlacewiseError | None,
) -> dict[str, Any]:
    """JSON document ``placewise-draft``: the written file, the kernel and its launch, each
    argument's name and type, and whether the kernel runs with the guesses."""
    return {
        "schema": "placewise-draft",
        "schema_version": DRAFT_SCHEMA_VERSION,
        "file": str(file),
        "source": str(source),
        "kernel": drafted.kernel,
        "block": list(drafted.block),
        "problem": list(drafted.launch.problem),
        "arguments": [
            {"name": a.name, "dtype": a.dtype, "array": a.is_array} for a in drafted.arguments
        ],
        "runs": stopped is None if tried else None,
        "unreached": list(drafted.unreached),
        "stopped_by": None if stopped is None else str(stopped),
    }
