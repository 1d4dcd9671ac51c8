"""Kernels of ``benchmarks/breadth``, and copies of pieces of memory, timed on a GPU.

``python -m benchmarks.gpu.published prepare ARCH FILE`` compiles every kernel in every
configuration on the CPU. ``… measure FILE FOLDER`` times what was compiled on the machine's GPU:
``FOLDER/published-DEVICE-DATE.json`` holds each case, its configuration, and the median, the lower
and the upper quartile of its times with L2 warm and flushed. With ``--once`` each is launched once,
in this order, for a profiler. Outputs are not checked: other tests do that.

``… compare FILE MACHINE OUT`` predicts the times that ``measure`` left, on a machine file that may
not have seen them, and writes the figures to ``OUT``. It needs no GPU.
"""

from __future__ import annotations

import json
import pickle
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from benchmarks.breadth.judge import rank_of_cases
from benchmarks.breadth.measured import HERE as BREADTH
from benchmarks.breadth.measured import (
    Measurement,
    Predicted,
    predict,
    read_configuration,
    read_measurements,
)
from benchmarks.gpu.files import NO_GPU, dated
from benchmarks.results import Figure
from placewise.errors import PlacewiseError
from placewise.gpu import Options
from placewise.gpu.clocks import read_clocks
from placewise.gpu.device import Device, DeviceError, Scope
from placewise.gpu.exclusive import exclusive_use
from placewise.gpu.measure import load_case
from placewise.gpu.record import Timing
from placewise.gpu.timing import time_launches
from placewise.kernel.cases.case_file import CaseFamily, read_case_family
from placewise.kernel.cases.prepare_case import named_case
from placewise.kernel.frontends.nvrtc import compile_cubin, compiler_version
from placewise.validate.predict import Configuration

PIECES = {1: (16384,), 2: (11520,), 4: (8192, 2048), 8: (5632, 1536), 16: (4096, 1024)}
"""Bytes of a piece, and pieces in a row of the matrices: of about 256 MB, and of 16 MB, which L2
holds."""
BLOCKS = {
    1: ((32, 8),),
    2: ((32, 8), (16, 16)),
    4: ((32, 8), (32, 32), (16, 16), (8, 32), (4, 64)),
    8: ((32, 8), (16, 16), (8, 32)),
    16: ((32, 8), (16, 16)),
}
FORMS = range(5)
PIECES_CASE = "pieces"
app = typer.Typer(add_completion=False)


@dataclass(frozen=True)
class Compiled:
    """One configuration of a case file of ``benchmarks/breadth``, compiled."""

    case: str
    configuration: Configuration
    cubin: bytes
    entry: str


def configurations() -> Iterator[tuple[str, Configuration]]:
    """Cases and configurations: all published ones, then pieces."""
    yield from dict.fromkeys((one.case, one.configuration) for one in read_measurements())
    for size, blocks in BLOCKS.items():
        for rows, form in product(PIECES[size], FORMS):
            for x, y in blocks if form else blocks[:1]:
                matrix = ("form", form), ("piece_bytes", size), ("rows", rows)
                yield PIECES_CASE, (*matrix, ("block_x", x), ("block_y", y))


def family_of(case: str) -> CaseFamily:
    """The case file of that name. Raises PlacewiseError."""
    return read_case_family(BREADTH / "kernels" / f"{case}.toml")


def compiled(name: str, configuration: Configuration, arch: str) -> Compiled:
    """Raises PlacewiseError."""
    # With its arguments named, so that what is wrong with the file shows before a GPU is there.
    case = named_case(family_of(name).case(dict(configuration)))
    options = replace(case.options, arch=arch)
    cubin, entry = compile_cubin(case.source, case.filename, case.kernel, options)
    return Compiled(name, configuration, cubin, entry)


@app.command()
def prepare(
    arch: Annotated[str, typer.Argument(help="Such as sm_90.")],
    file: Annotated[Path, typer.Argument(help="Where the compiled kernels go.")],
) -> None:
    """Compile all kernels."""
    made = [compiled(case, configuration, arch) for case, configuration in configurations()]
    file.write_bytes(pickle.dumps((compiler_version(), made)))
    print(f"{len(made)} kernels")


