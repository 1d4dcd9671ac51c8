"""Traffic of arrays that are seen elsewhere than the kernel accesses them (section III-E)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from placewise.machine import Machine
from placewise.memory.simulate.launch import SimulatedLaunch
from placewise.memory.simulate.metrics.traffic import SiteTraffic
from placewise.model.huang_li.addressing import MEMORIES, instruction_difference

_TYPE_OF_SIZE = {4: "float", 8: "double", 16: "float4"}
"""Addresses depend on the size of an element alone."""


def memories_of(machine: Machine, placement: Mapping[str, str]) -> dict[str, str]:
    """The kind of memory that each moved array is in."""
    return {array: machine.space(space).way.facts.state_space for array, space in placement.items()}


def seen_in(site: SiteTraffic, moved: Mapping[str, str]) -> SiteTraffic:
    """The traffic of an instruction whose array has moved, under the new memory's name."""
    space = moved.get(site.array or "", site.site.space)
    return site if space == site.site.space else replace(site, site=replace(site.site, space=space))


class AddressInstructions(NamedTuple):
    """Executed instructions that moved arrays' addresses take more (negative: less)."""

    of_warps: float = 0.0
    of_threads: float = 0.0


def address_instructions(run: SimulatedLaunch, moved: Mapping[str, str]) -> AddressInstructions:
    """What the addresses of moved arrays take more."""
    warps = threads = 0.0
    for site in run.traffic.sites:
        target = moved.get(site.array or "")
        if target is not None and site.site.space in MEMORIES:
            type_ = _TYPE_OF_SIZE.get(site.site.lane_bytes, "float")
            each = instruction_difference(run.kernel.arch, type_, site.site.space, target)
            warps += each * site.requests
            threads += each * site.lanes
    return AddressInstructions(warps, threads)
