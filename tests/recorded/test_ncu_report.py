"""Reports of Nsight Compute, written here byte by byte as its documentation has it."""

import struct

import pytest

from placewise.errors import CaseError
from placewise.recorded.recorded_counters import choose_launch, read_measured
from placewise.recorded.recorded_launch import Executed

READ = "lts__t_sectors_op_read.sum"


def varint(number):
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


def whole(number, value):
    return varint(number << 3) + varint(value)


def text(number, data):
    data = data.encode() if isinstance(data, str) else data
    return varint(number << 3 | 2) + varint(len(data)) + data


def double(number, value):
    return varint(number << 3 | 1) + struct.pack("<d", value)


def single(number, value):
    return varint(number << 3 | 5) + struct.pack("<f", value)


def sized(data):
    return struct.pack("<I", len(data)) + data


def result(kernel, metrics):
    """Fields that nobody reads (a thread, a mangled name) between those that are."""
    values = b"".join(text(13, whole(1, name) + text(2, value)) for name, value in metrics)
    return (
        whole(1, 99) + text(5, "_Zmangled") + text(6, kernel) + text(7, f"{kernel}(int)") + values
    )


def block(names, results, sources=()):
    payload = b"".join(sized(entry) for entry in (*sources, *results))
    strings = b"".join(text(1, name) for name in names)
    header = whole(1, len(sources)) + whole(2, len(results)) + text(4, strings)
    return sized(header + whole(5, len(payload))) + payload


def report(*blocks):
    return b"NVR\0" + sized(whole(1, 7)) + b"".join(blocks)


NAMES = ["device__name", READ, "gpu__time_duration.sum", "smsp__inst_executed.sum"]
FIRST = result(
    "scale",
    [(0, text(1, "RTX")), (1, whole(5, 5_000_000_000)), (2, double(3, 2500.5)), (3, single(2, 8))],
)
SECOND = result("add", [(1, whole(4, 42))])


def read(tmp_path, data):
    path = tmp_path / "a.ncu-rep"
    path.write_bytes(data)
    return read_measured(path)


def test_launches_of_several_blocks(tmp_path):
    data = report(block(NAMES, [FIRST], sources=[b"\x0a\x03abc"]), block([], [SECOND]))
    first, second = read(tmp_path, data)
    assert (first.kernel, second.kernel) == ("scale", "add")
    assert first.values == {
        READ: 5e9,
        "gpu__time_duration.sum": 2500.5,
        "smsp__inst_executed.sum": 8,
    }
    assert first.microseconds == 2.5005
    assert second.values == {READ: 42}
    assert second.microseconds is None
    executed = Executed("add", (1, 1, 1), (32, 1, 1), {}, None, (8, 6))
    assert choose_launch((first, second), executed, None, "x") is second


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"PK\3\4",
        report()[:6],
        report(block(NAMES, [FIRST]))[:-3],
        report(sized(b"\xff\xff\xff")),
        b"NVR\0" + sized(b"\xff\xff\xff"),
        report(block(NAMES, [b"\xff\xff\xff"])),
    ],
)
def test_what_is_no_report_is_refused_with_a_way_out(tmp_path, data):
    with pytest.raises(CaseError, match="report") as caught:
        read(tmp_path, data)
    assert caught.value.where
    assert "--csv" in (caught.value.hint or "")


def test_values_that_are_no_finite_numbers_are_left_out(tmp_path):
    values = [(1, double(3, float("nan"))), (2, double(3, float("inf"))), (3, single(2, 8))]
    (launch,) = read(tmp_path, report(block(NAMES, [result("scale", values)])))
    assert launch.values == {"smsp__inst_executed.sum": 8}


def test_a_report_of_no_launch(tmp_path):
    with pytest.raises(CaseError, match="without launches"):
        read(tmp_path, report(block(NAMES, [])))
