"""Damaged files as one error, whatever their reader raises."""

import csv
import pickle
import struct
import zlib

import pytest

from placewise.errors import CaseError, MachineError, PlacewiseError, reading
from placewise.kernel.cases.case import CompileOptions
from placewise.kernel.frontends.nvrtc import compile_kernel


@pytest.mark.parametrize(
    "error",
    [
        ValueError("no\nnumber"), KeyError("general"), IndexError(), OverflowError("too large"),
        RecursionError("deep"), MemoryError(), csv.Error("new-line"), struct.error("4 bytes"),
        zlib.error("Error -3"), UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid"),
        FileNotFoundError(2, "No such file or directory", "x"), AttributeError("a" * 5000),
    ],
)  # fmt: skip
def test_what_a_reader_raises_is_one_located_error(tmp_path, error):
    with (
        pytest.raises(MachineError) as caught,
        reading("table", tmp_path / "t.csv", MachineError, hint="write it anew"),
    ):
        raise error
    assert caught.value.where == str(tmp_path / "t.csv")
    assert caught.value.message.startswith("not a readable table: ")
    assert "\n" not in caught.value.message
    assert len(caught.value.message) < 300
    assert caught.value.hint == "write it anew"


def test_own_errors_and_interrupts_pass(tmp_path):
    own = CaseError("as it is")
    with pytest.raises(PlacewiseError) as caught, reading("table", tmp_path, MachineError):
        raise own
    assert caught.value is own
    with pytest.raises(KeyboardInterrupt), reading("table", tmp_path, MachineError):
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    "source", ["__global__ void add(float *a) { a[0] = b; }", "__global__ void other() {}"]
)
def test_an_error_comes_back_from_another_process_as_it_was(source):
    with pytest.raises(PlacewiseError) as raised:
        compile_kernel(source, "add.cu", "add", CompileOptions())
    restored = pickle.loads(pickle.dumps(raised.value))
    assert type(restored) is type(raised.value)
    assert str(restored) == str(raised.value)
    assert restored.__dict__.keys() == raised.value.__dict__.keys()
