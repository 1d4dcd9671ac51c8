"""Hostile inputs for every command, and what becomes of them.

``python -m benchmarks.fuzz`` tries 2,000 inputs of fixed seeds; ``--fresh`` draws a new seed. Every
input gets a process of its own. It must end with exit status 0, or with another one, exactly one
message and no file left behind: no traceback, no crash, no hang over 60 s, no peak over 4 GB.
"""

from __future__ import annotations

import secrets
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from benchmarks.fuzz.hostile_input import KINDS
from benchmarks.fuzz.judge import BAD, EARLY, GOOD, Verdict
from benchmarks.fuzz.play import Player, schedule
from benchmarks.results import Figure, report

COUNT = 2000
SEED = 1


def main(
    count: Annotated[int, typer.Option(min=1, help="Inputs.")] = COUNT,
    seed: Annotated[int, typer.Option(help="Of all inputs.")] = SEED,
    fresh: Annotated[bool, typer.Option("--fresh", help="Draw a new seed.")] = False,
    only: Annotated[list[str] | None, typer.Option(help=f"Of {', '.join(KINDS)}.")] = None,
    number: Annotated[int | None, typer.Option(help="Only this one of its kind.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes at once.")] = 2,
    keep: Annotated[Path | None, typer.Option(help="Folder for inputs that end badly.")] = None,
    cache: Annotated[Path | None, typer.Option(help="Cache to use; a new one by default.")] = None,
) -> None:
    """Try all and print a table; of all kinds and at least 2,000, write results/fuzz.json, too."""
    if fresh:
        seed = secrets.randbits(32)
    print(f"seed {seed}")
    inputs = schedule(count, only or KINDS)
    if number is not None:
        inputs = [(kind, number) for kind in only or KINDS]
    counts: Counter[tuple[str, str]] = Counter()
    slowest = largest = Verdict("", 0.0, 0)
    console = Console(width=160)
    with tempfile.TemporaryDirectory(prefix="fuzz-cache-") as folder:
        player = Player(seed, jobs, cache or Path(folder), keep)
        for done, (kind, index, hostile, verdict) in enumerate(player.play(inputs), 1):
            counts[kind, verdict.outcome] += 1
            slowest = max(slowest, verdict, key=lambda v: v.seconds)
            largest = max(largest, verdict, key=lambda v: v.peak_bytes)
            if verdict.outcome not in GOOD or number is not None:
                line = f"{kind} {index}: {verdict.outcome}, {verdict.seconds:.1f} s, {hostile.what}"
                line += f" · {' '.join(hostile.command)}"
                console.print(repr(line)[1:300], markup=False, highlight=False)
            if done % 100 == 0:
                console.print(f"{done} of {len(inputs)}", highlight=False)
    _print_kinds(console, counts)
    whole = not only and number is None and count >= COUNT
    if whole and not report("fuzz", _figures(counts, seed, slowest, largest)):
        sys.exit(1)


def _print_kinds(console: Console, counts: Counter[tuple[str, str]]) -> None:
    table = Table(title="inputs by kind and outcome")
    outcomes = [o for o in (*GOOD, *BAD) if any(counts[kind, o] for kind in KINDS)]
    for column in ("kind", *outcomes):
        table.add_column(column)
    for kind in KINDS:
        table.add_row(kind, *(str(counts[kind, outcome]) for outcome in outcomes))
    console.print(table)


def _figures(
    counts: Counter[tuple[str, str]], seed: int, slowest: Verdict, largest: Verdict
) -> list[Figure]:
    by_outcome = Counter[str]()
    for (_, outcome), count in counts.items():
        by_outcome[outcome] += count
    inputs = by_outcome.total()
    figures = [
        Figure("hostile inputs", inputs, "inputs", f">= {COUNT}", inputs >= COUNT),
        Figure("seed", seed, "", "reported", True),
        Figure("clean errors", by_outcome["clean error"], "inputs", "reported", True),
        Figure("accepted", by_outcome["accepted"], "inputs", "reported", True),
    ]
    early = f"interrupted {EARLY}, while Python starts"
    figures.append(Figure(early, by_outcome[EARLY], "inputs", "reported", True))
    for outcome, name in BAD.items():
        found = by_outcome[outcome]
        figures.append(Figure(name, found, "inputs", "0", found == 0))
    figures.append(Figure("slowest input", slowest.seconds, "s", "reported", True))
    figures.append(
        Figure("largest peak", largest.peak_bytes / 2**30, "GiB", "< 4", largest.peak_bytes < 2**32)
    )
    return figures


if __name__ == "__main__":
    typer.run(main)
