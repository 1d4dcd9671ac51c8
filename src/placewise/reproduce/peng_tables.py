"""Peng, Grossman and Sarkar 2016, Tables IV and V: cost of the layouts of Table III.

The authors' kernels are not public. Placewise has kernels on arrays of structs that do what the
paper describes; the cost is computed from their source.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files

import numpy as np

from placewise.kernel.cases.make_case import Value, make_case
from placewise.kernel.cases.prepare_case import named_case
from placewise.kernel.launch import Launch
from placewise.kernel.static_accesses import StaticProgram
from placewise.kernel.view import find_struct_arrays
from placewise.kernel.view.static_accesses import static_accesses
from placewise.model.static_layout import CacheLevels, Reading, blocks_per_sm, static_cost
from placewise.reproduce.result import Cell, Reproduction, Table
from placewise.space.layout import Record, parse_layout

BLOCK = 128
REGISTERS = 20
"""Registers of a thread. The paper does not give them; on both GPUs fewer than 21 do not limit
occupancy."""


@dataclass(frozen=True)
class PengGpu:
    """A row of Table II, with the size of L1 in the paper's runs."""

    name: str
    l1_bytes: int
    l2_bytes: int
    max_blocks: int
    max_threads: int
    registers: int

    def levels(self) -> CacheLevels:
        """The figures that the static cost needs."""
        resident = blocks_per_sm(
            BLOCK, max_blocks=self.max_blocks, max_threads=self.max_threads,
            registers_per_sm=self.registers, registers_per_thread=REGISTERS,
        )  # fmt: skip
        return CacheLevels(self.l1_bytes, 128, self.l2_bytes, resident)


FERMI = PengGpu("M2050", 48 * 1024, 768 * 1024, 8, 1536, 32768)
KEPLER = PengGpu("K20c", 0, 1536 * 1024, 16, 2048, 65536)
GPUS = (FERMI, KEPLER)


@dataclass(frozen=True)
class PengLayout:
    """A row of Table III with the printed figures of Tables IV and V."""

    kernel: str
    name: str
    layout: str
    estimated: tuple[float, float]
    """Estimated costs over that of AoS, on Fermi and on Kepler."""
    dynamic: tuple[float, float]


LAYOUTS = (
    PengLayout("kmeans", "SoAoS", "{feature clusters} {membership}", (0.667, 0.667),
               (0.663, 0.692)),
    PengLayout("kmeans", "SoA", "soa", (0.333, 0.333), (0.399, 0.385)),
    PengLayout("nbody", "SoAoS 2", "{x vx} {y vy} {z vz}", (1.003, 1.004), (1.272, 1.010)),
    PengLayout("nbody", "SoA", "soa", (0.826, 0.950), (0.905, 0.950)),
    PengLayout("nbody", "SoAoS 1", "{x y z} {vx vy vz}", (0.826, 0.950), (0.915, 0.950)),
    PengLayout("lavamd", "SoAoS 2", "{rv fv} {rx fx} {ry fy} {rz fz}", (4.041, 5.239),
               (3.967, 5.871)),
    PengLayout("lavamd", "SoA", "soa", (2.810, 2.241), (3.197, 2.256)),
    PengLayout("lavamd", "SoAoS 1", "{rv rx ry rz} {fv fx fy fz}", (0.643, 0.625), (0.791, 0.623)),
)  # fmt: skip
GRIDS = {"kmeans": 2048, "nbody": 4, "lavamd": 1000}
"""Number of blocks of each kernel. N-body has 512 bodies: of the sizes tried, this one comes
nearest to the printed figures."""
READINGS = (
    Reading(),
    Reading(charges_uniform=False),
    Reading(l2_line_bytes=128),
    Reading(l2_line_bytes=128, charges_uniform=False),
)
NAMED = {
    "kmeans": Reading(charges_uniform=False),
    "nbody": Reading(l2_line_bytes=128),
    "lavamd": Reading(l2_line_bytes=128),
}
"""The reading of the paper that each kernel's verdict uses. It was chosen after seeing the results;
the notes say so."""


def peng_tables() -> Reproduction:
    """Tables of the estimated cost relative to AoS, under the named and the literal readings,
    beside the printed figures."""
    tables, figures = [], {}
    for number, gpu in enumerate(GPUS):
        rows: list[tuple[Cell, ...]] = []
        for one in LAYOUTS:
            ratios = {reading: cost_ratio(one, gpu, reading) for reading in READINGS}
            named = ratios[NAMED[one.kernel]]
            rows.append(
                (one.kernel, one.name, one.estimated[number], round(named, 3),
                 round(ratios[READINGS[0]], 3), one.dynamic[number])
            )  # fmt: skip
            figures[f"{gpu.name} {one.kernel} {one.name}"] = named - one.estimated[number]
        tables.append(
            Table(
                f"Cost against AoS on {gpu.name} (Table {'IV' if number == 0 else 'V'})",
                ("kernel", "layout", "paper, estimated", "program, named reading",
                 "program, literal", "paper, dynamic"),
                tuple(rows),
                _notes(),
            )
        )  # fmt: skip
    worst = {
        kernel: max(abs(v) for name, v in figures.items() if f" {kernel} " in name)
        for kernel in GRIDS
    }
    said = ", ".join(f"{kernel} {distance:.3f}" for kernel, distance in worst.items())
    return Reproduction(
        "peng-layouts",
        "Peng, Grossman and Sarkar 2016, Tables IV and V",
        tuple(tables),
        f"Largest distance from the printed estimates under the named readings: {said}.",
        missing=("speedups of Tables IV and V: they were measured on GPUs not available here",),
        figures=figures,
    )


def _notes() -> tuple[str, ...]:
    return (
        *(f"{kernel}: {reading.describe()}" for kernel, reading in NAMED.items()),
        f"literal: {READINGS[0].describe()}",
        "the readings and the number of bodies were chosen after the fact: the authors' kernels, "
        "sizes and registers are not published",
        "LavaMD: which particles a thread meets depends on data, so that every access to them "
        "counts as scattered, whatever the layout; the paper's kernel must differ in that",
    )


def cost_ratio(one: PengLayout, gpu: PengGpu, reading: Reading) -> float:
    """Estimated cost of a layout over that of AoS."""
    program, record, launch = peng_kernel(one.kernel)
    layout = parse_layout(one.layout, record)
    costs = [
        static_cost(
            program, {"p": record}, {"p": each}, launch, gpu.levels(), reading=reading
        ).total
        for each in (layout, record.declared)
    ]
    return costs[0] / costs[1]


def peng_kernel(name: str) -> tuple[StaticProgram, Record, Launch]:
    """The accesses of one of these kernels, its struct and its launch."""
    source = (files("placewise.reproduce") / "peng_kernels" / f"{name}.cu").read_text()
    arguments: dict[str, Value] = {"p": np.zeros(24, np.float32)}
    if name == "lavamd":
        arguments |= {"neighbours": np.zeros(1, np.int32), "a2": np.float32(0)}
    elif name == "nbody":
        arguments["dt"] = np.float32(0)
    case = make_case(name, source, arguments, grid=GRIDS[name], block=BLOCK)
    (structs,) = find_struct_arrays(case)
    return static_accesses(named_case(case)), structs.record, case.launch
