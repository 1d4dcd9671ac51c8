"""What goes wrong in kernels and calls is told by one located error, and Python survives."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from cuda_run import arguments, compiled, run
from ptx_harness import kernel_from

from placewise.errors import CaseError, ExecutionError, UnsupportedError
from placewise.executor import execute
from placewise.kernel.launch import Inputs, Launch, TextureArgument

BAD = r"""
extern "C" __global__ void shifted(const float* a, float* b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  b[i] = a[i + n];
}
extern "C" __global__ void scattered(const int* at, float* b) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  b[at[i]] = i;
}
extern "C" __global__ void same(const float* a, float* b, long long n) { b[threadIdx.x] = a[n]; }
extern "C" __global__ void endless(float* b) {
  volatile float* p = b;
  while (p[0] == 0.f) ;
  b[1] = 1;
}
extern "C" __global__ void misaligned(char* b) { *(int*)(b + 1) = 3; }
extern "C" __global__ void wild(int** b) { *b[threadIdx.x] = 3; }
extern "C" __global__ void overrun(int* b) {
  __shared__ int s[32];
  s[threadIdx.x] = 1;
  b[threadIdx.x] = s[0];
}
extern "C" __global__ void deep(int* b, int n) {
  int own[4];
  for (int k = 0; k < 4; k++) own[k] = k;
  own[n] = 7;
  b[threadIdx.x] = own[threadIdx.x & 3];
}
extern "C" __global__ void atomic(int* b, int n) { atomicAdd(&b[threadIdx.x + n], 1); }
extern "C" __global__ void trap(int* b) { if (b[threadIdx.x] == 5) __trap(); }
extern "C" __global__ void apart(int* b) {
  if (threadIdx.x & 1) { b[0] = 1; __syncthreads(); b[1] = 2; } else b[3] = 4;
}
__constant__ float K[4];
extern "C" __global__ void constant(float* b, int n) { b[threadIdx.x] = K[n + threadIdx.x]; }
extern "C" __global__ void video(int* b, int n) {
  asm volatile("vmad.s32.s32.s32 %0, %1, %1, %1;" : "=r"(b[0]) : "r"(n));
}
"""


def line_of(text: str) -> int:
    return next(i for i, line in enumerate(BAD.splitlines(), 1) if text in line)


def f32(n: int) -> np.ndarray:
    return np.zeros(n, np.float32)


def i32(n: int) -> np.ndarray:
    return np.zeros(n, np.int32)


@pytest.mark.parametrize(
    ("n", "block", "thread", "offset"),
    [(3, 3, 61, 1024), (-1, 0, 0, -4), (2**29, 0, 0, 2**31), (-(2**28), 0, 0, -(2**30))],
)
def test_out_of_bounds_reads(n: int, block: int, thread: int, offset: int) -> None:
    with pytest.raises(ExecutionError) as caught:
        run(BAD, "shifted", 4, 64, options={"threads": 1}, a=f32(256), b=f32(256), n=np.int32(n))
    text = str(caught.value)
    assert f"test.cu:{line_of('b[i] = a[i + n]')}:" in text
    assert "array 'a' (1024 bytes)" in text
    assert f"byte offset {offset} " in text
    assert f"index {offset // 4} " in text
    assert f"block ({block}, 0, 0), thread ({thread}, 0, 0)" in text


@pytest.mark.parametrize("bad", [100, -1, 1 << 30, -(1 << 31)])
def test_out_of_bounds_scatter(bad: int) -> None:
    at = np.arange(64, dtype=np.int32)
    at[37] = bad
    with pytest.raises(ExecutionError, match=r"array 'b'.*thread \(37, 0, 0\)") as caught:
        run(BAD, "scattered", 1, 64, at=at, b=f32(100))
    assert f"index {bad} " in str(caught.value)


@pytest.mark.parametrize("n", [100, -1, 1 << 40, -(1 << 40), 1 << 61])
def test_out_of_bounds_by_all_threads_alike(n: int) -> None:
    with pytest.raises(ExecutionError, match="out of bounds"):
        run(BAD, "same", 1, 32, a=f32(100), b=f32(100), n=np.int64(n))


@pytest.mark.parametrize("name", ["atomic", "constant"])
def test_other_accesses_out_of_bounds(name: str) -> None:
    array = "K" if name == "constant" else "b"
    with pytest.raises(ExecutionError, match=f"out of bounds.*array '{array}'"):
        run(BAD, name, 1, 4, b=f32(8) if name == "constant" else i32(8), n=np.int32(5))


def test_shared_and_local_memory_out_of_bounds() -> None:
    with pytest.raises(ExecutionError, match="offset 128 of the shared memory"):
        run(BAD, "overrun", 1, 64, b=i32(64))
    with pytest.raises(ExecutionError, match="of the local memory"):
        run(BAD, "deep", 1, 32, b=i32(64), n=np.int32(1000))


def test_misaligned_access() -> None:
    with pytest.raises(ExecutionError, match=r"misaligned.*byte offset 1 of array 'b'"):
        run(BAD, "misaligned", 1, 32, b=np.zeros(64, np.uint8))


@pytest.mark.parametrize(
    "pointer", [0, 8, -1, 1 << 36, 3 << 36, 1 << 62, (1 << 47) - 4, -(1 << 63)]
)
def test_wild_pointers_do_not_crash(pointer: int) -> None:
    with pytest.raises(ExecutionError):
        run(BAD, "wild", 1, 32, b=np.full(32, pointer, np.int64))


def test_constants_cannot_be_written() -> None:
    source = """
