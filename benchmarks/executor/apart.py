"""Measurements that need a process of their own: ``python -m benchmarks.executor.apart NAME``
prints one JSON value."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict
from functools import partial
from pathlib import Path

import llvmlite.binding as llvm

from benchmarks.executor import kernels
from benchmarks.executor.speed import Folding, once, settle, speed
from placewise.errors import ExecutionError
from placewise.executor import translate
from placewise.executor.codegen.backend.processor import Processor
from placewise.executor.codegen.state import Options

GIGABYTE = 1 << 30


def first_results() -> list[tuple[int, float]]:
    """(instructions, seconds from PTX to the outputs of a short launch) of two unrolled kernels."""
    once(kernels.matrix_product("naive", 32, (32, 8)))  # LLVM has to be set up once
    found = []
    for terms in (24, 200):
        job = kernels.unrolled_job(terms)
        start = time.perf_counter()
        once(job)
        found.append((kernels.instructions(job.kernel), time.perf_counter() - start))
    return found


def reoptimised() -> tuple[float, float, float]:
    """Seconds until the naive multiply runs optimised code; seconds of a run before and after."""
    job = kernels.matrix_product("naive", 512, (32, 8))
    before = once(job).seconds
    until = settle(job, traced=False)
    return until, before, once(job).seconds


def memory() -> tuple[float, float, float]:
    """Thread accesses traced, megabytes at most in memory, and megabytes before the run."""
    small = kernels.matrix_product("naive", 64, (32, 8))
    once(small, Folding())
    before = _most_memory()
    job = kernels.matrix_product("naive", 800, (32, 8))
    consumer = Folding()
    done = once(job, consumer, threads=2)
    return 32.0 * int(done.site_executions.sum()), _most_memory(), before


def _most_memory() -> float:
    """Megabytes that this process had in memory at most. (What ``getrusage`` tells includes the
    process that started this one.)"""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("/proc/self/status does not tell the peak of memory")


def large_array() -> tuple[float, bool]:
    """Gigabytes of an array beyond 2 GB, and whether its last bytes were written."""
    size = 2 * GIGABYTE + (1 << 20)
    output = once(kernels.last_byte(size)).outputs[0][1]
    return size / 1e9, bool((output[-32:] == 7).all() and not output[: 1 << 20].any())


def wild_pointers() -> int:
    """Wild reads and writes that ended as an error."""
    stopped = 0
    for where in (4, 32, 1 << 20, 1 << 35, 1 << 40, (1 << 63) + 8, (1 << 64) - 4):
        try:
            once(kernels.wild(where))
        except ExecutionError:
            stopped += 1
    return stopped


def lesser_speeds() -> dict[str, dict[str, float]]:
    """The speeds with code for AVX2 alone."""
    off = tuple(f"-{n}" for n in llvm.get_host_cpu_features() if n.startswith("avx512"))
    on = tuple(f"+{n}" for n in ("avx2", "fma", "f16c", "bmi", "bmi2", "lzcnt", "popcnt"))
    name = llvm.get_host_cpu_name()
    lesser = Processor("znver3" if name.startswith("znver") else "haswell", (*on, *off))
    translate.Options = partial(Options, processor=lesser)  # type: ignore[misc, assignment]
    return {name: asdict(speed(job)) for name, job in speed_jobs().items()}


def speed_jobs() -> dict[str, kernels.Job]:
    """The kernels whose speed is asked for."""
    return {
        "naive multiply": kernels.matrix_product("naive", 768, (32, 8)),
        "tiled multiply": kernels.matrix_product("tiled", 512, (16, 16)),
        "CSR SpMV, skewed rows": kernels.sparse_product(60_000),
    }


if __name__ == "__main__":
    tasks = (first_results, reoptimised, memory, large_array, wild_pointers, lesser_speeds)
    print(json.dumps({t.__name__: t for t in tasks}[sys.argv[1]]()))
