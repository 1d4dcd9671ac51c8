"""A drafted case file as text and JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from placewise.kernel.cases.drafted_case import DraftedKernel

DRAFT_SCHEMA_VERSION = 1


def render_draft(drafted: DraftedKernel, file: Path) -> RenderableType:
    """What was written, and what to do next."""
    block = " × ".join(map(str, drafted.block))
    return Text(
        f"Written: {file}: kernel {drafted.kernel}, {len(drafted.arguments)} arguments, blocks of "
        f"{block} threads.\n"
        "Put your own sizes and data where the file says `guess`. Then see that it runs, and ask:\n"
        f"  placewise run {file} --check\n"
        f"  placewise advise {file} --machine A100"
    )


def draft_document(drafted: DraftedKernel, source: Path, file: Path) -> dict[str, Any]:
    """JSON document ``placewise-draft``: the written file, the kernel and its launch, and each
    argument's name and type."""
    return {
        "schema": "placewise-draft",
        "schema_version": DRAFT_SCHEMA_VERSION,
        "file": str(file),
        "source": str(source),
        "kernel": drafted.kernel,
        "block": list(drafted.block),
        "problem": list(drafted.problem),
        "arguments": [
            {"name": a.name, "dtype": a.dtype, "array": a.is_array} for a in drafted.arguments
        ],
    }