@app.command()
def measure(
    file: Annotated[Path, typer.Argument(help="What `prepare` wrote.")],
    folder: Annotated[Path, typer.Argument(help="Where the times go.")],
    device: Annotated[int, typer.Option(help="Number of the GPU.")] = 0,
    once: Annotated[bool, typer.Option(help="One launch each, for a profiler.")] = False,
    limit: Annotated[float, typer.Option(help="Seconds; later ones are left out.")] = 90.0,
) -> None:
    """Time all kernels. Status 3: there is no GPU."""
    compiler, kernels = pickle.loads(file.read_bytes())
    options = Options(repeats=15, state_limit_s=0.3)
    if once:
        options = Options(warmup=0, repeats=1, l2=())
    start, rows = time.monotonic(), []
    try:
        with Device(device) as gpu:
            clocks = read_clocks(gpu.bus_id)
            families: dict[str, CaseFamily] = {}
            for kernel in kernels:
                if time.monotonic() - start > limit:
                    break
                if kernel.case not in families:
                    families[kernel.case] = family_of(kernel.case)
                try:
                    found = _timed(gpu, families[kernel.case], kernel, options)
                except PlacewiseError as error:
                    rows.append(_row(kernel, error=str(error)))
                    continue
                rows.append(_row(kernel, **found))
            head = {
                "device": gpu.name,
                "nvrtc": compiler,
                "date": datetime.now().astimezone().isoformat(timespec="seconds"),
                "clocks_before": asdict(clocks),
                "clocks_after": asdict(read_clocks(gpu.bus_id)),
                "left_out": len(kernels) - len(rows),
                "rows": rows,
            }
    except DeviceError as error:
        print(f"benchmarks/gpu: {error.message}")
        raise typer.Exit(NO_GPU) from None
    path = dated(folder, "launched" if once else "published", head["device"], head["date"])
    path.write_text(json.dumps(head, indent=1) + "\n")
    print(f"{len(rows)} of {len(kernels)} kernels, {time.monotonic() - start:.0f} s: {path}")


@app.command()
def compare(
    file: Annotated[Path, typer.Argument(help="What `measure` wrote.")],
    machine: Annotated[str, typer.Argument(help="Known machine, such as H100.")],
    out: Annotated[Path, typer.Argument(help="Where the figures go.")],
    workers: Annotated[int | None, typer.Option(help="Processes.")] = None,
) -> None:
    """Predicted beside measured times, L2 warm, at the clock that was measured at."""
    document = json.loads(file.read_text())
    clock = document["clocks_after"]["sm_mhz"]
    measurements = [
        Measurement(
            row["case"], machine, read_configuration(row["configuration"]), row["warm"][0],
            document["device"], clock, "",
        )
        for row in document["rows"]
        if "warm" in row
    ]  # fmt: skip
    rows: list[Predicted] = []
    figures: list[Figure] = []
    for one, found in zip(measurements, predict(measurements, workers), strict=True):
        label = f"{one.case} {_text(one.configuration)}"
        if isinstance(found, str):
            figures.append(Figure(label, found, "", "", False))
            continue
        rows.append(found)
        inside = found.low <= found.measured <= found.high
        figures.append(
            Figure(label, found.predicted / found.measured, "predicted over measured",
                   "measured within the interval", inside)
        )  # fmt: skip
    pieces = [row for row in rows if row.case == PIECES_CASE]
    published = [row for row in rows if row.case != PIECES_CASE]
    summary = [*_errors("published", published), *_errors("pieces", pieces)]
    summary += [
        Figure(f"Spearman of {case}", rank, "", "at least 0.9", rank >= 0.9)
        for case, rank in rank_of_cases(rows).items()
    ]
    out.write_text(json.dumps([asdict(f) for f in [*summary, *figures]], indent=1))


def _errors(group: str, rows: Sequence[Predicted]) -> list[Figure]:
    """Errors without any factor for the GPU, beside the roofline's."""
    found = []
    for name, asked, times in (
        (group, True, [row.predicted for row in rows]),
        (f"{group}, roofline", False, [row.roofline for row in rows]),
    ):
        error = np.abs(np.array(times) / [row.measured for row in rows] - 1.0)
        median, within = float(np.median(error)), float(np.mean(error <= 0.25))
        found += [
            Figure(f"{name}: median error of {len(rows)}", median, "share",
                   "at most 0.10" if asked else "", not asked or median <= 0.10),
            Figure(f"{name}: within 25 %", within, "share",
                   "at least 0.90" if asked else "", not asked or within >= 0.90),
        ]  # fmt: skip
    return found


def _text(configuration: Configuration) -> str:
    return " ".join(f"{name}={value}" for name, value in configuration)


def _row(kernel: Compiled, **found: Any) -> dict[str, Any]:
    return {"case": kernel.case, "configuration": _text(kernel.configuration), **found}


def _timed(gpu: Device, family: CaseFamily, kernel: Compiled, options: Options) -> dict[str, Any]:
    """Microseconds for each state of L2: median, lower and upper quartile."""
    case = named_case(family.case(dict(kernel.configuration)))
    with exclusive_use(gpu.bus_id), Scope(gpu) as scope:
        launch = load_case(scope, case, kernel.cubin, kernel.entry).launch
        launch()
        gpu.wait()
        timings = [time_launches(scope, launch, lambda: None, s, options) for s in options.l2]
    return {t.l2: _microseconds(t) for t in timings}


def _microseconds(timing: Timing) -> list[float]:
    return [round(1e3 * ms, 3) for ms in (timing.median_ms, *timing.quartiles_ms)]


if __name__ == "__main__":
    app()
