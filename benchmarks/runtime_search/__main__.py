"""Time and quality of the searches for placements.

``python -m benchmarks.runtime_search``: greedy search, branch and bound and exhaustive search on
the bundled kernels and on made-up launches of up to 16 arrays, on K20c, whose spaces are the most
different. Times of a search leave out the table of costs, which is timed by itself. About a minute.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from benchmarks.results import Figure, report
from placewise.advisor.prepare import prepare
from placewise.cases import case_names, load_case
from placewise.choose.branch_bound import Found, branch_and_bound
from placewise.choose.exhaustive import exhaustive, placements
from placewise.choose.greedy import greedy
from placewise.choose.table import CostTable
from placewise.kernel.cases.case import Case
from placewise.kernel.cases.make_case import make_case
from placewise.machine import load_machine
from placewise.model import path_model

MACHINE = "K20c"
SEEDS = range(6)
ARRAYS = (6, 12, 16)
EXHAUSTIVE_UP_TO = 300_000
GREEDY_MS = 0.36
"""Chen et al. 2017, section 5.3.4: greedy search for 16 arrays; branch and bound took 542 s."""
_REPEATS = 20
_RUNS = 3


@dataclass(frozen=True)
class Decision:
    """One launch under one model."""

    name: str
    model: str
    arrays: int
    greedy_ms: float
    greedy_ratio: float
    """Time of the greedy placement over the best one's."""
    table_ms: float
    found: Found
    seconds: float
    """Processor time of branch and bound, all threads together: on an idle computer it takes no
    longer than that, and other work does not add to it."""
    elapsed: float
    """Seconds that pass while branch and bound runs on all processors, the least of three runs."""
    least: float | None
    """Time of the best placement by exhaustive search, where there are few enough."""


T = TypeVar("T")


def made_up(arrays: int, seed: int) -> Case:
    """A kernel that reads so many arrays: in order, all the same element, by a stride, or where an
    index says; some small enough for constant memory."""
    rng = np.random.default_rng(seed)
    n = 8192
    parameters, terms, values = [], [], []
    for a in range(arrays):
        size = int(rng.choice([64, 1024, 4096, 12_000, 40_000]))
        index = (f"i % {size}", f"k % {size}", f"(i * 7 + k) % {size}", f"at % {size}")
        parameters.append(f"const float *a{a}")
        terms.append(f"a{a}[{index[int(rng.integers(0, 4))]}]")
        values.append(rng.random(size).astype(np.float32))
    source = (
        f"__global__ void many({', '.join(parameters)}, const int *index, float *out) {{\n"
        "    int i = blockIdx.x * blockDim.x + threadIdx.x, at = index[i];\n"
        "    float sum = 0.0f;\n"
        f"    for (int k = 0; k < 8; k++) sum += {' + '.join(terms)};\n"
        "    out[i] = sum;\n}\n"
    )
    index = rng.integers(0, 1 << 20, n, np.int32)
    arguments = [*values, index, np.zeros(n, np.float32)]
    return make_case("many", source, arguments, block=256, problem=n, name=f"made up {seed}")


def launches() -> Iterator[tuple[str, Case]]:
    """Name and case of every launch."""
    for name in case_names():
        yield name, load_case(name)
    for arrays in ARRAYS:
        for seed in SEEDS:
            # The index array is one of them, the output another.
            yield f"{arrays} arrays, {seed}", made_up(arrays - 2, seed)


def decisions() -> Iterator[Decision]:
    """Every launch under the model that advises, and as the paper prints it."""
    machine = load_machine(MACHINE)
    for name, case in launches():
        prepared = prepare(case, machine)
        for label, model in (("joint", path_model(joint=True)), ("printed", path_model())):
            table = CostTable(prepared.profile, prepared.legality, machine, model)
            table.prepare()
            _, table_seconds = _timed(lambda table=table: table.costs)
            greedy(table)
            choice, _ = _timed(lambda table=table: greedy(table))
            greedy_seconds = min(
                _timed(lambda table=table: greedy(table))[1] for _ in range(_REPEATS)
            )
            branch_and_bound(table, most_branches=1)
            started = time.process_time()
            found = branch_and_bound(table)
            seconds = time.process_time() - started
            elapsed = min(
                _timed(lambda table=table: branch_and_bound(table))[1] for _ in range(_RUNS)
            )
            least = None
            if placements(table) <= EXHAUSTIVE_UP_TO:
                least = float(exhaustive(table, 1, equals=True)[1][0])
            ratio = float(table.times(choice[None])[0]) / found.time if found.time else 1.0
            yield Decision(
                name, label, len(table.arrays), greedy_seconds * 1e3, ratio,
                table_seconds * 1e3, found, seconds, elapsed, least,
            )  # fmt: skip


def _timed(call: Callable[[], T]) -> tuple[T, float]:
    started = time.perf_counter()
    result = call()
    return result, time.perf_counter() - started


def figures(found: list[Decision]) -> list[Figure]:
    """The figures asked for, and what else there is to know."""
    many = [d for d in found if d.arrays >= 16]
    known = [d for d in found if d.least is not None]
    equal = sum(abs(d.found.time - d.least) <= 1e-9 * d.least for d in known if d.least is not None)
    greedy_ms = max(d.greedy_ms for d in many)
    advising = [d for d in many if d.model == "joint"]
    printed = [d for d in many if d.model == "printed"]
    slowest = max(d.seconds for d in advising)
    exact = all(d.found.exact for d in found)
    cores = len(os.sched_getaffinity(0))
    return [
        Figure("greedy search of 16 arrays, the slowest launch", greedy_ms, "ms",
               f"at most {GREEDY_MS}", greedy_ms <= GREEDY_MS),
        Figure("table of costs of 16 arrays, the slowest", max(d.table_ms for d in many), "ms",
               "", True),
        Figure("branch and bound finds the exhaustive search's time", f"{equal} of {len(known)}",
               "launches", "all", equal == len(known)),
        Figure("branch and bound of 16 arrays, the slowest, model that advises", slowest,
               "processor s", "under 1", slowest < 1.0),
        Figure("branch and bound of 16 arrays, the slowest, model as printed",
               max(d.seconds for d in printed), "processor s", "under 1",
               max(d.seconds for d in printed) < 1.0),
        Figure("branch and bound of 16 arrays, the slowest, model as printed, time that passes",
               max(d.elapsed for d in printed), f"s on {cores} processors", "under 1",
               max(d.elapsed for d in printed) < 1.0),
        Figure("branch and bound ended with a proof", "all" if exact else "not all", "", "all",
               exact),
        Figure("greedy placement's time over the best, 16 arrays, mean",
               float(np.mean([d.greedy_ratio for d in many])), "ratio", "", True),
        Figure("greedy placement's time over the best, 16 arrays, worst",
               max(d.greedy_ratio for d in many), "ratio", "", True),
        Figure("launches of 16 arrays or more", len(many) // 2, "", "", True),
    ]  # fmt: skip


if __name__ == "__main__":
    sys.exit(not report("runtime_search", figures(list(decisions()))))
