"""Tables of what choosing placements costs: Table 5, Figs. 11 and 14 of Chen et al. 2017."""

from __future__ import annotations

from collections.abc import Sequence

from placewise.reproduce.result import Cell, Table
from placewise.reproduce.speedups.gains import Gains
from placewise.reproduce.speedups.overheads import LAUNCHES, PRINTED, Overhead, Overheads, speedup

PARTS = ("profiling", "engine", "transform")
"""Parts of an overhead, as the paper names them."""


def overhead_table(overheads: dict[str, Overheads], machine: str) -> Table:
    """Table 5 with the paper's figures beside the program's."""
    cells: list[tuple[Cell, ...]] = []
    for name, ours in overheads.items():
        for who, both in (("paper", PRINTED.get(name)), ("program", ours)):
            if both is None:
                continue
            old, new = both.without, both.with_both
            cells.append(
                (
                    name if who == "paper" or name not in PRINTED else "",
                    who,
                    *(_seconds(s) for s in (old.profiling, old.engine, old.transform)),
                    *(_seconds(s) for s in (new.profiling, new.engine, new.transform)),
                    round(old.profiling / new.profiling, 2),
                    round(old.engine / new.engine, 1),
                )
            )
    return Table(
        f"Table 5: overhead on {machine} in seconds, before active profiling and hybrid search, "
        "and now",
        (
            "", "", *(f"{part}, {when}" for when in ("before", "now") for part in PARTS),
            "profiling, times as fast", "engine, times as fast",
        ),
        tuple(cells),
        (
            "program: measured while this ran, on this computer, so that they differ between runs. "
            "Before: all blocks that fit in memory are traced, and branch and bound searches; "
            "now: active profile, greedy search. Its forms are written before, without checks",
            "the paper profiles a function of the host; here the kernel runs on the executor",
        ),
    )  # fmt: skip


def _seconds(value: float) -> Cell:
    return float(f"{value:.3g}")


def share_table(machine: str, gains: dict[str, Gains], overheads: dict[str, Overheads]) -> Table:
    """Fig. 11: share of the overhead in the time of all launches, for kernels with predicted
    times."""
    cells: list[tuple[Cell, ...]] = []
    for name, found in gains.items():
        if found.present_ms is None or found.porple is None:
            continue
        paid = (overheads[name].with_both, PRINTED[name].with_both if name in PRINTED else None)
        chosen_ms = found.present_ms / found.porple
        cells.append((name, *(None if o is None else overhead_share(o, chosen_ms) for o in paid)))
    return Table(
        f"Fig. 11 on {machine}: overhead over the time of {LAUNCHES[0]:,} launches, %",
        ("", "overhead measured here", "overhead of Table 5"),
        tuple(cells),
        (
            "paper, K20c, six irregular kernels: 0.06 % in the mean, 0.04 % of it the search; its "
            "numbers of launches are not printed but for the two of lulesh",
            "times of the chosen version are predicted; overhead measured here is of this computer",
        ),
    )


def overhead_share(overhead: Overhead, chosen_ms: float) -> float:
    """Overhead in percent of the time of all launches, each of which takes ``chosen_ms``."""
    seconds = LAUNCHES[0] * chosen_ms * 1e-3
    return float(f"{100.0 * (overhead.once + overhead.transform) / seconds:.3g}")


def launches_table(machine: str, gains: dict[str, Gains], overheads: dict[str, Overheads]) -> Table:
    """Fig. 14: gains including overhead for several numbers of launches, for kernels with predicted
    times."""
    cells: list[tuple[Cell, ...]] = []
    for name, found in gains.items():
        if found.present_ms is None or found.porple is None:
            continue
        paid = [overheads[name], PRINTED.get(name)]
        for launches in LAUNCHES:
            cells.append(
                (
                    name if launches == LAUNCHES[0] else "",
                    launches,
                    None if found.rules is None else round(found.rules, 3),
                    *_over_launches(found.present_ms, found.porple, paid, launches),
                )
            )
    return Table(
        f"Fig. 14 on {machine}: gain over all launches, overhead included",
        (
            "", "launches", "rules", "before", "now", "before, printed overhead",
            "now, printed overhead",
        ),
        tuple(cells),
        (
            "predicted times of the kernels, with the overhead measured here and with that of "
            "Table 5; the transform of Table 5 is read as the sum over 1,496 launches. Both "
            "searches are taken to choose what PORPLE chooses",
        ),
    )  # fmt: skip


def _over_launches(
    present_ms: float, gain: float, paid: Sequence[Overheads | None], launches: int
) -> list[Cell]:
    """Gains without and with both improvements, for each overhead that is known."""
    cells: list[Cell] = []
    for one in paid:
        if one is None:
            cells += [None, None]
        else:
            both = (one.without, one.with_both)
            cells += [round(speedup(present_ms, gain, o, launches), 4) for o in both]
    return cells
