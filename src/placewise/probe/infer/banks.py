"""Banks of shared memory from the times of strided accesses (Mei et al. 2014, "Bank conflict")."""

from __future__ import annotations

from dataclasses import dataclass

from placewise.errors import MachineError
from placewise.probe.target import BankTimes

_LANES = 32
_WIDTH = 4
"""Bytes of the accesses that are looked at: those of one bank, on all current GPUs."""
_SURE = 0.2
"""Most relative difference of a measured number of wavefronts from a whole one."""


@dataclass(frozen=True)
class BankStructure:
    """What strides tell of shared memory."""

    banks: int
    conflict_cycles: float
    """What each further wavefront adds to the latency."""
    cycles_per_wavefront: float


def infer_banks(times: tuple[BankTimes, ...]) -> BankStructure:
    """Number of shared-memory banks and what conflicts cost, from times of strided accesses.

    With B banks, at least as many as lanes, a stride of 32 words puts 32 * 32 / B lanes on one.

    ``times`` must hold strides 1, 16 and 32 of 4 bytes. Raises MachineError where they do not, or
    do not look like banks.
    """
    at = {t.stride: t for t in times if t.width == _WIDTH}
    if not {1, _LANES // 2, _LANES} <= set(at):
        raise MachineError("banks need strides of 1, 16 and 32 words")
    one, half, full = at[1], at[_LANES // 2], at[_LANES]
    ratio = full.cycles_per_access / one.cycles_per_access
    wavefronts = 1 << max(round(ratio).bit_length() - 1, 0)
    if ratio / wavefronts > 1.5:
        wavefronts *= 2
    halves = half.cycles_per_access / one.cycles_per_access
    if wavefronts < 2 or max(abs(ratio / wavefronts - 1), abs(2 * halves / wavefronts - 1)) > _SURE:
        raise MachineError(
            f"strides of 16 and 32 words take {halves:.1f} and {ratio:.1f} times as long as 1"
        )
    added = (full.latency_cycles - one.latency_cycles) / (wavefronts - 1)
    return BankStructure(_LANES * _LANES // wavefronts, added, one.cycles_per_access)
