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
import re
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from scipy.stats import spearmanr

from benchmarks.breadth.measured import HERE as BREADTH
from benchmarks.breadth.measured import read_measurements
from benchmarks.results import Figure
from placewise.errors import PlacewiseError
from placewise.gpu import Options
from placewise.gpu.clocks import read_clocks
from placewise.gpu.device import Device, DeviceError, Scope
from placewise.gpu.exclusive import exclusive_use
from placewise.gpu.measure import upload_parameters
from placewise.gpu.record import Timing
from placewise.gpu.timing import time_launches
from placewise.kernel.cases.case_file import CaseFamily, read_case_family
from placewise.kernel.cases.prepare_case import named_case
from placewise.kernel.frontends.nvrtc import compile_cubin, compiler_version
from placewise.recorded.time_tables import MeasuredTime
from placewise.validate.predict import Predictor, Task

OWN = Path(__file__).parent / "kernels"
NO_GPU = 3
"""Exit status where there is no GPU."""
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
MODELS = ("timeline", "roofline")
FEWEST = 4
"""Fewest times of a case for a rank correlation."""
app = typer.Typer(add_completion=False)


@dataclass(frozen=True)
class Compiled:
    """One configuration of a case file, compiled."""

    file: str
    """Path of the case file in ``benchmarks``."""
    configuration: dict[str, int]
    cubin: bytes
    entry: str


def configurations() -> Iterator[tuple[Path, dict[str, int]]]:
    """Case files and configurations: all published ones, then pieces."""
    seen = set()
    for one in read_measurements():
        key = (one.case, one.configuration)
        if key not in seen:
            seen.add(key)
            yield (
                BREADTH / "kernels" / f"{one.case}.toml",
                {name: int(value) for name, value in one.configuration},
            )
    for size, blocks in BLOCKS.items():
        for rows, form in product(PIECES[size], FORMS):
            for x, y in blocks if form else blocks[:1]:
                yield (
                    OWN / "pieces.toml",
                    {
                        **{"form": form, "piece_bytes": size, "rows": rows},
                        **{"block_x": x, "block_y": y},
                    },
                )


def compiled(path: Path, configuration: dict[str, int], arch: str) -> Compiled:
    """Raises PlacewiseError."""
    # With its arguments named, so that what is wrong with the file shows before a GPU is there.
    case = named_case(read_case_family(path).case(configuration))
    options = replace(case.options, arch=arch)
    cubin, entry = compile_cubin(case.source, case.filename, case.kernel, options)
    return Compiled(str(path.relative_to(BREADTH.parent)), configuration, cubin, entry)


@app.command()
def prepare(
    arch: Annotated[str, typer.Argument(help="Such as sm_90.")],
    file: Annotated[Path, typer.Argument(help="Where the compiled kernels go.")],
) -> None:
    """Compile all kernels."""
    made = [compiled(path, configuration, arch) for path, configuration in configurations()]
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
                if kernel.file not in families:
                    families[kernel.file] = read_case_family(BREADTH.parent / kernel.file)
                try:
                    found = _timed(gpu, families[kernel.file], kernel, options)
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
    name = re.sub(r"\W+", "-", head["device"]).strip("-")
    kind = "launched" if once else "published"
    path = folder / f"{kind}-{name}-{head['date'][:10]}.json"
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
    by_case: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in document["rows"]:
        if "warm" in row:
            by_case[row["case"]].append(row)
    errors: dict[str, list[float]] = defaultdict(list)
    times: dict[str, list[tuple[float, float]]] = defaultdict(list)
    figures: list[Figure] = []
    for case, rows in by_case.items():
        folder = OWN if case == PIECES_CASE else BREADTH / "kernels"
        task = Task(folder / f"{case}.toml", machine, MODELS, None, clock, traced=False)
        asked = [MeasuredTime(_configuration(row), 1e3 * row["warm"][0]) for row in rows]
        with Predictor(task, workers=workers) as predictor:
            answers = predictor.predict(asked)
        for row, one in zip(rows, answers, strict=True):
            found = dict(one.by_model)
            measured_us, time, roofline = row["warm"][0], found["timeline"], found["roofline"]
            if isinstance(time, str) or isinstance(roofline, str):
                figures.append(Figure(f"{case} {row['configuration']}", str(time), "", "", False))
                continue
            ratio = 1e-3 * time.total / measured_us
            group = PIECES_CASE if case == PIECES_CASE else "published"
            errors[group].append(ratio - 1.0)
            errors[f"{group}, roofline"].append(1e-3 * roofline.total / measured_us - 1.0)
            times[case].append((1e-3 * time.total, measured_us))
            inside = time.low <= 1e3 * measured_us <= time.high
            figures.append(
                Figure(f"{case} {row['configuration']}", ratio, "predicted over measured",
                       "measured within the interval", inside)
            )  # fmt: skip
            print(f"{case} {row['configuration']}: {measured_us:.1f} us, {ratio:.2f}", flush=True)
    out.write_text(json.dumps([asdict(f) for f in [*_summary(errors, times), *figures]], indent=1))


def _summary(
    errors: dict[str, list[float]], times: dict[str, list[tuple[float, float]]]
) -> list[Figure]:
    found = []
    for group, values in errors.items():
        error = np.abs(values)
        asked = "" if "roofline" in group else "at most 0.10"
        median, within = float(np.median(error)), float(np.mean(error <= 0.25))
        found += [
            Figure(f"{group}: median error of {len(values)}", median, "share", asked,
                   not asked or median <= 0.10),
            Figure(f"{group}: within 25 %", within, "share", asked and "at least 0.90",
                   not asked or within >= 0.90),
        ]  # fmt: skip
    for case, pairs in times.items():
        if len(pairs) >= FEWEST:
            rank = float(spearmanr(*zip(*pairs, strict=True)).statistic)
            found.append(Figure(f"Spearman of {case}", rank, "", "at least 0.9", rank >= 0.9))
    return found


def _configuration(row: dict[str, Any]) -> tuple[tuple[str, int], ...]:
    pairs = (pair.split("=") for pair in row["configuration"].split())
    return tuple((name, int(value)) for name, value in pairs)


def _row(kernel: Compiled, **found: Any) -> dict[str, Any]:
    case = Path(kernel.file).stem
    configuration = " ".join(f"{k}={v}" for k, v in kernel.configuration.items())
    return {"case": case, "configuration": configuration, **found}


def _timed(gpu: Device, family: CaseFamily, kernel: Compiled, options: Options) -> dict[str, Any]:
    """Microseconds for each state of L2: median, lower and upper quartile."""
    case = named_case(family.case(kernel.configuration))
    with exclusive_use(gpu.bus_id), Scope(gpu) as scope:
        module = scope.module(kernel.cubin)
        function = scope.function(module, kernel.entry, case.launch.shared_bytes)
        for symbol, data in case.inputs.constants:
            scope.fill_constant(module, symbol, data)
        parameters, _ = upload_parameters(scope, case.inputs)
        launch = scope.launcher(function, case.launch, parameters)
        launch()
        gpu.wait()
        timings = [time_launches(scope, launch, lambda: None, s, options) for s in options.l2]
    return {t.l2: _microseconds(t) for t in timings}


def _microseconds(timing: Timing) -> list[float]:
    return [round(1e3 * ms, 3) for ms in (timing.median_ms, *timing.quartiles_ms)]


if __name__ == "__main__":
    app()