__constant__ int K[4] = {1, 2, 3, 4};
extern "C" __global__ void k(int* o) {
  long long p; asm("mov.u64 %0, K;" : "=l"(p));
  asm volatile("st.global.u32 [%0], 5;" :: "l"(p)); o[0] = K[0];
}"""
    with pytest.raises(ExecutionError, match="'K', which is read-only"):
        run(source, "k", 1, 1, o=i32(1))


def test_endless_kernel() -> None:
    with pytest.raises(ExecutionError, match="does not end") as caught:
        run(BAD, "endless", 1, 64, options={"instruction_limit": 10_000_000}, b=f32(8))
    assert f"test.cu:{line_of('while (p[0]')}" in str(caught.value)


def test_trap_and_divergent_barrier() -> None:
    b = i32(64)
    b[40] = 5
    with pytest.raises(ExecutionError, match=r"trapped.*thread \(40, 0, 0\)"):
        run(BAD, "trap", 1, 64, b=b)
    with pytest.raises(ExecutionError, match="only some threads of a warp") as caught:
        run(BAD, "apart", 1, 64, b=i32(8))
    assert f"test.cu:{line_of('if (threadIdx.x & 1)')}" in str(caught.value)


def test_interrupt() -> None:
    """An exception in the caller's thread, as Ctrl-C raises it, stops the compiled code."""
    calls = []

    def interrupt(done: int, total: int) -> None:
        calls.append(done)
        raise KeyboardInterrupt

    a = np.ones((300, 300), np.float32)
    from test_kernels import BASIC

    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run(
            BASIC,
            "matmul",
            (19, 19),
            (16, 16),
            options={"progress": interrupt},
            **{"A": a, "B": a, "C": a, "n": np.int32(300)},
        )
    assert time.monotonic() - start < 30
    assert len(calls) == 1
    assert threading.active_count() < 10


ENDLESS = r"""
import os, signal, sys, threading
import numpy as np
from cuda_run import run
source = 'extern "C" __global__ void endless(volatile float* b) { while (b[0] == 0.f) ; }'
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background shell's children ignore it
threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    run(source, "endless", 1, 32, options={"instruction_limit": None}, b=np.zeros(4, np.float32))
except KeyboardInterrupt:
    print("interrupted")
"""


def test_ctrl_c_ends_an_endless_kernel() -> None:
    """A signal reaches Python although compiled code is running."""
    done = subprocess.run(
        [sys.executable, "-c", ENDLESS],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=Path(__file__).parents[1] / "support",
    )
    assert done.stdout.strip() == "interrupted", done.stderr


def test_a_source_given_as_text_has_no_folder() -> None:
    with pytest.raises(ExecutionError) as caught:
        run(BAD, "shifted", 1, 32, a=f32(1), b=f32(1), n=np.int32(0))
    assert str(caught.value).startswith("test.cu:4: out of bounds")


