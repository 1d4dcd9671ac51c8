"""One kernel on one machine: a full profile, an active one, and how far they are apart."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import partial

from placewise.advisor.prepare import learn, read_only_loads
from placewise.choose import legal_spaces, search
from placewise.executor import execute
from placewise.kernel.cases.case import Case
from placewise.kernel.cases.prepare_case import read_case
from placewise.kernel.target import target_for
from placewise.machine import load_machine
from placewise.memory import Profile, Profiler, occupancy
from placewise.memory.reuse.distance_shares import profile_counts, shares_apart
from placewise.memory.reuse.sampling.active import ActiveProfiler
from placewise.model import path_model

EVERYTHING = 1 << 40
"""Accesses that a full profile may keep: all."""


@dataclass(frozen=True)
class Outcome:
    """What the two profiles of a kernel on a machine say."""

    kernel: str
    machine: str
    accesses: int
    """Warp accesses of the launch."""
    looked_at: float
    """Share of them that the active profile looked at."""
    apart: float
    """L1 distance of the reuse-distance histograms."""
    estimated: float
    """What the active profile itself says of that distance."""
    units: int
    """SMs, or groups of SMs that share a cache, that it looked at."""
    same_choice: bool
    regret: float
    """Time of the placement that the active profile chooses over the full profile's best, both
    judged by the full profile, less 1."""
    full_seconds: float
    active_seconds: float


def judge(case: Case, machine_name: str, most_accesses: int) -> Outcome | None:
    """Profile ``case`` both ways; None where the launch has more than ``most_accesses``."""
    machine = load_machine(machine_name)
    arch, _ = target_for(machine.limits.compute_capability, case.options.nvrtc)
    read = read_case(replace(case, options=replace(case.options, arch=arch)))
    case, kernel, view = read.case, read.kernel, read.view
    resident = occupancy(
        case.launch,
        machine,
        registers=kernel.registers,
        shared_bytes=case.launch.shared_bytes + kernel.static_shared_bytes,
    )
    run = partial(execute, kernel, case.launch, case.inputs)
    execution = run(count_by_block=True)
    memory_sites = [s.space in ("global", "generic", "texture") for s in execution.sites]
    if int(execution.site_executions[memory_sites].sum()) > most_accesses:
        return None

    started = time.perf_counter()
    everything = Profiler(
        case.launch, machine, resident, view, case.inputs,
        access_budget=EVERYTHING, row_budget=EVERYTHING, first_warps=EVERYTHING,
    )  # fmt: skip
    run(consumer=everything, trace_blocks=everything.trace_blocks)
    full = everything.profile(execution)
    counts = profile_counts(full).sum(axis=0)
    full_seconds = time.perf_counter() - started

    started = time.perf_counter()
    active = ActiveProfiler(case.launch, machine, resident, view, case.inputs)
    looked = learn(active, run, execution.block_work)
    found = active.profile(execution)
    apart = shares_apart(profile_counts(found).sum(axis=0), counts)
    active_seconds = time.perf_counter() - started

    legality = legal_spaces(
        view, machine, execution, case.inputs, case.launch, kernel,
        allow_lower_occupancy=True, read_only_loads=read_only_loads(full),
    )  # fmt: skip

    def chosen(profile: Profile) -> list[tuple[object, float]]:
        listed = search(profile, legality, machine, path_model(joint=True), limit=400, equals=True)
        return [(c.placement, c.prediction.total) for c in listed]

    by_full = chosen(full)
    ((choice, _), *_) = chosen(found)
    times = dict(by_full)
    best = by_full[0][1]
    regret = times[choice] / best - 1.0 if choice in times and best else float("inf")
    return Outcome(
        case.name,
        machine_name,
        full.sampled_requests,
        looked.accesses / max(1, full.sampled_requests),
        apart,
        looked.error,
        looked.units,
        choice == by_full[0][0] or regret <= 1e-9,
        regret,
        full_seconds,
        active_seconds,
    )
