"""Measurements of others, and what the program says of them.

``measurements.csv`` holds times as published, in microseconds, with the case, the configuration and
the GPU. Sources:

- ``nvbench``: R100001/Programming-Massively-Parallel-Processors on GitHub,
  Performance-Tests-NvBench, BenchResults*.csv, column "GPU Time" (caches flushed before each
  launch, as NVBench does). The first pass of a reduction is the time of all passes over 2^24
  numbers less that of all passes over as many numbers as the first one leaves.
- ``boehm``: S. Boehm, "How to Optimize a CUDA Matmul Kernel for cuBLAS-like Performance: a
  Worklog", siboehm.com/articles/22/CUDA-MMM, and README of siboehm/SGEMM_CUDA: GFLOP/s on an RTX
  A6000 with matrices of 4092; the time of 2 x 4096^3 operations at that rate.
- ``bbuf``: BBuf/how-to-optim-algorithm-in-cuda on GitHub, cuda-kernels/reduce: Nsight Compute on an
  A100-PCIE-40GB, which locks the SMs to the base clock, 765 MHz.
- ``ayush``: ayush-os/transpose on GitHub, README and its history: mean of 1,000 launches on an A100
  of 40 GB.
- ``cudatorch``: mmjerge/cudatorch on GitHub, results/transpose: one launch of each, timed by
  events. Of the sizes the largest is taken, whose times the launch itself does not matter in.
- ``gpu_transpose``: "GPU Matrix Transpose Benchmark" on GitHub, README: an H100 80 GB HBM3 and
  matrices of 32768 x 32768. A quarter of the times stands here, for a quarter of the elements,
  since arrays here hold at most 4 GB.

The kernels (``kernels/*.cu``) were written from what these sources describe, but for ``pieces``,
which only ``benchmarks.gpu.published`` times. ``half`` splits the
kernels, not the rows: what is ``kept`` was not looked at before the mends were done. Kernels added
``later`` belong to neither. Of their rows four have served to fit what scattered stores cost
(:data:`FITTED`); the others are judged by it.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from placewise.recorded.time_tables import MeasuredTime
from placewise.validate.predict import Answer, Configuration, Predictor, Task

HERE = Path(__file__).parent
MEASUREMENTS = HERE / "measurements.csv"
MODELS = ("timeline", "roofline")
FITTED = (
    ("transpose 0", "A100"),
    ("transpose 2", "A100"),
    ("transpose 6", "A100"),
    ("transpose 0", "H100"),
)
"""(kernel, machine) of the rows that ``partial_store`` in machine files was fitted on."""


@dataclass(frozen=True)
class Measurement:
    """One published time."""

    case: str
    machine: str
    configuration: Configuration
    microseconds: float
    source: str
    clock_mhz: float | None
    """Clock of the SMs where the source fixes it."""
    half: str
    """``first``, ``kept`` or ``later``."""

    @property
    def kernel(self) -> str:
        """Case and form, such as ``reduce 3``."""
        return f"{self.case} {dict(self.configuration)['form']}"


@dataclass(frozen=True)
class Predicted:
    """A measurement beside its prediction, all times in microseconds."""

    case: str
    kernel: str
    machine: str
    source: str
    half: str
    measured: float
    predicted: float
    low: float
    high: float
    model_error: tuple[float, float]
    """Bounds of measured over predicted time at a known clock."""
    roofline: float
    clock_known: bool
    parts: tuple[tuple[str, float], ...]
    notes: tuple[str, ...]
    seconds: float
    """That the prediction took."""
    by_clock: tuple[float, ...] = ()
    """Predicted at the highest and at the lowest clock; empty where the clock is known."""


def read_measurements(path: Path = MEASUREMENTS) -> tuple[Measurement, ...]:
    """All rows of the table, in its order."""
    found = []
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            found.append(
                Measurement(
                    row["case"],
                    row["machine"],
                    read_configuration(row["configuration"]),
                    float(row["microseconds"]),
                    row["source"],
                    float(row["clock_mhz"]) if row["clock_mhz"] else None,
                    row["half"],
                )
            )
    return tuple(found)


def read_configuration(text: str) -> Configuration:
    """A configuration as the table has it, such as ``form=0 n=8192``."""
    pairs = (pair.split("=") for pair in text.split())
    return tuple((name, int(value)) for name, value in pairs)


def predict(measurements: Sequence[Measurement], workers: int | None) -> list[Predicted | str]:
    """The program's answers, in order; a text that says why where there is none."""
    groups: dict[tuple[str, str, float | None], list[int]] = defaultdict(list)
    for at, one in enumerate(measurements):
        groups[one.case, one.machine, one.clock_mhz].append(at)
    found: list[Predicted | str] = ["not predicted"] * len(measurements)
    for (case, machine, clock), members in groups.items():
        task = Task(HERE / "kernels" / f"{case}.toml", machine, MODELS, None, clock, traced=False)
        rows = [
            MeasuredTime(measurements[at].configuration, 1e3 * measurements[at].microseconds)
            for at in members
        ]
        with Predictor(task, workers=workers) as predictor:
            answers = predictor.predict(rows)
        for at, answer in zip(members, answers, strict=True):
            found[at] = _beside(measurements[at], dict(answer.by_model), answer.seconds)
            print(found[at] if isinstance(found[at], str) else _line(found[at]), flush=True)
    return found


def _beside(
    measurement: Measurement, by_model: dict[str, Answer | str], seconds: float
) -> Predicted | str:
    time, roofline = by_model["timeline"], by_model["roofline"]
    if isinstance(time, str) or isinstance(roofline, str):
        return f"{measurement.kernel} on {measurement.machine}: {time}"
    return Predicted(
        measurement.case,
        measurement.kernel,
        measurement.machine,
        measurement.source,
        measurement.half,
        measurement.microseconds,
        time.total * 1e-3,
        time.low * 1e-3,
        time.high * 1e-3,
        time.model_error or (1.0, 1.0),
        roofline.total * 1e-3,
        measurement.clock_mhz is not None,
        time.parts,
        time.notes,
        seconds,
        tuple(nanoseconds * 1e-3 for nanoseconds in time.by_clock),
    )


def _line(one: Predicted | str) -> str:
    assert isinstance(one, Predicted)
    return (
        f"{one.kernel:16} {one.machine:15} measured {one.measured:10.1f} us, predicted "
        f"{one.predicted:10.1f} us, {one.predicted / one.measured:.2f}, {one.seconds:.0f} s"
    )