def test_ctrl_c_is_not_lost_in_a_finalizer() -> None:
    """Python prints what a finalizer raises, and goes on."""
    signal.signal(signal.SIGINT, signal.default_int_handler)

    class Last:
        def __del__(self) -> None:
            os.kill(os.getpid(), signal.SIGINT)

    def interrupt(_done: int, _total: int) -> None:
        Last()

    with pytest.raises(KeyboardInterrupt):
        run(
            BAD, "shifted", 40, 32, options={"progress": interrupt},
            a=f32(1280), b=f32(1280), n=np.int32(0),
        )  # fmt: skip
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_progress_reaches_the_end() -> None:
    seen: list[tuple[int, int]] = []
    options = {"progress": lambda done, total: seen.append((done, total))}
    run(BAD, "shifted", 40, 32, options=options, a=f32(1280), b=f32(1280), n=np.int32(0))
    assert seen[-1] == (40, 40)
    assert [d for d, _ in seen] == sorted(d for d, _ in seen)


def test_arguments_that_do_not_fit() -> None:
    with pytest.raises(CaseError, match="3 parameters, but 2 arguments"):
        run(BAD, "shifted", 1, 32, a=f32(32), b=f32(32))
    with pytest.raises(CaseError, match=r"parameter 3 'n': int64 has 8 bytes.*takes 4"):
        run(BAD, "shifted", 1, 32, a=f32(32), b=f32(32), n=np.int64(0))
    with pytest.raises(CaseError, match="parameter 3 'n': an array is passed"):
        run(BAD, "shifted", 1, 32, a=f32(32), b=f32(32), n=f32(1))
    with pytest.raises(
        CaseError, match="constant 'Q': the kernel's module has no such variable"
    ) as caught:
        run(BAD, "constant", 1, 4, constants=(("Q", f32(4)),), b=f32(4), n=np.int32(0))
    assert "it has: K" in str(caught.value)
    with pytest.raises(CaseError, match=r"constant 'K'.*20 bytes, but the variable has 16"):
        run(BAD, "constant", 1, 4, constants=(("K", f32(5)),), b=f32(4), n=np.int32(0))
    with pytest.raises(CaseError, match="2048 threads"):
        run(BAD, "shifted", 1, 2048, a=f32(32), b=f32(32), n=np.int32(0))
    with pytest.raises(CaseError, match="elements of type complex128"):
        run(
            BAD,
            "shifted",
            1,
            32,
            a=TextureArgument("a", np.zeros(4, np.complex128)),
            b=f32(32),
            n=np.int32(0),
        )


def test_what_is_not_covered_is_refused_by_name_and_line() -> None:
    with pytest.raises(UnsupportedError, match=r"'vmad\.s32\.s32\.s32' is not") as caught:
        run(BAD, "video", 1, 1, b=i32(1), n=np.int32(3))
    assert f"test.cu:{line_of('vmad')} (PTX line " in str(caught.value)
    text = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k() {
  .reg .b32 %r<9>;
  wgmma.fence.sync.aligned;
  ret;
}
"""
    with pytest.raises(UnsupportedError, match=r"'wgmma\.fence\.sync\.aligned'") as caught:
        execute(kernel_from(text), Launch((1, 1, 1), (32, 1, 1)), Inputs(()))
    assert caught.value.where == "test.ptx (PTX line 6)"


def test_inputs_are_checked_before_anything_runs() -> None:
    kernel = compiled(BAD, "shifted")
    with pytest.raises(CaseError, match="trace_blocks has shape"):
        execute(
            kernel,
            Launch((2, 1, 1), (32, 1, 1)),
            Inputs(arguments(a=f32(64), b=f32(64), n=np.int32(0))),
            consumer=_Nothing(),
            trace_blocks=np.ones(3, bool),
        )


class _Nothing:
    def begin(self, sites: object, arrays: object) -> None:
        pass

    def chunk(self, chunk: object) -> None:
        pass


def test_damaged_code_cache_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from placewise.disk_cache import DiskCache
    from placewise.executor import translate

    monkeypatch.setattr(DiskCache, "folder", lambda cache: tmp_path / cache.name)

    def once() -> None:
        translate.translate.cache_clear()
        result = run(BAD, "shifted", 4, 64, a=np.ones(256, np.float32), b=f32(256), n=np.int32(0))
        assert (result.output("b") == 1).all()

    once()
    (entry,) = (tmp_path / "code").iterdir()
    good = entry.read_bytes()
    once()
    assert entry.read_bytes() == good
    for bad in (b"", good[:20], good[: len(good) // 2], good[:-1] + b"\0\1"):
        entry.write_bytes(bad)
        once()
        assert entry.read_bytes() == good
    monkeypatch.setattr(DiskCache, "folder", lambda cache: entry / "below a file")
    once()
