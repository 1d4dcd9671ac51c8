"""The table of programs: a row each, as CSV and as Markdown."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path


@dataclass(frozen=True)
class Row:
    """What came of one program."""

    program: str
    suite: str
    file: str
    kernels: str
    """Separated by semicolons."""
    computes: str
    launches: int
    thread_instructions: int
    """Of the PTX run; 0 where it did not run."""
    seconds: float
    """Of the PTX run without trace, translation included."""
    reference: str
    """``agrees``, or what prevents it."""
    worst: float
    """Largest error as a share of what is allowed."""
    tolerance: str
    """Where what is allowed comes from, of the check that comes nearest to it."""
    sm_80: str
    sm_86: str
    """How machine code compares with PTX; empty where it was not run."""

    @property
    def functions(self) -> frozenset[tuple[str, str, str]]:
        """Its kernels as written, whatever the template arguments."""
        return frozenset(
            (self.suite, self.file, kernel.partition("<")[0]) for kernel in self.kernels.split("; ")
        )

    @property
    def agrees(self) -> bool:
        return self.reference == "agrees"


AGREES = ("same bits", "within ")


def machine_code_agrees(said: str) -> bool:
    """Whether a column of machine code says that it agrees."""
    return said.startswith(AGREES)


def write_rows(path: Path, rows: Sequence[Row]) -> None:
    """Write ``rows`` as CSV."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, [f.name for f in fields(Row)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(row) for row in rows)


def read_rows(path: Path) -> list[Row]:
    """Read what :func:`write_rows` wrote."""
    types = {"launches": int, "thread_instructions": int, "seconds": float, "worst": float}
    with path.open(newline="") as file:
        return [
            Row(**{k: types.get(k, str)(v) for k, v in line.items()})
            for line in csv.DictReader(file)
        ]


START, END = "<!-- table: start -->", "<!-- table: end -->"


def markdown(rows: Sequence[Row]) -> str:
    """The table for people, by suite."""
    lines = []
    for suite in sorted({row.suite for row in rows}):
        lines += [
            f"### {suite}",
            "",
            "| file | kernels | computes | thread instructions | PTX and reference | SASS sm_80 "
            "| SASS sm_86 | s |",
            "|---|---|---|--:|---|---|---|--:|",
        ]
        for row in rows:
            if row.suite == suite:
                cells = (
                    Path(row.file).name,
                    row.kernels.replace("; ", ", "),
                    row.computes,
                    f"{row.thread_instructions:,}",
                    row.reference,
                    row.sm_80,
                    row.sm_86,
                    f"{row.seconds:.2f}",
                )
                lines.append(f"| {' | '.join(c.replace('|', '/') for c in cells)} |")
        lines.append("")
    return "\n".join(lines)


def update_document(path: Path, rows: Sequence[Row]) -> None:
    """Put the table between its marks in a Markdown file."""
    text = path.read_text()
    inside = f"{START}\n\n{markdown(rows)}\n{END}"
    path.write_text(re.sub(f"{START}.*{END}", lambda _: inside, text, flags=re.S))
