"""printf against the C library, and failed assertions."""

from __future__ import annotations

import ctypes
import struct

import numpy as np
import pytest
from cuda_run import run
from hypothesis import given, settings
from hypothesis import strategies as st

from placewise.errors import ExecutionError
from placewise.executor.runtime.host_calls import PRINTF_BYTES
from placewise.executor.runtime.printf import format_text, parse_format

SOURCE = r"""
extern "C" __global__ void everything(int* count, float x, const char* text) {
  int t = threadIdx.x;
  const char* names[2] = {"even", "odd"};
  if (t % 11 == 3)
    count[t] = printf("%d of %u: %7.3f [%-6s] %c %lld 0x%x %5.1e %g %a %s %%\n", t, blockIdx.x,
                      x * t, names[t & 1], 'a' + t % 26, (long long)t << 40, -t, 1e10, x, x, text);
}
extern "C" __global__ void plain() { printf("no arguments\n"); }
extern "C" __global__ void much(int n) {
  for (int k = 0; k < n; k++) printf("%01023d\n", blockIdx.x * n + k);
}
extern "C" __global__ void claim(const int* x) {
  assert(x[threadIdx.x] != 5 && "five");
}
"""


def expected(t: int, block: int) -> str:
    x = np.float32(1.75)
    return (
        f"{t} of {block}: {float(x * np.float32(t)):7.3f} [{('even', 'odd')[t & 1]:6}] "
        f"{chr(97 + t % 26)} {t << 40} 0x{(1 << 32) - t:x} 1.0e+10 1.75 0x1.cp+0 from memory %\n"
    )


def test_output_comes_by_block_warp_and_lane() -> None:
    text = np.frombuffer(b"from memory\0after", np.int8)
    result = run(
        SOURCE, "everything", 3, 40, count=np.zeros(40, np.int32), x=np.float32(1.75), text=text
    )
    assert result.printed.text == "".join(expected(t, b) for b in range(3) for t in (3, 14, 25, 36))
    assert result.printed.dropped == 0
    assert result.output("count")[[3, 4]].tolist() == [11, 0]
    assert run(SOURCE, "plain", 2, 3).printed.text == 6 * "no arguments\n"


def test_the_oldest_output_is_dropped() -> None:
    lines = 1200
    result = run(SOURCE, "much", 2, 1, n=np.int32(lines // 2))
    kept = PRINTF_BYTES // 1024
    assert result.printed.dropped == lines - kept
    numbers = [int(line) for line in result.printed.text.splitlines()]
    assert numbers == list(range(lines - kept, lines))


def test_a_failed_assertion_says_what_where_and_who() -> None:
    x = np.arange(64, dtype=np.int32) - 30
    with pytest.raises(ExecutionError) as caught:
        run(SOURCE, "claim", 2, 64, x=x)
    line = 1 + SOURCE[: SOURCE.index("assert(")].count("\n")
    message = str(caught.value)
    assert (
        "assertion 'x[threadIdx.x] != 5 && \"five\"' failed in void claim(const int *)" in message
    )
    assert f"test.cu:{line})" in message
    assert message.endswith("block (0, 0, 0), thread (35, 0, 0)")


_LIBRARY = ctypes.CDLL(None)
_FLAGS = st.lists(st.sampled_from("-+ #0"), max_size=3).map("".join)
_WIDTH = st.one_of(st.just(""), st.integers(1, 30).map(str))
_PRECISION = st.one_of(st.just(""), st.just("."), st.integers(0, 25).map(lambda n: f".{n}"))


def by_the_library(conversion: str, argument: object) -> bytes:
    room = ctypes.create_string_buffer(2048)
    _LIBRARY.snprintf(room, len(room), conversion.encode(), argument)
    return room.value


def by_us(conversion: str, value: bytes) -> bytes:
    pieces = parse_format(conversion.encode())
    return format_text(pieces, lambda at, size: value[at : at + size], lambda _: b"")


@settings(max_examples=400, deadline=None)
@given(
    _FLAGS, _WIDTH, _PRECISION, st.sampled_from(["hh", "h", "", "l", "ll"]),
    st.sampled_from("diouxX"),
    st.one_of(st.integers(-(2**63), 2**63 - 1), st.integers(-3, 3)),
)  # fmt: skip
def test_integers_as_the_c_library(
    flags: str, width: str, precision: str, size: str, kind: str, value: int
) -> None:
    conversion = f"%{flags}{width}{precision}{size}{kind}"
    wide = size in ("l", "ll")
    argument = ctypes.c_longlong(value) if wide else ctypes.c_int(value & 0xFFFFFFFF)
    raw = struct.pack("<Q", value & (2**64 - 1))[: 8 if wide else 4]
    assert by_us(conversion, raw) == by_the_library(conversion, argument), conversion


@settings(max_examples=600, deadline=None)
@given(
    _FLAGS, _WIDTH, _PRECISION, st.sampled_from("eEfFgGaA"),
    st.one_of(
        st.floats(),
        st.floats(-100, 100),
        st.sampled_from([0.0, -0.0, 0.5, 1.5, 2.5, 1e15, 9.9999995, float("inf"), 2.0**-1060]),
    ),
)  # fmt: skip
def test_reals_as_the_c_library(
    flags: str, width: str, precision: str, kind: str, value: float
) -> None:
    if np.isnan(value):
        value = abs(value)
    conversion = f"%{flags}{width}{precision}{kind}"
    theirs = by_the_library(conversion, ctypes.c_double(value))
    assert by_us(conversion, struct.pack("<d", value)) == theirs, conversion


def test_widths_that_are_arguments_and_what_is_no_conversion() -> None:
    raw = struct.pack("<iii", 7, 3, 5) + struct.pack("<i", -6) + struct.pack("<i", 9)
    given = parse_format(b"[%*.*d|%*d] %y %5% 100%")
    text = format_text(given, lambda at, size: raw[at : at + size], lambda _: b"")
    assert text == b"[    005|9     ] %y % 100%"
