"""How often arrays are copied to memory that the host fills, worked by hand."""

from types import SimpleNamespace

import pytest

from placewise import load_machine
from placewise.advisor.programs.copies import fills

MACHINE = load_machine("A100")
LIMITS = MACHINE.limits
BYTES = 4096
COPY_NS = (LIMITS.launch_overhead_ns or 2000.0) + 2 * BYTES / (
    LIMITS.dram_bandwidth_achieved_gb_per_s or LIMITS.dram_bandwidth_gb_per_s
)


def steps(text):
    """One step for each word: R reads the array, W writes it, U reads it where it is now."""
    return [
        SimpleNamespace(
            number=n,
            arrays={"p": "a"} if word else {},
            written=frozenset("a" if word == "W" else ""),
            sizes=lambda: {"a": BYTES},
        )
        for n, word in enumerate(text, start=1)
    ]


# (launches, rounds, launches of each round in front of which it is copied, copies in all)
ORDERS = [
    ("RR", 10, (), 0),  # In place of the copy to global memory.
    ("RU", 10, (), 1),
    ("RW", 10, (1,), 10),
    ("WR", 10, (2,), 10),
    ("WWR", 10, (3,), 10),
    ("RWR", 10, (3,), 11),  # The first one finds what the last one left.
    ("WRWR", 3, (2, 4), 6),
    ("RRW", 4, (1,), 4),
]


@pytest.mark.parametrize(("order", "rounds", "before", "times"), ORDERS)
def test_copies_of_an_array(order, rounds, before, times):
    made = steps(order)
    moved = {s.number: frozenset("a" if order[s.number - 1] == "R" else "") for s in made}
    (fill,) = fills(made, moved, rounds, MACHINE)
    assert (fill.before, fill.times) == (before, times)
    assert fill.nanoseconds == pytest.approx(times * COPY_NS)


def test_nothing_moved_is_nothing_copied():
    assert fills(steps("RW"), {1: frozenset(), 2: frozenset()}, 5, MACHINE) == ()
