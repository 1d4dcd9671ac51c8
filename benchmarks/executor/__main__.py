"""Speed, latency and memory of the executor: ``python -m benchmarks.executor``, some three minutes.

Speeds are of one core (``threads=1``); what is asked of AVX-512 at 2.6 GHz is halved where there is
only AVX2.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import typer

from benchmarks.executor import kernels
from benchmarks.executor.apart import speed_jobs
from benchmarks.executor.speed import once, reference_step, settle, speed
from benchmarks.results import Figure, report
from placewise.executor.codegen.backend.processor import this_processor

ASKED = {
    "naive multiply": (12.0, 120.0),
    "tiled multiply": (10.0, 120.0),
    "CSR SpMV, skewed rows": (1.0, 60.0),
}
"""Billion thread-instructions per second, and million traced warp accesses per second."""


def main() -> None:
    """Measure, print a table, write results/executor.json."""
    wide = this_processor().avx512
    figures = _machine(wide)
    for name, job in speed_jobs().items():
        measured = speed(job)
        figures += _speeds(name, asdict(measured), 1.0 if wide else 0.5)
    if wide:
        for name, values in _apart("lesser_speeds").items():
            figures += _speeds(f"{name}, AVX2 code", values, 0.5)
    figures += _latency() + _cores() + _limits()
    if not report("executor", figures):
        sys.exit(1)


def _machine(wide: bool) -> list[Figure]:
    step = reference_step()
    vectors = "AVX-512" if wide else "AVX2"
    name = f"{_cpu_name()} ({llvm.get_host_cpu_name()}), {vectors}, {os.cpu_count()} cores"
    return [
        Figure("processor", name, "", "-", True),
        Figure("reference loop, x = (x ^ x >> 7) * a in a chain", step, "ns per step", "-", True),
        Figure("clock by that loop (5 cycles per step)", 5 / step, "GHz", "about 2.6", True),
    ]


def _cpu_name() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()


def _speeds(name: str, measured: dict[str, float], share: float) -> list[Figure]:
    plain, traced = (share * x for x in ASKED[name.removesuffix(", AVX2 code")])
    instructions = measured["threads_per_second"] / 1e9
    accesses = measured["accesses_per_second"] / 1e6
    overhead = 100 * measured["overhead"]
    return [
        Figure(
            f"{name}: untraced",
            instructions,
            "10^9 thread-instructions/s",
            f">= {plain:g}",
            instructions >= plain,
        ),
        Figure(
            f"{name}: traced and folded",
            accesses,
            "10^6 warp accesses/s",
            f">= {traced:g}",
            accesses >= traced,
        ),
        Figure(f"{name}: trace overhead", overhead, "%", "<= 40", overhead <= 40),
    ]


def _apart(task: str, cache: str | None = None) -> Any:
    command = [sys.executable, "-m", "benchmarks.executor.apart", task]
    environment = {**os.environ, **({"XDG_CACHE_HOME": cache} if cache else {})}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{task} ended with status {done.returncode}:\n{done.stderr}")
    return json.loads(done.stdout)


def _latency() -> list[Figure]:
    """Each in a process of its own whose cache is empty, and once more with what that left."""
    with tempfile.TemporaryDirectory() as cache:
        cold = _apart("first_results", cache)
        warm = _apart("first_results", cache)
        until, before, after = _apart("reoptimised", cache)
    figures = []
    for (count, seconds), (_, again), asked in zip(cold, warm, (0.15, 0.8), strict=True):
        what = f"first result of {count} instructions, from PTX"
        figures += [
            Figure(what, seconds, "s", f"<= {asked}", seconds <= asked),
            Figure(f"{what}, in the next process", again, "s", "less", again < seconds),
        ]
    return [
        *figures,
        Figure("optimised code in place after", until, "s", "-", True),
        Figure("what that gains", before / after, "times faster", "> 1", before > after),
    ]


def _cores() -> list[Figure]:
    job = kernels.matrix_product("naive", 1024, (32, 8))
    settle(job, traced=False)
    one, two = zip(*((_seconds(job, 1), _seconds(job, 2)) for _ in range(15)), strict=True)
    speedup = min(one) / min(two)
    atomics = kernels.histogram(1 << 23)
    settle(atomics, traced=False)
    data = atomics.inputs.arguments[0]
    expected = np.bincount(getattr(data, "data", np.zeros(0)) % 1021, minlength=1021)
    right = all(
        np.array_equal(once(atomics, threads=threads).outputs[1][1], expected)
        for threads in (1, 2)
        for _ in range(3)
    )
    return [
        Figure("naive multiply on two cores", speedup, "times one", ">= 1.7", speedup >= 1.7),
        Figure("global atomics on two cores", "right" if right else "WRONG", "", "right", right),
    ]


def _seconds(job: kernels.Job, threads: int) -> float:
    return once(job, threads=threads).seconds


def _limits() -> list[Figure]:
    accesses, most, before = _apart("memory")
    size, written = _apart("large_array")
    stopped = _apart("wild_pointers")
    return [
        Figure(
            f"memory while {accesses / 1e9:.2f} * 10^9 thread accesses are traced "
            f"({before:.0f} MB before the run)",
            most,
            "MB",
            "< 500",
            most < 500 and accesses >= 1e9,
        ),
        Figure("array beyond 2 GB", size, "GB", "its end written", written),
        Figure("wild pointers that end as an error", stopped, "of 7", "7", stopped == 7),
    ]


if __name__ == "__main__":
    typer.run(main)
