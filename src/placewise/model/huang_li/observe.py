"""The numbers of a launch that the models of Huang and Li and of Sim et al. need.

Numbers are per warp or per SM, as the equations have them. They come from the executed machine code
and the simulated memory system, where the paper measures them with a profiler.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from placewise.kernel.binary.machine_code import machine_code
from placewise.kernel.binary.sass.classes import group
from placewise.kernel.binary.sass.control import control
from placewise.machine.machine import Machine
from placewise.memory.simulate.launch import SimulatedLaunch
from placewise.memory.simulate.metrics.traffic import SiteTraffic, constant_caches
from placewise.memory.simulate.requests.bursts import first_of_bursts
from placewise.memory.simulate.requests.routes import is_constant_load
from placewise.model.huang_li.banks import BankLoad, loads_of
from placewise.model.huang_li.latency import arithmetic_latency
from placewise.model.huang_li.replays import (
    Replays,
    carried_replays,
    global_passes,
    replays_of,
)
from placewise.model.huang_li.retarget import (
    address_instructions,
    leaving_shared,
    memories_of,
    seen_in,
)

_OFF_CHIP = ("global", "generic", "local", "texture")
_DOUBLES = ("DFMA", "DADD", "DMUL")
_DOUBLE = re.compile(r"\s*(@\S+\s+)?(fma|add|sub|mul)\S*\.f64\b")


@dataclass(frozen=True)
class Requests:
    """Warp accesses of the whole launch to one kind of memory."""

    requests: float = 0.0
    first_misses: float = 0.0
    """Requests that miss the nearest cache."""
    dram: float = 0.0
    """Requests that DRAM serves."""
    second_hits: float = 0.0
    """Requests that miss the first cache and hit a second one before L2, which only constant
    memory has."""


@dataclass(frozen=True)
class Observed:
    """One launch in numbers; cycles are of the SM's clock."""

    total_warps: float
    """Warps of the launch."""
    active_sms: float
    """SMs that have blocks."""
    resident_warps: float
    """Resident warps of an SM (N in the paper)."""
    instructions: float
    """Executed instructions per warp."""
    special: float
    """Special-function instructions per warp."""
    stall: float
    """Mean cycles between two instructions that a warp can issue, from the stall counts; the
    arithmetic latency where there is no machine code."""
    mlp: float
    """Memory requests that a warp has in flight at once."""
    replays: Replays
    """Replays of the whole launch by the reasons that a placement changes, (1) to (4)."""
    global_: Requests
    """Global and local memory."""
    texture: Requests
    constant: Requests
    shared: Requests
    passes_per_request: float
    """Mean number of passes of a request through the load/store units, at least 1. A pass serves
    one line, or the lanes that access shared memory without a bank conflict."""
    dram_sectors: float
    """Sectors that are fetched from DRAM."""
    sector_bytes: float
    banks: tuple[BankLoad, ...] = ()
    """Requests of each DRAM bank in the whole launch, gaps as fractions of its duration; empty
    where the machine's address mapping is not known."""
    bank_sectors: float = 0.0
    """Sectors of the banks' requests, both fetched and written; 0 means as many as
    ``dram_sectors``."""
    carried: float = 0.0
    """Replays of the whole launch by the reasons (5) to (10), which no placement changes."""
    staged_bytes: float = 0.0
    """Bytes that all blocks together copy into shared memory, apart from copies that the kernel's
    own accesses make."""
    staged_once: float = 0.0
    """Number of different bytes among these, which come from DRAM, the others from L2; 0 means that
    all come from DRAM."""

    @property
    def off_chip(self) -> float:
        """Requests of the launch to memories that lie in DRAM (global, local, texture)."""
        return self.global_.requests + self.texture.requests

    @property
    def requests(self) -> float:
        """All memory requests of the launch."""
        return self.off_chip + self.constant.requests + self.shared.requests


