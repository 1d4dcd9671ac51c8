"""``python -m benchmarks.checker``: what the checker finds and misses, and what it costs."""

from __future__ import annotations

import argparse
import resource
import statistics
import time
from collections.abc import Callable
from functools import partial

from rich.console import Console
from rich.progress import track

from benchmarks.checker.clean import clean, written_and_shared
from benchmarks.checker.corpus import Planted, Verdict, judge, run
from benchmarks.checker.planted import planted
from benchmarks.results import Figure, report
from placewise.cases import case_names, load_case
from placewise.executor import execute
from placewise.executor.check import Checker
from placewise.kernel.cases.case import Case
from placewise.kernel.cases.prepare_case import compile_case

REPEATS = 3
RACY = ("bfs",)
"""Cases that race by design: threads that reach the same node write the same level."""


def main() -> None:
    """Run the corpus and the bundled cases."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.checker")
    parser.add_argument("--only", default="", help="kernels whose name contains this")
    only = parser.parse_args().only
    console = Console(stderr=True)

    def verdicts(cases: list[Planted], what: str) -> list[Verdict]:
        chosen = [c for c in cases if only in c.kernel]
        return [judge(c) for c in track(chosen, what, console=console)]

    bad = verdicts(planted(), "planted mistakes")
    good = verdicts(clean(), "correct kernels")
    for verdict in [*bad, *good]:
        for kind, line in sorted(verdict.missed):
            console.print(f"missed: {verdict.case.kernel}: {kind} at line {line}")
        for f in verdict.false:
            console.print(f"wrong: {verdict.case.kernel}: {f.kind} at {f.place}: {f.message}")
    marks = sum(len(v.case.expected) for v in bad)
    missed = sum(len(v.missed) for v in bad)
    kinds = {kind for v in bad for kind, _ in v.case.expected}
    figures = [
        Figure("kernels with planted mistakes", len(bad), "kernels", "≥ 20", len(bad) >= 20),
        Figure("kinds of planted mistakes", len(kinds), "kinds", "every kind", True),
        Figure(
            "planted mistakes found, by kind and line", marks - missed, f"of {marks}", "all",
            missed == 0,
        ),
        Figure(
            "findings on lines without a mistake, in these", sum(len(v.false) for v in bad),
            "findings", "0", not any(v.false for v in bad),
        ),
        Figure("correct kernels", len(good), "kernels", "≥ 20", len(good) >= 20),
        Figure(
            "correct kernels with findings", sum(not v.right for v in good), "kernels", "0",
            all(v.right for v in good),
        ),
    ]  # fmt: skip
    if not only:
        figures += _costs(console)
    raise SystemExit(0 if report("checker", figures) else 1)


def _costs(console: Console) -> list[Figure]:
    """CPU times of checked runs against plain ones, on one core."""
    figures = []
    for name in track(case_names(), "bundled cases", console=console):
        case = load_case(name)
        plain, _ = _seconds(case, check=False)
        checked, clean_run = _seconds(case, check=True)
        if name not in RACY:
            figures.append(
                Figure(f"{name}: no findings", str(clean_run), "", "True", clean_run),
            )
        figures.append(
            Figure(f"{name}: CPU time of a checked run", checked / plain, "× plain", "stated", True)
        )
    for heavy in track(written_and_shared(), "kernels that write and share", console=console):
        plain = _median(partial(run, heavy, None))
        checked = _median(partial(run, heavy, Checker()))
        name = f"{heavy.kernel}, larger: CPU time of a checked run"
        figures.append(Figure(name, checked / plain, "× plain", "stated", True))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    figures.append(Figure("peak memory of all of this", peak, "MB", "stated", True))
    return figures


def _median(action: Callable[[], None]) -> float:
    """Median CPU seconds, the first time left out."""
    times = []
    for _ in range(REPEATS + 1):
        start = time.process_time()
        action()
        times.append(time.process_time() - start)
    return statistics.median(times[1:])


def _seconds(case: Case, *, check: bool) -> tuple[float, bool]:
    """Median CPU time of a run with its code compiled, and whether it is clean."""
    kernel = compile_case(case)
    times, is_clean = [], True
    for n in range(REPEATS + 1):
        checker = Checker() if check else None
        start = time.process_time()
        execute(kernel, case.launch, case.inputs, threads=1, check=checker)
        if n:
            times.append(time.process_time() - start)
        if checker is not None:
            is_clean = is_clean and not checker.findings and not checker.remarks
    return statistics.median(times), is_clean


if __name__ == "__main__":
    main()
