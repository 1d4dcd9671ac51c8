"""Files that lie about their size, or are of another kind than they say."""

import gzip
import io
import struct

import numpy as np
import pytest

from placewise.errors import CaseError
from placewise.kernel.cases.array_sources import (
    LARGEST_VARIABLE,
    check_size,
    load_array,
    load_matrix,
)
from placewise.kernel.cases.tuning.tuning_conditions import Condition
from placewise.recorded import recorded_counters
from placewise.recorded.recorded_counters import read_recorded

MATRIX = "%%MatrixMarket matrix coordinate real general\n{}\n1 1 2.0\n"


@pytest.mark.parametrize(
    "sizes",
    ["2147483647 2147483647 1", "1 1 9999999999", "9" * 20 + " 4 1", "-1 4 1", "1 1", "a b c"],
)
def test_a_matrix_that_lies_about_its_size(tmp_path, sizes):
    path = tmp_path / "a.mtx"
    path.write_text(MATRIX.format(sizes))
    with pytest.raises(CaseError) as caught:
        load_matrix(path)
    assert str(path) in caught.value.where


@pytest.mark.parametrize(
    "shape", ["(True,)", "(9223372036854775807,)", "(1.5,)", "('n',)", "(-1,)"]
)
def test_an_array_with_an_odd_header(tmp_path, shape):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    path = tmp_path / "a.npy"
    path.write_bytes(b"\x93NUMPY\x01\0" + struct.pack("<H", len(header)) + header + bytes(64))
    with pytest.raises(CaseError, match="not a readable NumPy file"):
        load_array(path, None)


def test_the_largest_array_can_be_set(monkeypatch):
    check_size((2**30,), np.uint8, "x")
    with pytest.raises(CaseError, match="more than 1 GiB"):
        check_size((2**30 + 1,), np.uint8, "x")
    monkeypatch.setenv(LARGEST_VARIABLE, "2")
    check_size((2**31,), np.uint8, "x")


def test_measurements_are_not_unpacked_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr(recorded_counters, "_MOST_BYTES", 1000)
    path = tmp_path / "a.csv.gz"
    packed = io.BytesIO()
    for _ in range(3):
        packed.write(gzip.compress(b"x" * 400, mtime=0))
    path.write_bytes(packed.getvalue())
    with pytest.raises(CaseError, match="more than"):
        read_recorded(path, "counters")
    path.write_bytes(gzip.compress(b"x" * 1000, mtime=0))
    assert read_recorded(path, "counters") == b"x" * 1000


@pytest.mark.parametrize(
    "text",
    [
        "'a' * 9999999999 == 'a'", "[0] * 9999999999 == []", "'%9999999999d' % n == 'a'",
        "9223372036854775807 * 9223372036854775807 * 9 > 0", "-'a' < 0", "(1, 2) + (3, 4) == n",
    ],
)  # fmt: skip
def test_a_condition_computes_with_numbers_only(text):
    with pytest.raises(ValueError, match=r"\S"):
        Condition(text).holds({"n": 3})
