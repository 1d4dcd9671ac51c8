"""Clocks told from recorded times, the choice of pairs, and the figures beside what is asked."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.models.clocks import Clock, Configuration, Row, clocks_of
from benchmarks.models.judge import Asked, Judged, figures_of
from benchmarks.models.noise import apart, floor, staged_pairs
from benchmarks.models.pairs import choose_pairs
from placewise.validate import MeasuredTime

SWITCHES = ("use_shmem", "read_only")


def named(tile: tuple[int, int], shmem: int, read_only: int, block: int = 16) -> Configuration:
    """A configuration's parameters."""
    return (
        ("block_size_x", block),
        ("tile_size_x", tile[0]),
        ("tile_size_y", tile[1]),
        ("read_only", read_only),
        ("use_shmem", shmem),
    )


def row(tile: tuple[int, int], median: float, least: float | None = None, form: int = 0) -> Row:
    """32 runs; ``form`` is 0 plain, 1 staged, 2 ``__ldg``, 3 both."""
    return Row(named(tile, form & 1, form >> 1), median, median if least is None else least, 32)


@pytest.mark.parametrize(
    ("median", "least", "clock"),
    [
        pytest.param(2.0, 1.999, Clock.BASE, id="short_and_steady"),
        pytest.param(4.5, 4.49, Clock.BASE, id="longer_and_steady"),
        pytest.param(6.0, 3.3, Clock.BASE, id="rose_all_the_way_after_the_median"),
        pytest.param(4.5, 3.5, Clock.RISING, id="rose_in_part"),
        pytest.param(7.0, 6.99, Clock.RISING, id="may_have_risen_before_the_median"),
        pytest.param(2.0, 1.1, Clock.RISING, id="fell_within_a_short_row"),
    ],
)
def test_a_row_alone_is_told_by_its_median_and_its_shortest_run(
    median: float, least: float, clock: Clock
) -> None:
    one = row((4, 1), median, least)
    assert clocks_of([one]) == {one.configuration: clock}


@pytest.mark.parametrize(
    ("tile", "before_ms", "clock"),
    [
        pytest.param((1, 3), 4.2, Clock.LEFT, id="short_compilation_after_long_row"),
        pytest.param((1, 3), 2.0, Clock.BASE, id="short_compilation_after_short_row"),
        pytest.param((3, 1), 4.2, Clock.BASE, id="long_compilation"),
        pytest.param((2, 4), 4.2, Clock.BASE, id="eight_outputs"),
    ],
)
def test_a_long_row_leaves_its_clock_to_the_next_if_that_compiles_quickly(
    tile: tuple[int, int], before_ms: float, clock: Clock
) -> None:
    rows = [row(tile, before_ms, form=2), row(tile, 0.7, form=3)]
    assert clocks_of(rows)[rows[1].configuration] is clock


def test_unstaged_forms_compile_too_quickly_to_be_sure() -> None:
    rows = [row((4, 3), 4.2, form=2), row((4, 3), 1.5, form=0)]
    assert clocks_of(rows)[rows[1].configuration] is Clock.LEFT


@pytest.mark.parametrize(("tile", "clock"), [((1, 1), Clock.LEFT), ((1, 2), Clock.BASE)])
def test_only_a_single_output_compiles_so_quickly_that_a_clock_lasts_for_two_rows(
    tile: tuple[int, int], clock: Clock
) -> None:
    rows = [row(tile, 4.2, form=2), row(tile, 0.7, form=3), row(tile, 0.8, form=1)]
    assert clocks_of(rows)[rows[2].configuration] is clock


def test_a_perfect_model_at_one_clock_errs_where_the_clock_was_another() -> None:
    rows = [
        row((1, 3), 1.0, form=1),
        row((1, 3), 4.0, form=2),
        row((1, 3), 0.5, form=3),
        row((3, 1), 1.0, form=1),
        row((3, 1), 1.0, form=3),
    ]
    pairs = staged_pairs(rows)
    assert apart(pairs).tolist() == [0.5, 0.0]
    # 1.0 is said of the one that took 0.5; the other four rows are right: 1 of 5.
    assert floor(pairs, clocks_of(rows)) == pytest.approx(0.2)


def measured(shapes: int) -> list[MeasuredTime]:
    """Four forms of each shape."""
    return [
        MeasuredTime(named((1, 1), form & 1, form >> 1, block), 1.0)
        for block in range(shapes)
        for form in range(4)
    ]


def test_pairs_differ_in_one_switch_and_switches_take_turns() -> None:
    chosen = choose_pairs(measured(10), SWITCHES, 12, seed=3)
    assert chosen == choose_pairs(measured(10), SWITCHES, 12, seed=3)
    assert len(chosen) == 12
    differ = []
    for one, other in zip(chosen[::2], chosen[1::2], strict=True):
        apart_in = set(one.configuration) ^ set(other.configuration)
        differ.append(sorted({name for name, _ in apart_in}))
    assert sorted(differ) == [["read_only"]] * 3 + [["use_shmem"]] * 3


def test_rows_are_drawn_singly_where_nothing_is_placed() -> None:
    assert len(choose_pairs(measured(3), (), 5, seed=0)) == 5


def test_figures_beside_asked_ones_hold_whatever_they_are() -> None:
    times = np.array([1.0, 2.0, 3.0])
    configurations = tuple(named((1, 1), 0, 0, block) for block in range(3))
    off = Judged(configurations, 2.0 * times, times, 3.0 * times, times, 1)
    asked = Asked(error=0.1, free_clock=False, ratio=None)
    failed = [f.figure for f in figures_of("t", off, asked, SWITCHES) if not f.holds]
    assert failed == ["t: mean |error|, spec clock", "t: refused"]
    free = Asked(error=0.1, free_clock=True, ratio=None, judged=False)
    assert all(f.holds for f in figures_of("t", off, free, SWITCHES))
    kept = off.where(lambda c: dict(c)["block_size_x"] != 1)
    assert kept.measured.tolist() == [1.0, 3.0]