# Long, because it sets the result's many fields, one on each line.
def observe(
    run: SimulatedLaunch,
    machine: Machine,
    placement: Mapping[str, str] | None = None,
    *,
    staged_bytes: float = 0.0,
    staged_once: float = 0.0,
    leaves_shared: str | None = None,
) -> Observed:
    """Numbers of ``run``, which is a launch on ``machine``.

    ``placement`` (space by array) are the moves for which ``run`` was simulated by retargeting
    (section III-E). Accesses to these arrays count for their new space, and the instructions that
    compute its addresses are added (section III-B). ``staged_bytes`` are the bytes that blocks copy
    into shared memory for these moves, and ``staged_once`` the different ones among them.
    ``leaves_shared`` names the memory, global or texture, that all of the kernel's shared memory
    moves to.
    """
    launch, traffic = run.launch, run.traffic
    moved = memories_of(machine, placement or {})
    sites = tuple(seen_in(s, moved) for s in traffic.sites if _is_request(s))
    more = address_instructions(run, moved).of_warps
    if leaves_shared is not None:
        sites, of_shared = leaving_shared(run, sites, leaves_shared)
        more += of_shared.of_warps
    warps = float(launch.blocks * launch.warps_per_block)
    active = min(machine.processor.sms, launch.blocks)
    resident = min(run.occupancy.warps, warps / active)
    off_chip = [s for s in sites if s.site.space in _OFF_CHIP]
    requests = sum(s.requests for s in sites)
    capability = machine.limits.compute_capability
    passes = sum(max(_passes(s, capability), s.wavefronts, s.requests) for s in sites)
    stall, special, two_cycles = _issue(run)
    instructions = run.execution.warp_instructions + more
    constant = [s for s in sites if s.site.space == "constant"]
    nearest = constant_caches(constant)
    from_dram = float(sum(s.dram_sectors.value for s in (*off_chip, *constant)))
    banks = traffic.banks
    if banks is not None and banks.sectors:
        moved_sectors = from_dram + traffic.dram_sectors_written().value
        banks = banks.thinned(moved_sectors / banks.sectors) if moved_sectors else None
    return Observed(
        total_warps=warps,
        active_sms=float(active),
        resident_warps=float(resident),
        instructions=instructions / warps,
        special=special / warps,
        stall=stall if stall is not None else arithmetic_latency(machine),
        mlp=_parallelism(run),
        replays=replays_of(sites, nearest[0].missed.value if nearest else 0.0, capability),
        global_=_requests([s for s in off_chip if s.site.space != "texture"]),
        texture=_requests([s for s in off_chip if s.site.space == "texture"]),
        constant=_constant_requests(constant),
        shared=_requests([s for s in sites if s.site.space == "shared"]),
        passes_per_request=passes / requests if requests else 1.0,
        dram_sectors=from_dram,
        sector_bytes=float(traffic.sector_bytes),
        banks=loads_of(banks) if banks is not None else (),
        bank_sectors=float(banks.sectors) if banks is not None else 0.0,
        carried=carried_replays(sites, two_cycles),
        staged_bytes=staged_bytes,
        staged_once=staged_once,
    )


def _passes(site: SiteTraffic, capability: tuple[int, int]) -> float:
    """Passes of an instruction's requests through the load/store unit, by their lines."""
    return global_passes(site, capability) if site.site.space in _OFF_CHIP else site.lines


def _is_request(site: SiteTraffic) -> bool:
    """Whether the site makes memory requests. Constants that are operands of instructions do not:
    they are read when the instruction issues."""
    return site.site.space != "constant" or is_constant_load(site.site)


def _requests(sites: list[SiteTraffic]) -> Requests:
    """Requests of the sites by the memory that serves them. Shares of sectors are taken as shares
    of requests."""
    requests = first = dram = 0.0
    for s in sites:
        requests += s.requests
        if s.sectors:
            first += s.requests * float(s.l2_sectors.value) / s.sectors
            dram += s.requests * float(s.dram_sectors.value) / s.sectors
    return Requests(requests, first, dram)


