"""What a probe asks of a machine: a GPU at hand, or a simulated one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from placewise.probe.chase import ProbeDevice
from placewise.probe.infer.dram import PairDevice

PATHS = ("global", "readonly", "texture", "constant", "shared")
"""Ways to load that a chase can take."""
INSTRUCTIONS = (
    *("FADD", "FMUL", "FFMA", "DADD", "DFMA", "HFMA2", "IADD3", "IMAD", "LOP3", "SHF"),
    *("POPC", "MUFU_EX2", "MUFU_RSQ", "SHFL"),
)
"""Kernels of ``kernels/instructions.cu``, by the opcode they time; ``_`` stands for a dot."""
TENSOR = {
    "HMMA_1688_F32": (7, 5),
    "HMMA_16816_F32": (8, 0),
    "HMMA_1688_F32_TF32": (8, 0),
    "IMMA_16832_S8_S8": (8, 0),
    "DMMA": (8, 0),
}
"""Tensor-core instructions that can be measured, with the least compute capability that has
each."""
WIDTHS = (4, 8, 16)
"""Bytes that a lane reads from shared memory at a time."""
STREAMS = ("L1", "L2", "DRAM")
"""Levels whose bandwidth is measured."""


@dataclass(frozen=True)
class DeviceFacts:
    """What a driver says of a device; ``None`` where it does not."""

    name: str
    """As the driver calls it."""
    compute_capability: tuple[int, int]
    sms: int
    clock_mhz: float | None
    memory_bytes: int
    l2_bytes: int
    constant_bytes: int
    max_threads_per_block: int
    max_block: tuple[int, int, int]
    max_grid: tuple[int, int, int]
    max_threads_per_sm: int
    max_blocks_per_sm: int
    registers_per_sm: int
    shared_bytes_per_block: int
    """Largest shared memory of a block, with the opt-in that some GPUs need."""
    shared_bytes_per_sm: int
    dram_gb_per_s: float | None
    """Peak, from the memory's clock and width."""


def instructions_of(capability: tuple[int, int]) -> tuple[str, ...]:
    """Instructions of :data:`INSTRUCTIONS` and :data:`TENSOR` that a GPU of ``capability`` has."""
    return (*INSTRUCTIONS, *(name for name, least in TENSOR.items() if capability >= least))


@dataclass(frozen=True)
class BankTimes:
    """Shared memory read by a warp whose lanes are some stride apart."""

    stride: int
    """In accesses of ``width`` bytes."""
    width: int
    latency_cycles: float
    cycles_per_access: float
    """Cycles per access of one warp, while all warps of the block access."""


@dataclass(frozen=True)
class InstructionTimes:
    """One instruction, by its opcode."""

    opcode: str
    latency_cycles: float
    lanes_per_cycle: float
    """Lanes that one SM executes in a cycle."""


@dataclass(frozen=True)
class StreamTimes:
    """What a level moves."""

    level: str
    """The level, one of :data:`STREAMS`."""
    warps_per_sm: int
    gb_per_s: float
    """Bandwidth of the whole GPU."""


class ProbeTarget(Protocol):
    """A machine that can be measured. Methods raise PlacewiseError where that fails."""

    @property
    def facts(self) -> DeviceFacts:
        """What is known without measuring."""

    def elapsed_s(self) -> float:
        """Seconds of the machine's time, from some moment on."""

    def chaser(self, path: str) -> ProbeDevice:
        """The device that chases through memory by one of :data:`PATHS`."""

    def pairs(self) -> PairDevice:
        """The device that loads pairs of addresses past all caches."""

    def banks(self, stride: int, width: int) -> BankTimes:
        """Times of shared memory for one stride and width."""

    def instruction(self, name: str) -> InstructionTimes:
        """Times of one of :data:`INSTRUCTIONS`."""

    def stream(self, level: str, warps_per_sm: int) -> StreamTimes:
        """Bandwidth of a level of :data:`STREAMS` with so many warps on each SM."""

    def launch_ns(self) -> float:
        """Time of a kernel that does nothing."""
