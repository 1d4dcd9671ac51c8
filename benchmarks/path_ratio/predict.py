"""What the path model says of each form of the convolution."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.path_ratio.measured import FILTER, IMAGE, PLAIN, Shape, Variant
from placewise.executor import execute
from placewise.executor.trace import Site, TraceChunk
from placewise.kernel.cases.case import Case
from placewise.kernel.cases.make_case import make_case
from placewise.kernel.frontends.nvrtc import compile_kernel
from placewise.kernel.kernel import Kernel
from placewise.kernel.launch import ArrayArgument
from placewise.kernel.target import target_for
from placewise.kernel.view import analyse_source
from placewise.machine import Machine, load_machine
from placewise.memory import Counters, Profile, Profiler, counters, occupancy
from placewise.model import path_model
from placewise.space import Placement

SOURCE = Path(__file__).parent / "convolution.cu"
LEAST_ROWS = 64
"""Height of the image at least; it keeps the measured width, and with it every row's pitch."""
ACCESS_BUDGET = 1_000_000
HALO = FILTER - 1
STAGED = "staged"
"""The kernel's own array in shared memory."""


@dataclass(frozen=True)
class Totals:
    """Cycles in the model's measure."""

    operands_free: float
    """Without the filter's taps. Their addresses are known to the compiler, so the machine code
    has them as operands of the multiplications and not as loads."""
    literal: float
    """With a transaction in constant memory for every use of a tap, as the PTX has it."""


@dataclass(frozen=True)
class Predictions:
    """One group on one machine."""

    shape: Shape
    rerun: tuple[tuple[Variant, Totals], ...]
    """From a trace of each form's own kernel."""
    retargeted: tuple[tuple[Variant, Totals], ...]
    """Of the read-only and the staged form, from the plain form's trace alone; the tile is the one
    that the plain form's source shows."""


def predict(shape: Shape, variants: Iterable[Variant], machine_name: str) -> Predictions:
    """Trace every form of ``shape`` that is among ``variants`` and ask the model.

    A form whose instructions are those of one traced before, read-only loads apart, shares its
    result: on these machines both kinds of load go through the same caches.
    """
    machine = load_machine(machine_name)
    rerun = []
    retargeted: list[tuple[Variant, Totals]] = []
    known: dict[Hashable, Totals] = {}
    for variant in variants:
        case = convolution_case(shape, variant, machine)
        kernel = compile_kernel(case.source, case.filename, case.kernel, case.options)
        alike = (variant.staged, variant.padded, kernel.registers, instructions(kernel))
        if alike in known:
            rerun.append((variant, known[alike]))
            continue
        profile = _profile(case, kernel, machine)
        known[alike] = _totals(profile, machine, "global")
        rerun.append((variant, known[alike]))
        if variant == PLAIN:
            moves = {Variant(read_only=True): "readonly"}
            if profile.array("input").tile is not None:
                moves[Variant(staged=True)] = "shared"
            retargeted = [(v, _totals(profile, machine, space)) for v, space in moves.items()]
    return Predictions(shape, tuple(rerun), tuple(retargeted))


def pitch(shape: Shape, *, padded: bool) -> int:
    """Elements between two staged rows; padding as in the measured kernel."""
    width = shape.columns + HALO
    beyond = width - shape.block_x
    if padded and shape.block_x % 32 and beyond % 32:
        return width + ((32 - beyond) & 31)
    return width


def convolution_case(shape: Shape, variant: Variant, machine: Machine) -> Case:
    """The kernel over the measured width and as many rows as fill every SM once, ``LEAST_ROWS`` at
    least."""
    threads = shape.block_x * shape.block_y
    wave = machine.processor.sms * max(1, machine.limits.max_threads_per_sm // threads)
    across = -(-IMAGE // shape.columns)
    # One row less than whole tiles where the measured image is cut, too: then accesses are tested.
    rows = shape.rows * max(-(-wave // across), -(-LEAST_ROWS // shape.rows))
    rows -= IMAGE % shape.rows != 0
    defines = {
        "BLOCK_X": shape.block_x,
        "BLOCK_Y": shape.block_y,
        "TILE_X": shape.tile_x,
        "TILE_Y": shape.tile_y,
        "STAGED": int(variant.staged),
        "READ_ONLY": int(variant.read_only),
        "PITCH": pitch(shape, padded=variant.padded),
        "WIDTH": IMAGE,
        "HEIGHT": rows,
    }
    rng = np.random.default_rng(0)
    return make_case(
        "convolve",
        SOURCE,
        {
            "output": np.zeros((rows, IMAGE), np.float32),
            "input": rng.random((rows + HALO, IMAGE + HALO), np.float32),
        },
        block=(shape.block_x, shape.block_y),
        problem=(IMAGE, rows),
        per_block=(shape.columns, shape.rows),
        constants={"taps": rng.random(FILTER * FILTER, np.float32)},
        defines=defines,
        arch=target_for(machine.limits.compute_capability)[0],
    )


class _WithStaged:
    """Hands a trace on with the accesses to shared memory as those to one more array."""

    def __init__(self, profiler: Profiler) -> None:
        self._profiler = profiler
        self._shared: NDArray[np.bool_] = np.zeros(0, np.bool_)
        self._number = 0

    def begin(self, sites: tuple[Site, ...], arrays: tuple[str, ...]) -> None:
        """Start of a run."""
        self._shared = np.array([site.space == "shared" for site in sites])
        self._number = len(arrays)
        self._profiler.begin(sites, (*arrays, STAGED))

    def chunk(self, chunk: TraceChunk) -> None:
        """Take one chunk of the trace."""
        array = np.where(self._shared[chunk.site], np.int32(self._number), chunk.array)
        self._profiler.chunk(replace(chunk, array=array))


def instructions(kernel: Kernel) -> frozenset[tuple[str, int]]:
    """Each opcode of the PTX with its count."""
    opcodes = re.findall(r"^\t(?:@!?%p\d+ )?([a-z][\w.]*)\s", kernel.ptx, re.M)
    return frozenset(Counter(op.replace(".global.nc", ".global") for op in opcodes).items())


def _profile(case: Case, kernel: Kernel, machine: Machine) -> Profile:
    resident = occupancy(
        case.launch, machine, registers=kernel.registers, shared_bytes=kernel.static_shared_bytes
    )
    inputs = case.inputs
    if kernel.static_shared_bytes:
        staged = ArrayArgument(STAGED, np.zeros(kernel.static_shared_bytes // 4, np.float32))
        inputs = replace(inputs, arguments=(*inputs.arguments, staged))
    profiler = Profiler(
        case.launch, machine, resident, analyse_source(case), inputs, access_budget=ACCESS_BUDGET
    )
    run = execute(
        kernel,
        case.launch,
        case.inputs,
        consumer=_WithStaged(profiler),
        trace_blocks=profiler.trace_blocks,
        threads=1,
    )
    return profiler.profile(run)


def _totals(profile: Profile, machine: Machine, space: str) -> Totals:
    placed = [("output", "global"), ("input", space)]
    placed += [(STAGED, "shared")] if STAGED in {a.name for a in profile.arrays} else []
    counted = counters(profile, machine, Placement(tuple(placed)))
    without = replace(
        counted, arrays=tuple(a for a in counted.arrays if a.array != "taps"), halves=()
    )
    return Totals(_total(without, machine), _total(counted, machine))


def _total(counted: Counters, machine: Machine) -> float:
    return path_model().predict(counted, machine).total
