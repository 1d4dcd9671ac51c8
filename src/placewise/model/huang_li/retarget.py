"""Retargeting (section III-E): traffic of a kernel's accesses counted as if its arrays were in
other memories."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from placewise.errors import UnsupportedError
from placewise.kernel.binary.machine_code import machine_code
from placewise.machine import Machine
from placewise.memory.occupancy import WARP_SIZE
from placewise.memory.simulate.launch import SimulatedLaunch
from placewise.memory.simulate.metrics.traffic import Estimate, SiteTraffic
from placewise.model.huang_li.addressing import (
    MEMORIES,
    OLDEST_LISTED,
    TEXTURE_2D,
    first_of_addresses,
    instruction_difference,
)

_TYPE_OF_SIZE = {4: "float", 8: "float2", 16: "float4"}
"""A type for each size, since address instructions depend only on the size of an element. A double
is loaded from texture as two words, as textures of double do not exist."""


def memories_of(machine: Machine, placement: Mapping[str, str]) -> dict[str, str]:
    """The state space that each moved array is in; :data:`TEXTURE_2D` stays as it is."""
    return {
        array: space if space == TEXTURE_2D else machine.space(space).way.facts.state_space
        for array, space in placement.items()
    }


def spaces_of(placement: Mapping[str, str]) -> dict[str, str]:
    """Spaces whose caches moved arrays use. A texture in two dimensions counts as a texture: its
    tiles are treated like lines."""
    return {a: "texture" if space == TEXTURE_2D else space for a, space in placement.items()}


def seen_in(site: SiteTraffic, moved: Mapping[str, str]) -> SiteTraffic:
    """The traffic of an instruction whose array has moved, under the new memory's name."""
    space = moved.get(site.array or "", site.site.space)
    space = "texture" if space == TEXTURE_2D else space
    return site if space == site.site.space else replace(site, site=replace(site.site, space=space))


class AddressInstructions(NamedTuple):
    """Additional executed instructions to compute addresses of moved arrays (negative: fewer)."""

    of_warps: float = 0.0
    of_threads: float = 0.0


def addressing_arch(run: SimulatedLaunch) -> str:
    """The architecture whose address instructions are counted: the compiled kernel's. For a machine
    so old that the kernel was compiled for a later architecture, it is the machine's own."""
    major, minor = run.machine.limits.compute_capability
    is_old = 10 * major + minor < OLDEST_LISTED
    return f"sm_{major}{minor}" if is_old else run.kernel.arch


def leaving_shared(
    run: SimulatedLaunch, sites: Iterable[SiteTraffic], target: str
) -> tuple[tuple[SiteTraffic, ...], AddressInstructions]:
    """``sites`` with all accesses to shared memory counted as accesses to global or texture memory,
    and the additional instructions for their addresses.

    The paper replaces the index by the thread's number in the grid (section III-B): lanes of a warp
    access neighbouring elements, and each thread its own element. So loads hit L2 if it can hold
    one element of every resident thread; else they go to DRAM. Occupancy is left unchanged. Raises
    UnsupportedError for any other ``target``.
    """
    if target not in ("global", "texture"):
        raise UnsupportedError(f"shared memory is not moved to {target} memory")
    traffic, moved = run.traffic, []
    warps = threads = 0.0
    caches = [m for m in run.machine.memories if m.scope == "die" and not m.software_managed]
    held = max((m.size_bytes or 0 for m in caches), default=0)
    resident = run.occupancy.warps * run.machine.processor.sms * WARP_SIZE
    fresh = _first_of_addresses(run)
    for site in sites:
        if site.site.space != "shared":
            moved.append(site)
            continue
        size = site.site.lane_bytes
        each = math.ceil(WARP_SIZE * size / traffic.sector_bytes)
        sectors = site.requests * min(each, max(1.0, site.lanes / max(site.requests, 1.0)))
        fits = resident * size <= held
        is_load = site.site.kind == "load"
        nothing = Estimate(0.0, 0.0)
        moved.append(
            replace(
                site,
                site=replace(site.site, space=target),
                sectors=sectors,
                lines=site.requests * math.ceil(WARP_SIZE * size / traffic.line_bytes),
                wavefronts=0.0,
                l1_hits=nothing,
                l2_asked=Estimate(sectors, 0.0),
                l2_hits=Estimate(sectors, 0.0) if fits and is_load else nothing,
                dram_sectors=nothing if fits or not is_load else Estimate(sectors, 0.0),
            )
        )
        if fresh is not None and site.site.ptx_line not in fresh:
            continue
        type_ = _TYPE_OF_SIZE.get(size, "float")
        more = instruction_difference(addressing_arch(run), type_, "shared", target)
        warps += more * site.requests
        threads += more * site.lanes
    return tuple(moved), AddressInstructions(warps, threads)


def address_instructions(run: SimulatedLaunch, moved: Mapping[str, str]) -> AddressInstructions:
    """What the addresses of moved arrays take more. In machine code, accesses at fixed distances
    from one address take it once; of PTX, whose addresses the compiler has yet to make, each access
    takes it, as in the paper."""
    warps = threads = 0.0
    arch = addressing_arch(run)
    fresh = _first_of_addresses(run)
    for site in run.traffic.sites:
        target = moved.get(site.array or "")
        if fresh is not None and site.site.ptx_line not in fresh:
            continue
        if target is not None and site.site.space in MEMORIES:
            type_ = _TYPE_OF_SIZE.get(site.site.lane_bytes, "float")
            each = instruction_difference(arch, type_, site.site.space, target)
            warps += each * site.requests
            threads += each * site.lanes
    return AddressInstructions(warps, threads)


def _first_of_addresses(run: SimulatedLaunch) -> frozenset[int] | None:
    """Offsets of the instructions that first use an address; None where PTX was executed."""
    if not run.from_machine_code:
        return None
    return first_of_addresses(machine_code(run.kernel).instructions)
