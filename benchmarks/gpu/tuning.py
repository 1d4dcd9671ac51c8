"""``placewise.tune`` on a GPU: beginners' kernels as CuPy and Numba launch them.

``python -m benchmarks.gpu.tuning FOLDER`` launches each kernel untuned and tuned, compares all
outputs bit for bit, and times both: ``FOLDER/tuning-DEVICE-DATE.json``. Needs a GPU and CuPy; the
Numba kernels need Numba's CUDA support besides.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from benchmarks.gpu.files import dated
from benchmarks.placement.beginners import BEGINNERS
from benchmarks.runtime import numba_kernels
from placewise import tune
from placewise.gpu.exclusive import exclusive_use
from placewise.kernel.launch import ArrayArgument

KERNELS = ("multiply", "nbody", "convolution", "transpose", "histogram")
PATIENCE_S = 90.0
"""Seconds that choosing may take."""
REPEATS = 30
HOST_LAUNCHES = 100
"""Few enough to be queued without waiting for the GPU."""
Arguments = tuple[Any, ...]
app = typer.Typer(add_completion=False)


@dataclass(frozen=True)
class Tuned:
    """One kernel untuned and tuned."""

    kernel: str
    same: bool
    """Whether all outputs of all launches were the same, bit for bit."""
    untuned_ms: float
    """Median time of a launch, by events."""
    tuned_ms: float
    untuned_host_us: float
    """Time that the host takes to queue a launch."""
    tuned_host_us: float
    first_call_s: float
    """Time of the first tuned launch, which profiles, chooses and compiles."""
    report: dict[str, Any]


def _median_ms(cupy: Any, launch: Callable[[], object]) -> float:
    """Of launches that are queued without waiting, while no other process times its own."""
    with exclusive_use(cupy.cuda.Device().pci_bus_id):
        return _median_of_alone(cupy, launch)


def _median_of_alone(cupy: Any, launch: Callable[[], object]) -> float:
    stream = cupy.cuda.get_current_stream()
    events = [(cupy.cuda.Event(), cupy.cuda.Event()) for _ in range(REPEATS)]
    for begin, end in events:
        begin.record(stream)
        launch()
        end.record(stream)
    stream.synchronize()
    return float(np.median([cupy.cuda.get_elapsed_time(*pair) for pair in events]))


def _host_us(cupy: Any, launch: Callable[[], object]) -> float:
    """Mean time that the host takes to queue a launch."""
    cupy.cuda.get_current_stream().synchronize()
    start = time.perf_counter()
    for _ in range(HOST_LAUNCHES):
        launch()
    seconds = time.perf_counter() - start
    cupy.cuda.get_current_stream().synchronize()
    return 1e6 * seconds / HOST_LAUNCHES


def _of_beginner(cupy: Any, name: str, cache: Path) -> Tuned:
    case = next(b for b in BEGINNERS if b.name == name).case(0)
    # CuPy looks kernels up by their plain names.
    source = case.source.replace("__global__", 'extern "C" __global__')
    raw = cupy.RawKernel(source, case.kernel, ("--std=c++17",))
    tuned = tune(raw, cache=cache, patience=PATIENCE_S)
    shape = case.launch.grid, case.launch.block

    def arguments() -> Arguments:
        return tuple(
            cupy.asarray(a.data) if isinstance(a, ArrayArgument) else a.value
            for a in case.inputs.arguments
        )

    return _compared(
        *(cupy, f"{name}, CuPy", tuned, arguments),
        lambda values: raw(*shape, values),
        lambda values: tuned(*shape, values),
    )


def _of_numba(cupy: Any, cache: Path) -> Tuned:
    """k-means' assignment of points to centres."""
    rng = np.random.default_rng(3)
    n, k, d = 1 << 18, 64, 16
    points, centres = rng.random((n, d), dtype=np.float32), rng.random((k, d), dtype=np.float32)
    tuned = tune(numba_kernels.assign, cache=cache, patience=PATIENCE_S)
    shape = (n // 256,), (256,)

    def arguments() -> Arguments:
        label = cupy.zeros(n, np.int32)
        return (cupy.asarray(points), cupy.asarray(centres), label, n, k, d)

    return _compared(
        *(cupy, "kmeans, Numba", tuned, arguments),
        lambda values: numba_kernels.assign[shape](*values),
        lambda values: tuned[shape](*values),
    )


def _compared(
    cupy: Any,
    name: str,
    tuned: Any,
    arguments: Callable[[], Arguments],
    launch_plain: Callable[[Arguments], object],
    launch_tuned: Callable[[Arguments], object],
) -> Tuned:
    plain, ours = arguments(), arguments()
    launch_plain(plain)
    start = time.monotonic()
    launch_tuned(ours)
    cupy.cuda.get_current_stream().synchronize()
    first_s = time.monotonic() - start
    same = _equal(plain, ours)
    both = (lambda: launch_plain(plain)), (lambda: launch_tuned(ours))
    medians = [_median_ms(cupy, launch) for launch in both]
    hosts = [_host_us(cupy, launch) for launch in both]
    # One more launch on data of their own, which a choice that is in use by now computes.
    plain, ours = arguments(), arguments()
    launch_plain(plain)
    launch_tuned(ours)
    same = same and _equal(plain, ours)
    return Tuned(name, same, *medians, *hosts, first_s, tuned.report().to_dict())


def _equal(plain: Arguments, ours: Arguments) -> bool:
    return all(
        a.get().tobytes() == b.get().tobytes()
        for a, b in zip(plain, ours, strict=True)
        if hasattr(a, "get")
    )


@app.command()
def main(
    folder: Annotated[Path, typer.Argument(help="Where the figures go.")],
    cache: Annotated[Path, typer.Option(help="Where choices are kept.")],
    kernel: Annotated[list[str] | None, typer.Option(help="Only these; repeatable.")] = None,
) -> None:
    """Launch, compare and time the kernels."""
    import cupy

    found: list[dict[str, Any]] = []
    name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    date = datetime.now().astimezone().isoformat(timespec="seconds")
    path = dated(folder, "tuning", name, date)
    steps = {one: lambda one=one: _of_beginner(cupy, one, cache) for one in KERNELS}
    steps["numba"] = lambda: _of_numba(cupy, cache)
    for one, step in steps.items():
        if kernel and one not in kernel:
            continue
        # A failure is a result, too, and the others go on.
        try:
            done = asdict(step())
        except Exception as error:
            done = {"kernel": one, "error": f"{type(error).__name__}: {error}"}
        print({k: v for k, v in done.items() if k != "report"}, file=sys.stderr)
        found.append(done)
        document = {"device": name, "date": date, "kernels": found}
        path.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    app()
