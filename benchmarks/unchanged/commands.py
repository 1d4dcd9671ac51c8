"""The commands whose JSON is compared: every case, machines of each generation, every model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

CASES = ("convolution-columns", "convolution-rows", "matmul", "particlefilter", "spmv")
MACHINES = (
    "A100", "A100_80", "A4000", "A6000", "B200", "C1060", "H100", "H200", "K20c", "K80", "L40",
    "M2050", "M2075", "RTX2080Ti", "RTX3060", "RTX3090", "T1000", "T4", "V100",
)  # fmt: skip
QUICK = ("A100", "K20c")


@dataclass(frozen=True)
class Command:
    """One call of the program."""

    topic: str
    """What its figures are: ``verdicts``, ``traffic``, ``machine`` …"""
    arguments: tuple[str, ...]

    @property
    def name(self) -> str:
        """The command as a person types it."""
        return " ".join(("placewise", *self.arguments))


def commands(*, quick: bool) -> Iterator[Command]:
    """All commands to compare; with ``quick`` two machines and three cases."""
    cases = CASES[2:] if quick else CASES
    machines = QUICK if quick else MACHINES
    for machine in machines:
        yield Command("machines", ("machine", "show", machine, "--json"))
    for case in cases:
        yield Command("executions", ("run", case, "--check", "--json"))
        yield Command("machine code", ("machine-code", case, "--machine", "A4000", "--json"))
        for machine in machines:
            yield Command("verdicts", ("advise", case, "--machine", machine, "--json"))
            yield Command("traffic", ("counters", case, "--machine", machine, "--json"))
        yield Command("remarks", ("lint", case, "--machine", "A100", "--report-only", "--json"))
    for move in ("x=texture", "x=readonly"):
        yield Command(
            "traffic", ("counters", "spmv", "--machine", "A4000", "--place", move, "--json")
        )
    yield Command("papers' tables", ("reproduce", "--json"))
