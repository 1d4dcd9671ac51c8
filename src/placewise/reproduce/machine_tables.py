"""What the papers print of GPUs, beside the machine files: Chen et al. 2017, Tables 2 and 3 and
Fig. 4; Peng et al. 2016, Tables I and II; Huang and Li 2017, section III-C2.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from placewise.machine import Machine, load_machine
from placewise.machine.machine import Dram
from placewise.memory.occupancy import WARP_SIZE
from placewise.model.static_layout.cost import Weights
from placewise.reproduce.result import Cell, Reproduction, Table

COLUMNS = (
    "Constant", "cL2", "cL1", "Global", "gL2", "gL1", "Read-only", "Texture", "tL2", "tL1",
    "Shared",
)  # fmt: skip
"""Columns of Chen et al.'s Table 3."""
LATENCIES: dict[str, tuple[int | None, ...]] = {
    "K20c": (250, 120, 48, 345, 222, None, 141, 351, 222, 103, 48),
    "M2075": (360, 140, 48, 600, 390, 80, None, 617, 390, 208, 48),
    "C1060": (545, 130, 56, 548, None, None, None, 546, 366, 251, 38),
}
"""Chen et al., Table 3, in cycles; None where the table has N/A."""
_MEMORIES = dict(
    zip(
        COLUMNS,
        ("constantMem", "cL2", "cL1", "globalMem", "L2", "L1", "readOnly", "textureMem", "tL2",
         "tL1", "sharedMem"),
        strict=True,
    )
)  # fmt: skip


@dataclass(frozen=True)
class Specified:
    """One line of Chen et al.'s Fig. 4; None for a ``?``."""

    name: str
    size_bytes: int
    block_bytes: int | None
    banks: int | None
    cycles: int


FIG_4 = (
    Specified("globalMem", 5375 << 20, 128, None, 600),
    Specified("L1", 16 << 10, 128, None, 80),
    Specified("L2", 768 << 10, 32, None, 390),
    Specified("constantMem", 64 << 10, None, None, 360),
    Specified("cL1", 4 << 10, 64, None, 48),
    Specified("cL2", 32 << 10, 256, None, 140),
    Specified("sharedMem", 48 << 10, None, 32, 48),
)
"""The memories of the M2075 in Fig. 4."""
TABLE_II: dict[str, tuple[int, ...]] = {
    "M2050": (448, 32, 8, 1536, 32768, 63, 64 << 10, 128, 768 << 10, 32),
    "K20c": (2496, 32, 16, 2048, 65536, 255, 0, 0, 1536 << 10, 32),
}
"""Peng et al., Table II; 0 for a cache that global memory does not use."""
ATTRIBUTES = (
    "CUDA cores", "threads of a warp", "blocks of an SM", "threads of an SM",
    "registers of an SM", "registers of a thread", "L1, bytes", "line of L1, bytes", "L2, bytes",
    "line of L2, bytes",
)  # fmt: skip
ROW_TIMES = {"hit": 352.0, "miss": 742.0, "conflict": 1008.0}
"""Latencies of a row buffer of the K80 in ns (Huang and Li, section III-C2)."""
ROW_OR_COLUMN = (*range(8, 22), *range(30, 33))
"""Address bits of row or column on the K80."""


def machine_tables() -> Reproduction:
    """The printed figures of each GPU beside those of its machine file."""
    tables = (_latency_table(), _specification_table(), _weight_table(), _limit_table(),
              _row_table())  # fmt: skip
    compared, same = 0, 0
    for table in tables:
        for row in table.rows:
            compared += row[-1] is not None
            same += row[-1] == "yes"
    return Reproduction(
        "machines",
        "Chen et al. 2017, Tables 2 and 3, Fig. 4; Peng et al. 2016, Tables I and II; "
        "Huang and Li 2017, section III-C2",
        tables,
        f"{same} of {compared} rows are in the machine files as printed; notes say why others are "
        "not.",
        missing=(
            "the latencies themselves: the machine files have them from the papers, which measured "
            "them on GPUs that are not available",
            "Chen et al., Table 2: names of cards, processors and CUDA releases, no figures; the "
            "cards are the machines C1060, M2075 and K20c",
        ),
        figures={"rows": float(compared), "rows as printed": float(same)},
    )


def latency_of(machine: Machine, column: str) -> float | None:
    """Cycles of the memory in a column of Table 3; None where the machine has none. Textures share
    L2 with global memory where they have no second cache of their own."""
    by_name = {memory.name: memory.latency_cycles for memory in machine.memories}
    if column == "tL2" and "tL2" not in by_name:
        return by_name.get("L2")
    return by_name.get(_MEMORIES[column])


def _latency_table() -> Table:
    rows: list[tuple[Cell, ...]] = []
    for name, printed in LATENCIES.items():
        machine = load_machine(name)
        ours = tuple(latency_of(machine, column) for column in COLUMNS)
        rows.append((f"Tesla {name}", "paper", *printed, None))
        rows.append(("", "program", *(None if v is None else round(v) for v in ours),
                     _agrees(printed, ours)))  # fmt: skip
    return Table(
        "Chen et al., Table 3: latencies in cycles",
        ("", "", *COLUMNS, "agrees"),
        tuple(rows),
        ("empty: N/A; cL1 and cL2 are caches of constant memory, tL1 and tL2 of textures",),
    )


