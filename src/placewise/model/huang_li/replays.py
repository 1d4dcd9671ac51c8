"""Instruction replays: the ten reasons of section III-B of Huang and Li 2017, and Eq. 3.

On Kepler and before, an instruction that the load/store units cannot serve at once is issued again:
a replay takes an issue slot. From Maxwell on, and so on Volta and later, it is issued once and
passes the data stage of its unit several times; Nsight Compute counts these passes as wavefronts.
Further wavefronts occupy the pipe as replays occupied the issue port. So each wavefront of a
request after the first counts as one replay, and Eq. 3 holds for both (NVIDIA, Nsight Compute
documentation, "Metrics Decoder"; Maxwell Tuning Guide, "Instruction Scheduling").
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from placewise.executor.stratified_blocks import SECTOR_BYTES
from placewise.memory.simulate.metrics.traffic import SiteTraffic


@dataclass(frozen=True)
class Replays:
    """Replays of a launch by the reasons (1) to (4), which a placement changes and the trace
    tells."""

    global_divergence: float = 0.0
    """Addresses of a warp diverge in global memory, or ask for more words than one cycle loads."""
    constant_misses: float = 0.0
    """Misses of the nearest constant cache."""
    constant_divergence: float = 0.0
    """Different addresses of a constant load beyond the first."""
    bank_conflicts: float = 0.0
    """Passes of a shared access beyond the first."""

    @property
    def total(self) -> float:
        """Sum of all four."""
        return (
            self.global_divergence
            + self.constant_misses
            + self.constant_divergence
            + self.bank_conflicts
        )


WAVEFRONT_BYTES, TAGS_PER_CYCLE = 128, 4
"""What L1 gives in a cycle since Volta: contiguous bytes, and lines whose tags are looked up
(gpu-benches, gpu-strides on A100, A40 and H200)."""
VOLTA = (7, 0)


def global_passes(site: SiteTraffic, capability: tuple[int, int]) -> float:
    """Passes through the load/store unit of an instruction's requests to global memory: one for
    each line on GPUs before Volta, as the paper counts them.

    Since Volta a request for neighbouring words that begins inside a line takes no pass more than
    one that does not. Scattered requests take one for each line.
    """
    if capability < VOLTA or not site.requests:
        return site.lines
    wanted = site.lanes * site.site.lane_bytes
    if site.sectors > wanted / SECTOR_BYTES + site.requests:
        return site.lines
    tags = site.requests + (site.lines - site.requests) / TAGS_PER_CYCLE
    return min(site.lines, max(site.requests, wanted / WAVEFRONT_BYTES, tags))


def replays_of(
    sites: Iterable[SiteTraffic],
    constant_misses: float = 0.0,
    capability: tuple[int, int] = (0, 0),
) -> Replays:
    """Replays of the memory instructions ``sites``: for each request, the lines (global), different
    addresses (constant) and bank passes (shared) beyond the first.

    ``constant_misses`` are the misses of the nearest constant cache, each one replay, and
    ``capability`` is the machine's compute capability (:func:`global_passes`). Lines and passes are
    those of the machine that the traffic was simulated for. As in the paper's reason (1), a wide
    access that needs several lines counts as several even if its threads access neighbouring words:
    the words' bytes over the size of a line.
    """
    divergence = constant = conflicts = 0.0
    for site in sites:
        match site.site.space:
            case "global" | "generic":
                divergence += max(0.0, global_passes(site, capability) - site.requests)
            case "constant":
                constant += max(0.0, site.wavefronts - site.requests)
            case "shared" if site.site.kind != "atomic":
                conflicts += max(0.0, site.wavefronts - site.requests)
    return Replays(divergence, constant_misses, constant, conflicts)


def carried_replays(sites: Iterable[SiteTraffic], two_cycles: float = 0.0) -> float:
    """Replays of a launch by those reasons that no placement changes and that can be counted: (5)
    ``two_cycles``, executed instructions that take two cycles to issue; (6) passes of shared
    atomics after the first; (7) misses and (9) lines after the first in local memory. Instruction
    cache misses (8) and full units (10) are left out; only a profiler counts them."""
    replays = two_cycles
    for site in sites:
        if site.site.space == "shared" and site.site.kind == "atomic":
            replays += max(0.0, site.wavefronts - site.requests)
        elif site.site.space == "local":
            replays += max(0.0, site.lines - site.requests)
            if site.site.kind == "load" and site.sectors:
                missed = 1.0 - min(1.0, site.l1_hits.value / site.sectors)
                replays += site.requests * missed
    return replays


def replays_of_target(of_sample: float, sample_counted: float, target_counted: float) -> float:
    """Eq. 3: replays of the target placement. ``of_sample`` are all replays of the sample, measured
    or counted; ``sample_counted`` and ``target_counted`` are the replays of both by reasons (1) to
    (4). Replays by reasons (5) to (10) are those of the sample."""
    return of_sample - sample_counted + target_counted
