"""Occupancy: how many blocks and warps of a launch are resident on one SM, and what limits them.

The rules are NVIDIA's: the CUDA Occupancy Calculator spreadsheet for compute capability 1.x and
2.x, ``cuda_occupancy.h`` of the CUDA toolkit for 3.0 and later. Limits of an SM (threads, blocks,
registers, shared memory) come from the machine file. Only the granularity of allocation is
tabulated here: it depends on the compute capability alone, and machine files do not state it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from placewise.errors import CaseError
from placewise.kernel.launch import Launch
from placewise.machine.machine import Limits, Machine

WARP_SIZE = 32
"""Threads of a warp, on every NVIDIA GPU."""


@dataclass(frozen=True)
class AllocationRules:
    """Granularity in which an SM allocates registers and shared memory."""

    register_unit: int
    """Registers are allocated in multiples of this."""
    registers_per_block: bool
    """Whether registers are allocated to a block as a whole (1.x), not to each warp."""
    partitions: int
    """Sub-partitions of the SM's register file; warps are spread over them."""
    shared_unit: int
    """Shared memory is allocated in multiples of this many bytes."""
    reserved_shared: int
    """Bytes of shared memory that the system takes per block."""
    max_registers_per_block: int | None = 65536
    """Most registers of one block; None: all of the SM's."""
    checked_partitions: int | None = None
    """Number of partitions with which a launch is checked, if it differs from ``partitions``; else
    None."""
    barriers_per_slot: int | None = None
    """Hardware barriers of an SM divided by the blocks that it can hold; None: barriers are not
    considered, as in NVIDIA's calculator before 9.0."""


# Major compute capability → rules. 1.x: register unit of 1.2 and 1.3 (the occupancy calculator);
# there "partitions" is the warp allocation granularity of two.
_RULES = {
    1: AllocationRules(512, True, 2, 512, 0, None),
    2: AllocationRules(64, False, 2, 128, 0, None),
    3: AllocationRules(256, False, 4, 256, 0),
    5: AllocationRules(256, False, 4, 256, 0),
    6: AllocationRules(256, False, 4, 256, 0),
    7: AllocationRules(256, False, 4, 256, 0),
    8: AllocationRules(256, False, 4, 128, 1024),
    9: AllocationRules(256, False, 4, 128, 1024, barriers_per_slot=2),
    10: AllocationRules(256, False, 4, 128, 1024, barriers_per_slot=1),
    11: AllocationRules(256, False, 4, 128, 1024, barriers_per_slot=1),
    12: AllocationRules(256, False, 4, 128, 1024, barriers_per_slot=1),
}
# Single capabilities that differ from their major version (cuda_occupancy.h; registers per block of
# the Tegra processors 5.3 and 6.2 from the CUDA C++ Programming Guide's technical specifications).
_EXCEPTIONS = {
    (5, 3): replace(_RULES[5], max_registers_per_block=32768),
    # It has two partitions, but NVIDIA's calculator also refuses launches that 6.1, with four,
    # refuses.
    (6, 0): replace(_RULES[6], partitions=2, checked_partitions=4),
    (6, 2): replace(_RULES[6], max_registers_per_block=32768),
    (10, 0): replace(_RULES[10], barriers_per_slot=2),
}


def allocation_rules(capability: tuple[int, int]) -> AllocationRules:
    """Rules of a compute capability; for an unknown one, those of the latest known before it."""
    if capability in _EXCEPTIONS:
        return _EXCEPTIONS[capability]
    known = [major for major in _RULES if major <= capability[0]]
    return _RULES[max(known, default=1)]


@dataclass(frozen=True)
class Occupancy:
    """Blocks and warps of a launch that one SM holds at a time."""

    blocks: int
    """Resident blocks per SM; 0 if not even one fits."""
    warps: int
    """Resident warps per SM."""
    max_warps: int
    """Warps that the SM could hold."""
    limits: tuple[tuple[str, int], ...]
    """Blocks that each resource alone would allow: threads, blocks, registers, shared memory,
    barriers. ``registers`` is missing where the kernel's register count is unknown."""

    @property
    def binding(self) -> tuple[str, ...]:
        """Names of the resources that allow the fewest blocks."""
        least = min(count for _, count in self.limits)
        return tuple(name for name, count in self.limits if count == least)

    @property
    def fraction(self) -> float:
        """Resident warps over the SM's maximum, as the occupancy calculator reports it."""
        return self.warps / self.max_warps


def _round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit


def _register_blocks(limits: Limits, rules: AllocationRules, warps: int, registers: int) -> int:
    if registers > limits.max_registers_per_thread:
        return 0
    if rules.registers_per_block:
        whole = _round_up(warps, rules.partitions) * WARP_SIZE * registers
        return limits.registers_per_sm // _round_up(whole, rules.register_unit)
    per_warp = _round_up(registers * WARP_SIZE, rules.register_unit)
    # A launch is checked as if all partitions held as many warps as the fullest one.
    checked = _round_up(warps, rules.checked_partitions or rules.partitions)
    if per_warp * checked > (rules.max_registers_per_block or limits.registers_per_sm):
        return 0
    per_partition = limits.registers_per_sm // rules.partitions // per_warp
    return per_partition * rules.partitions // warps


def occupancy(
    launch: Launch,
    machine: Machine,
    *,
    registers: int | None,
    shared_bytes: int,
    barriers: int = 0,
) -> Occupancy:
    """Occupancy of ``launch`` on ``machine``.

    ``registers`` are per thread (None: unknown, not considered); ``shared_bytes`` are static and
    dynamic shared memory of a block together; ``barriers`` are the hardware barriers that a block
    uses. Blocks of the result are 0 where the launch cannot run at all.
    """
    limits = machine.limits
    rules = allocation_rules(limits.compute_capability)
    warps = launch.warps_per_block
    max_warps = limits.max_threads_per_sm // WARP_SIZE

    allowed: list[tuple[str, int]] = [
        (
            "threads",
            0 if launch.threads_per_block > limits.max_threads_per_block else max_warps // warps,
        ),
        ("blocks", limits.max_blocks_per_sm),
    ]
    if registers:
        allowed.append(("registers", _register_blocks(limits, rules, warps, registers)))
    per_block = _round_up(shared_bytes + rules.reserved_shared, rules.shared_unit)
    if shared_bytes > limits.shared_bytes_per_block:
        allowed.append(("shared memory", 0))
    elif per_block:
        allowed.append(("shared memory", limits.shared_bytes_per_sm // per_block))
    if barriers and rules.barriers_per_slot is not None:
        available = rules.barriers_per_slot * limits.max_blocks_per_sm
        allowed.append(("barriers", available // barriers))

    blocks = min(count for _, count in allowed)
    return Occupancy(blocks, blocks * warps, max_warps, tuple(allowed))


def fitting_occupancy(
    launch: Launch, machine: Machine, *, registers: int | None, shared_bytes: int
) -> Occupancy:
    """:func:`occupancy` of a launch that can run. Raises CaseError where not even one block fits an
    SM."""
    found = occupancy(launch, machine, registers=registers, shared_bytes=shared_bytes)
    if not found.blocks:
        raise CaseError(
            f"not even one block fits an SM of {machine.name}: {', '.join(found.binding)}",
            where="block",
        )
    return found
