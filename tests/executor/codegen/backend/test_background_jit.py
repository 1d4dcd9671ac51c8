"""Code made quickly, optimised code, and code for lesser processors do the same."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import pytest
from cuda_run import Collector, run

from placewise.executor import translate
from placewise.executor.codegen import module
from placewise.executor.codegen.backend.processor import Processor, this_processor
from placewise.executor.codegen.state import Options

SOURCE = r"""
extern "C" __global__ void sparse(const int *start, const int *columns, const float *values,
                                  const double *x, double *y, int rows) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    double sum = 0;
    for (int i = start[row]; i < start[row + 1]; ++i) sum += values[i] * x[columns[i]];
    y[row] = sum;
}
extern "C" __global__ void mixed(int *a, const short *b, const unsigned char *c, int n) {
    __shared__ int s[128];
    int t = threadIdx.x, at = blockIdx.x * 128;
    for (int k = 0; k < n; ++k) {
        s[t] = a[at + (t * 5 + k) % 128] + b[(t * 3 + k) % n] - c[(t / 2 + k) % n];
        __syncthreads();
        int sum = 0;
        for (int j = 0; j < 4; ++j)
            sum += s[(t + j * j) % 128] / (j + 1) + s[(t * 7 + j) % 128] % (j + 2);
        __syncthreads();
        a[at + (t * 5 + k) % 128] = sum;
        if (sum & 1) s[(t * 9) % 128] = sum;
        __syncthreads();
    }
}
extern "C" __global__ void ahead(const float *x, float *y, int n) {
    for (int i = threadIdx.x; i < n; i += 32)
        y[i] = x[i * 3] + x[i * 3 + 1] + x[i * 3 + 2];
}
"""


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    translate.translate.cache_clear()
    yield
    translate.translate.cache_clear()


def sparse_inputs(rows: int) -> dict[str, np.ndarray | np.generic]:
    rng = np.random.default_rng(5)
    start = np.r_[0, np.cumsum(np.minimum(rng.zipf(1.5, rows), 70))].astype(np.int32)
    return {
        "start": start,
        "columns": rng.integers(0, 500, start[-1]).astype(np.int32),
        "values": rng.integers(-9, 9, start[-1]).astype(np.float32),
        "x": rng.integers(-9, 9, 500).astype(np.float64),
        "y": np.zeros(rows),
        "rows": np.int32(rows),
    }


def mixed_inputs(n: int) -> dict[str, np.ndarray | np.generic]:
    rng = np.random.default_rng(6)
    return {
        "a": rng.integers(-1000, 1000, 512).astype(np.int32),
        "b": rng.integers(-1000, 1000, n).astype(np.int16),
        "c": rng.integers(0, 255, n).astype(np.uint8),
        "n": np.int32(n),
    }


def mixed_reference(a: np.ndarray, b: np.ndarray, c: np.ndarray, n: int) -> np.ndarray:
    a = a.reshape(-1, 128).astype(np.int64).copy()
    t = np.arange(128)
    s = np.zeros_like(a)
    for k in range(n):
        mine = (t * 5 + k) % 128
        s[:] = a[:, mine] + b[(t * 3 + k) % n] - c[(t // 2 + k) % n].astype(np.int64)
        total = np.zeros_like(a)
        for j in range(4):
            p, q = s[:, (t + j * j) % 128], s[:, (t * 7 + j) % 128]
            total += np.trunc(p / (j + 1)).astype(np.int64) + np.fmod(q, j + 2)
        a[:, mine] = total
        odd = (total & 1).astype(bool)
        s[:, (t * 9) % 128] = np.where(odd, total, s[:, (t * 9) % 128])
    return a.astype(np.int32).reshape(-1)


def run_all() -> tuple[list[np.ndarray], list[object]]:
    """Outputs and traces of the kernels, checked against NumPy."""
    outputs, traces = [], []
    values = sparse_inputs(300)
    trace = Collector()
    result = run(SOURCE, "sparse", 3, 128, options={"consumer": trace}, **values)
    products = values["values"] * values["x"][values["columns"]]
    expected = [p.sum() for p in np.split(products, values["start"][1:-1])]
    assert np.array_equal(result.output("y"), np.array(expected))
    outputs.append(result.output("y"))
    traces.append(trace.accesses)
    values = mixed_inputs(12)
    trace = Collector()
    result = run(SOURCE, "mixed", 4, 128, options={"consumer": trace}, **values)
    expected_a = mixed_reference(values["a"], values["b"], values["c"], 12)
    assert np.array_equal(result.output("a"), expected_a)
    outputs.append(result.output("a"))
    traces.append(trace.accesses)
    x = np.arange(300, dtype=np.float32)
    result = run(SOURCE, "ahead", 1, 32, x=x, y=np.zeros(100, np.float32), n=np.int32(100))
    assert np.array_equal(result.output("y"), x.reshape(100, 3).sum(axis=1))
    return outputs, traces


def same(first: tuple[list[np.ndarray], list[object]]) -> None:
    outputs, traces = run_all()
    assert all(np.array_equal(a, b) for a, b in zip(outputs, first[0], strict=True))
    assert traces == first[1]


def test_quick_and_optimised_code_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    optimised = run_all()
    translate.translate.cache_clear()
    # Without this its optimised code would be found on disk.
    monkeypatch.setattr(module.jit, "stored", lambda *_: None)
    monkeypatch.setattr(translate, "compile_program", module.compile_program)
    same(optimised)


@pytest.mark.parametrize("gathers", [True, False])
def test_processors_without_avx512(monkeypatch: pytest.MonkeyPatch, gathers: bool) -> None:
    present = llvm.get_host_cpu_features()
    if not present.get("avx2") or not present.get("fma"):
        pytest.skip("a processor without AVX2")
    best = run_all()
    off = tuple(f"-{name}" for name in present if name.startswith("avx512"))
    on = tuple(f"+{name}" for name in ("avx2", "fma", "f16c", "bmi", "bmi2", "lzcnt", "popcnt"))
    lesser = Processor("haswell" if gathers else "znver3", (*on, *off))
    assert not lesser.avx512
    assert lesser.slow_gather != gathers
    monkeypatch.setattr(translate, "Options", partial(Options, processor=lesser))
    translate.translate.cache_clear()
    same(best)


def test_few_and_many_lanes_on_every_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processors that gather fast and slowly take different ways, whichever runs the tests."""
    best = run_all()
    here = this_processor()
    other = Processor("x86-64-v4" if here.slow_gather else "znver4", here.features)
    if not here.avx512:
        pytest.skip("a processor without AVX-512")
    monkeypatch.setattr(translate, "Options", partial(Options, processor=other))
    translate.translate.cache_clear()
    same(best)


@pytest.mark.slow
def test_better_code_comes_while_a_kernel_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(translate, "compile_program", module.compile_program)
    monkeypatch.setattr(module, "_LONG", 0.0)
    made: list[module.Compiled] = []
    plain_improve = module.Compiled.improve

    def improve(self: module.Compiled, seconds: float) -> bool:
        if self not in made:
            made.append(self)
        # The run goes on until better code was there, as a long one would.
        deadline = time.monotonic() + 60
        better = plain_improve(self, seconds)
        while not better and self._better is not None and time.monotonic() < deadline:
            time.sleep(0.01)
            better = plain_improve(self, seconds)
        return better

    monkeypatch.setattr(module.Compiled, "improve", improve)
    values = mixed_inputs(12)
    expected = mixed_reference(values["a"], values["b"], values["c"], 12)
    first: list[int] = []
    for _ in range(2):
        result = run(SOURCE, "mixed", 4, 128, **values)
        assert np.array_equal(result.output("a"), expected)
        first.append(made[0].warp)
    assert len(made) == 1
    # A new process would find the better code on disk.
    translate.translate.cache_clear()
    made.clear()
    run(SOURCE, "mixed", 4, 128, **values)
    assert made[0]._better is None