def _specification_table() -> Table:
    machine = load_machine("M2075")
    rows: list[tuple[Cell, ...]] = []
    for line in FIG_4:
        memory = machine.memory(line.name)
        printed = (line.size_bytes, line.block_bytes, line.banks, line.cycles)
        ours = (memory.size_bytes, memory.block_bytes, memory.banks, memory.latency_cycles)
        cells = [cell for pair in zip(printed, ours, strict=True) for cell in pair]
        rows.append((line.name, *(_whole(c) for c in cells), _agrees(printed, ours)))
    return Table(
        "Chen et al., Fig. 4: memories of the Tesla M2075",
        ("memory", *(f"{what}, {who}" for what in ("bytes", "block, bytes", "banks", "cycles")
                     for who in ("paper", "program")), "agrees"),
        tuple(rows),
        (
            f"SMs: 16 in the figure; the board has 448 cores, so that the file has "
            f"{machine.processor.sms}",
            "concurrency factors: <0.1 0.5> for global memory in the figure, 1 for constant memory "
            "and 0.2 for all others in the experiments (section 3.1.2), which the file has",
        ),
    )  # fmt: skip


def _weight_table() -> Table:
    weights = Weights()
    printed = {"L1": (10, 1.0), "L2": (300, 30.0), "DRAM": (1000, 100.0)}
    ours = dict(zip(printed, (weights.l1, weights.l2, weights.dram), strict=True))
    rows: list[tuple[Cell, ...]] = [
        (level, cycles, weight, ours[level], _agrees((weight,), (ours[level],)))
        for level, (cycles, weight) in printed.items()
    ]
    return Table(
        "Peng et al., Table I: Fermi's latencies, and costs relative to L1",
        ("level", "paper, cycles", "paper, relative cost", "program", "agrees"),
        tuple(rows),
        (
            "round figures from forums; the M2050's file has the latencies of Chen et al.'s "
            "Table 3 for Fermi instead (80, 390, 600). `reproduce peng-layouts` uses these here",
        ),
    )


def _limit_table() -> Table:
    rows: list[tuple[Cell, ...]] = []
    found = {name: _attributes(load_machine(name)) for name in TABLE_II}
    for n, attribute in enumerate(ATTRIBUTES):
        printed = [TABLE_II[name][n] for name in TABLE_II]
        ours = [found[name][n] for name in TABLE_II]
        cells = [cell for pair in zip(printed, ours, strict=True) for cell in pair]
        rows.append((attribute, *cells, _agrees(printed, ours)))
    return Table(
        "Peng et al., Table II: attributes of the GPUs",
        ("", *(f"{name}, {who}" for name in TABLE_II for who in ("paper", "program")), "agrees"),
        tuple(rows),
        (
            "0: global memory does not use it. L1 of the M2050: the paper gives L1 and shared "
            "memory together; the file has the default of 16 KB",
        ),
    )


def _attributes(machine: Machine) -> tuple[int, ...]:
    limits = machine.limits
    nearest, last = machine.levels("global")[0], machine.memory("L2")
    cached = nearest.name != "L2"
    return (
        machine.processor.sms * machine.processor.cores_per_sm, WARP_SIZE, limits.max_blocks_per_sm,
        limits.max_threads_per_sm, limits.registers_per_sm, limits.max_registers_per_thread,
        (nearest.size_bytes or 0) if cached else 0, (nearest.block_bytes or 0) if cached else 0,
        last.size_bytes or 0, last.block_bytes or 0,
    )  # fmt: skip


def _row_table() -> Table:
    dram = load_machine("K80").dram or Dram()
    times = {"hit": dram.hit_ns, "miss": dram.miss_ns, "conflict": dram.conflict_ns}
    rows: list[tuple[Cell, ...]] = [
        (f"row-buffer {name}, ns", value, times[name], _agrees((value,), (times[name],)))
        for name, value in ROW_TIMES.items()
    ]
    bits = tuple(sorted((*dram.column_bits, *dram.row_bits)))
    rows.append(("address bits of row or column", _ranges(ROW_OR_COLUMN), _ranges(bits),
                 _agrees(ROW_OR_COLUMN, bits)))  # fmt: skip
    banks = (dram.channels or 0) * (dram.banks or 0)
    rows.append(("memory banks", 96, banks, _agrees((96,), (banks,))))
    return Table(
        "Huang and Li, section III-C2: DRAM of a K80",
        ("", "paper", "program", "agrees"),
        tuple(rows),
        ("which of these bits are the column's is not printed; the file assumes the lowest seven",),
    )


def _ranges(bits: tuple[int, ...]) -> str:
    """``8-21, 30-32`` for ascending numbers."""
    starts = [n for n in bits if n - 1 not in bits]
    ends = [n for n in bits if n + 1 not in bits]
    return ", ".join(f"{a}-{b}" if b > a else str(a) for a, b in zip(starts, ends, strict=True))


def _whole(value: float | None) -> Cell:
    return None if value is None else round(value)


def _agrees(printed: Iterable[float | None], ours: Iterable[float | None]) -> str:
    return "yes" if tuple(printed) == tuple(ours) else "no"
