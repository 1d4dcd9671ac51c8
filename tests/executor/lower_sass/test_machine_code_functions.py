"""Floating-point machine code gives what the PTX gives, in every bit, on every covered target."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from placewise.executor import DeviceMemory
from placewise.kernel.cases.case import CompileOptions
from placewise.kernel.frontends.nvrtc import compile_module
from placewise.kernel.launch import Launch

FOLDER = Path(__file__).with_name("machine_code")
THREADS = 256
RESULTS = 40
"""Room for this many results of each thread."""
TARGETS = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")
ALWAYS = "sm_86"
LONG = "doubles"
"""Its code takes seconds to compile."""


def edges(dtype):
    info = np.finfo(dtype)
    return [0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 0.5, 2.5, 1.5, info.tiny, info.max,
            -info.tiny / 4, info.smallest_subnormal, 2.0**15, -(2.0**31), 2.0**63]  # fmt: skip


def floats(seed, dtype):
    random = np.random.default_rng(seed)
    values = random.standard_normal(THREADS) * 10.0 ** random.integers(-6, 7, THREADS)
    with np.errstate(over="ignore"):
        values[::7] = random.choice(np.array(edges(dtype), np.float64), len(values[::7]))
        return values.astype(dtype)


def words(seed, special):
    """Pairs of 16 random bits, with special patterns among them."""
    random = np.random.default_rng(seed)
    halves = random.integers(0, 1 << 16, 2 * THREADS).astype(np.uint16)
    halves[::5] = random.choice(np.array(special, np.uint16), len(halves[::5]))
    return halves.view(np.uint32)


HALVES = [0, 0x8000, 0x3C00, 0xBC00, 0x7C00, 0xFC00, 0x7E00, 1, 0x8001, 0x3FF, 0x7BFF, 0x4000]
BFLOATS = [0, 0x8000, 0x3F80, 0xBF80, 0x7F80, 0xFF80, 0x7FC0, 1, 0x8001, 0x7F, 0x7F7F, 0x4000]
LONGS = np.random.default_rng(9).integers(-(2**63), 2**63, THREADS, endpoint=False)
KERNELS = {
    "doubles": ("functions.cu", [floats(1, np.float64), floats(2, np.float64)], np.float64),
    "singles": ("functions.cu", [floats(1, np.float32), floats(2, np.float32)], np.float32),
    "conversions": (
        "functions.cu",
        [floats(1, np.float64), floats(2, np.float32), LONGS >> np.arange(THREADS) % 64],
        np.int64,
    ),
    "half_pairs": ("halves.cu", [words(1, HALVES), words(2, HALVES)], "half"),
    "half_extremes": ("halves.cu", [words(1, HALVES), words(2, HALVES)], "half"),
    "half_numbers": (
        "halves.cu",
        [words(1, HALVES).view(np.uint16)[:THREADS], floats(2, np.float32)],
        np.int64,
    ),
    "bfloats": ("halves.cu", [words(1, BFLOATS), words(2, BFLOATS)], "bfloat"),
}
SINCE_AMPERE = {"half_extremes", "bfloats"}


def as_values(bits, kind):
    """Numbers to tell NaN by, and their bits."""
    if kind == "half":
        return bits.view(np.float16)
    if kind == "bfloat":
        return (bits.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    return bits


CASES = [
    pytest.param(kernel, arch, marks=() if arch == ALWAYS and kernel != LONG else pytest.mark.slow)
    for kernel in KERNELS
    for arch in TARGETS
    if arch != "sm_75" or kernel not in SINCE_AMPERE
]


@pytest.mark.parametrize(("kernel", "arch"), CASES)
def test_machine_code_equals_ptx(kernel, arch):
    file, inputs, kind = KERNELS[kernel]
    source = FOLDER / file
    (compiled,) = compile_module(
        source.read_text(), str(source), [kernel], CompileOptions(arch=arch)
    )
    found = []
    for machine_code in (False, True):
        memory = DeviceMemory()
        given = [memory.upload(f"in{n}", data) for n, data in enumerate(inputs)]
        dtype = np.uint32 if isinstance(kind, str) else kind
        out = memory.upload("out", np.zeros(RESULTS * THREADS, dtype))
        memory.launch(
            replace(compiled, machine_code=machine_code),
            Launch((2, 1, 1), (THREADS // 2, 1, 1)),
            [*given, out],
        )
        found.append(as_values(out.download(), kind))
    ptx, own = found
    assert np.any(ptx != 0)
    # The bits of a NaN are not defined; a zero's sign is.
    nans = (ptx != ptx) & (own != own)
    same = nans | (ptx.view(f"u{ptx.itemsize}") == own.view(f"u{own.itemsize}"))
    wrong = np.flatnonzero(~same)
    assert not wrong.size, (wrong[:5], ptx[wrong[:5]], own[wrong[:5]])