def _constant_requests(sites: Sequence[SiteTraffic]) -> Requests:
    """Requests of loads from constant memory. The share of lines that miss is taken as the share of
    requests that miss."""
    requests = first = second = dram = 0.0
    for s in sites:
        requests += s.requests
        if not s.constant or not s.constant[0].asked.value:
            continue
        per_line = s.requests / s.constant[0].asked.value
        missed = [min(1.0, per_line) * cache.missed.value for cache in s.constant]
        first += missed[0]
        second += max(0.0, missed[0] - missed[-1])
        asked = float(s.l2_asked.value) if s.l2_asked is not None else 0.0
        if asked:
            dram += missed[-1] * min(1.0, float(s.dram_sectors.value) / asked)
    return Requests(requests, first, dram, second)


def _issue(run: SimulatedLaunch) -> tuple[float | None, float, float]:
    """Mean stall count of the executed instructions, number of executed special-function
    instructions, and number of executed double-precision instructions, which take two cycles to
    issue."""
    if not run.from_machine_code:
        text = run.kernel.ptx.splitlines()
        counts = run.execution.instruction_counts()
        return None, 0.0, float(sum(c.warps for c in counts if _DOUBLE.match(text[c.place - 1])))
    code = {i.offset: i for i in machine_code(run.kernel).instructions}
    stalls = executed = special = double = 0.0
    for count in run.execution.instruction_counts():
        instruction = code.get(count.place)
        if instruction is None:
            continue
        executed += count.warps
        stalls += count.warps * max(1, control(instruction.encoding).stall)
        if group(instruction.opcode) == "special function":
            special += count.warps
        if instruction.parts[0] in _DOUBLES:
            double += count.warps
    return (stalls / executed if executed else None), special, double


def _parallelism(run: SimulatedLaunch) -> float:
    """Memory requests that a warp has in flight at once: all requests over the number of times that
    a warp waits for some."""
    if not run.from_machine_code:
        return 1.0
    firsts = first_of_bursts(machine_code(run.kernel).instructions, shared=True)
    sites = [s for s in run.traffic.sites if s.site.space in (*_OFF_CHIP, "shared")]
    waits = sum(s.requests for s in sites if s.site.ptx_line in firsts)
    requests = sum(s.requests for s in sites)
    return max(1.0, requests / waits) if waits else 1.0


@dataclass(frozen=True)
class Latencies:
    """Latencies in cycles of the memories in Eq. 5."""

    first: float
    """The cache nearest to the cores on the way to global memory."""
    l2: float
    """The last cache of the die."""
    dram: float
    """Additional cycles of an access that misses L2."""
    constant: float
    """The nearest cache of constant memory."""
    shared: float
    """Shared memory without bank conflicts."""
    second_constant: float = 0.0
    """The next cache of constant memory; L2's latency where there is none."""


def latencies(machine: Machine) -> Latencies:
    """Latencies of ``machine`` in cycles; 0 for shared or constant memory that it does not have."""
    levels = machine.levels(machine.direct_space.name)
    caches = [m for m in levels[:-1] if m.readable]
    die = [m for m in caches if m.scope == "die"]
    l2 = die[-1].latency_cycles if die else 0.0
    first = caches[0].latency_cycles if caches else l2
    nearest = {
        s.way.facts.state_space: machine.levels(s.name)[0].latency_cycles
        for s in machine.spaces
        if s.way.has_own_memory
    }
    constant = next((s.name for s in machine.spaces if s.way.facts.host_filled), None)
    behind = machine.levels(constant)[1:-1] if constant is not None else ()
    second = behind[0].latency_cycles if behind else l2
    return Latencies(
        first,
        l2,
        max(0.0, levels[-1].latency_cycles - l2),
        nearest.get("constant", 0.0),
        nearest.get("shared", 0.0),
        second,
    )
