"""Files of recorded counters in the forms that profilers and tuners write."""

import gzip
import json

import pytest

from placewise.errors import CaseError
from placewise.recorded.recorded_counters import choose_launch, read_measured
from placewise.recorded.recorded_launch import Executed, base_name, differences, notable

READ, REQUESTS = "lts__t_sectors_op_read.sum", "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"
DETAILS = f"""==PROF== Connected to process 12
"ID","Kernel Name","Block Size","Grid Size","Metric Name","Metric Unit","Metric Value"
"0","scale(float *, int)","(256, 1, 1)","(8, 1, 1)","{READ}","sector","1,234,567"
"0","scale(float *, int)","(256, 1, 1)","(8, 1, 1)","dram__bytes_read.sum","Kbyte","1.5"
"1","void add<float>(T1 *)","(256, 1, 1)","(8, 1, 1)","{READ}","sector","42"
"1","void add<float>(T1 *)","(256, 1, 1)","(8, 1, 1)","gpu__time_duration.sum","usecond","2.5"
"1","void add<float>(T1 *)","(256, 1, 1)","(8, 1, 1)","dram__rate","byte/second","7"
"""
RAW = f"""==PROF== Disconnected
"ID","Kernel Name","Block Size","{READ}","dram__bytes_read.sum"
"","","","sector","Mbyte"
"0","scale(float *, int)","(256, 1, 1)","1,000","2"
"1","add","(256, 1, 1)","n/a","3"
"""
TABLE = f"""block_size_x,duration_us,{READ}
32,17.5,100
64,9.5,90
"""
KTT = {
    "Metadata": {"Device": "GPU"},
    "Results": [
        {
            "KernelName": "Convolution",
            "Configuration": [{"Name": "BLOCK", "Value": 32}],
            "ComputationResults": [
                {
                    "KernelFunction": "convolution",
                    "LocalSize": {"X": 32, "Y": 4, "Z": 1},
                    "CompilationData": {"MaxWorkGroupSize": 1024, "RegistersCount": 24},
                    "ProfilingData": {
                        "CounterCount": 2,
                        "Counters": [
                            {"Name": READ, "Type": "UnsignedInt", "Value": 7},
                            {"Name": "sm__warps_active.avg", "Type": "Double", "Value": 50.5},
                        ],
                    },
                }
            ],
        }
    ],
}
TUNER_CACHE = {
    "kernel_name": "scale",
    "cache": {
        "32,1": {"block_size_x": 32, "time": 0.5, READ: 5.0},
        "64,1": {"time": 0.6, READ: 6.0},
    },
}
RESULTS = {
    "results": [
        {
            "configuration": {"block_size_x": 32},
            "measurements": [
                {"name": "time", "value": 1.5, "unit": "ms"},
                {"name": READ, "value": 11, "unit": "sector"},
            ],
        }
    ]
}


def read(tmp_path, content, name="file"):
    path = tmp_path / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return read_measured(path)


def test_a_row_per_metric(tmp_path):
    first, second = read(tmp_path, DETAILS)
    assert first.kernel == "scale(float *, int)"
    assert first.values == {
        READ: 1234567,
        "dram__bytes_read.sum": 1500,
        "dram__sectors_read.sum": 46.875,
    }
    assert second.values == {READ: 42, "gpu__time_duration.sum": 2500, "dram__rate": 7}
    assert second.microseconds == 2.5


def test_a_row_per_launch(tmp_path):
    first, second = read(tmp_path, RAW)
    assert (first.values[READ], first.values["dram__bytes_read.sum"]) == (1000, 2e6)
    assert READ not in second.values


def test_a_table_of_configurations(tmp_path):
    assert [x.values[READ] for x in read(tmp_path, TABLE)] == [100, 90]
    path = tmp_path / "table.csv.gz"
    path.write_bytes(gzip.compress(TABLE.encode()))
    assert read_measured(path)[1].values["block_size_x"] == 64


def test_tuners(tmp_path):
    (ktt,) = read(tmp_path, KTT)
    assert (ktt.kernel, ktt.values[READ]) == ("convolution", 7)
    assert ktt.values["launch__registers_per_thread"] == 24
    assert [x.values[READ] for x in read(tmp_path, TUNER_CACHE)] == [5, 6]
    (result,) = read(tmp_path, RESULTS)
    assert result.values == {READ: 11}


def ran(kernel="scale", *, block=(256, 1, 1), grid=(8, 1, 1), registers=16, **defines):
    return Executed(kernel, grid, block, defines, registers, (7, 5))


def test_choice(tmp_path):
    launches = read(tmp_path, DETAILS)
    assert choose_launch(launches, ran(), None, "f").values[READ] == 1234567
    assert choose_launch(launches, ran("ns::add<double>"), None, "f").values[READ] == 42
    assert choose_launch(launches, ran(), 1, "f").values[READ] == 42
    with pytest.raises(CaseError, match=r"no launch of 'other' .it has scale, add"):
        choose_launch(launches, ran("other"), None, "f")
    with pytest.raises(CaseError, match="rows 0 to 1"):
        choose_launch(launches, ran(), 2, "f")
    with pytest.raises(CaseError, match="2 launches, of which the file names no kernel"):
        choose_launch(read(tmp_path, TABLE), ran(), None, "f")


def test_a_launch_of_another_shape_is_not_chosen_but_by_its_row(tmp_path):
    launches = read(tmp_path, DETAILS)
    other = ran(block=(128, 1, 1), grid=(16, 1, 1))
    message = "another launch of 'scale': block 256 × 1 × 1, here 128 × 1 × 1; grid 8"
    with pytest.raises(CaseError, match=message):
        choose_launch(launches, other, None, "f")
    assert differences(choose_launch(launches, other, 0, "f"), other) == (
        "block 256 × 1 × 1, here 128 × 1 × 1",
        "grid 8 × 1 × 1, here 16 × 1 × 1",
    )
    assert not differences(launches[0], ran())


def test_a_tuners_parameters_choose_and_refuse(tmp_path):
    table = read(tmp_path, TABLE)
    assert choose_launch(table, ran(block_size_x="64"), None, "f").values[READ] == 90
    with pytest.raises(CaseError, match=r"all launches .* block_size_x = 32, here 128"):
        choose_launch(table, ran(block_size_x="128"), None, "f")
    cache = read(tmp_path, TUNER_CACHE)
    assert cache[0].settings["block_size_x"] == "32"
    (ktt,) = read(tmp_path, KTT)
    assert differences(ktt, ran(block=(32, 2, 1), BLOCK="64")) == (
        "block 32 × 4 × 1, here 32 × 2 × 1",
        "BLOCK = 32, here 64",
    )
    (result,) = read(tmp_path, RESULTS)
    assert differences(result, ran(block_size_x="64")) == ("block_size_x = 32, here 64",)
    assert not differences(result, ran(block_size_x="32.0"))


def test_what_may_differ_is_told(tmp_path):
    columns = f'"ID","Kernel Name","CC","launch__registers_per_thread","{READ}"\n'
    name = "void scale<float, (int)4>(float *, int)"
    (one,) = read(tmp_path, f'{columns}"0","{name}","8.6","32","5"\n')
    assert notable(one, ran("scale<double, 4>")) == (
        f"kernel '{name}', here 'scale<double, 4>'",
        "compute capability 8.6, here 7.5",
        "32 registers a thread, here 16 (another compiler, see --nvrtc, or other options, if it is "
        "this kernel)",
    )
    (same,) = read(tmp_path, f'{columns}"0","{name}","7.5","16","5"\n')
    assert not notable(same, ran("scale<float, 4>"))


@pytest.mark.parametrize(
    "name",
    ["k", "k(int)", "void k<4>(T1 *)", "a::b::k", "void <unnamed>::k<float>(float)",
     "(anonymous namespace)::k(int)"],
)  # fmt: skip
def test_a_kernels_own_name(name):
    assert base_name(name) == "k"


def test_a_table_amid_what_the_program_printed(tmp_path):
    header, *rows = [line for line in RAW.splitlines() if not line.startswith("==")]
    text = "\n".join(['Vector of 8, 4: "ok"', header, rows[0], "done, in 3 s", *rows[1:], "bye"])
    assert [x.values for x in read(tmp_path, text)] == [x.values for x in read(tmp_path, RAW)]


@pytest.mark.parametrize(
    ("large", "small", "delimiter"),
    [
        ("1,234,567", "1.5", ","),
        ("1234567", "1.5", ","),
        ("1.234.567", "1,5", ","),
        ("1.234.567", "1,5", ";"),
        ("1\u202f234\u202f567", "1,5", ";"),
        ("1'234'567", "1.5", ","),
        ("1,234,567 (1,000,000; 234,567)", "1.5", ","),
    ],
    ids=["commas", "plain", "points", "points-and-semicolons", "spaces", "quotes", "instances"],
)
def test_numbers_as_locales_write_them(tmp_path, large, small, delimiter):
    header = delimiter.join(["ID", "Kernel Name", READ, "dram__bytes_read.sum"])
    units = delimiter.join(["", "", "sector", "Mbyte"])
    row = delimiter.join(f'"{cell}"' for cell in ("0", "scale", large, small))
    (one,) = read(tmp_path, f"{header}\n{units}\n{row}\n")
    assert one.values[READ] == 1234567
    assert one.values["dram__bytes_read.sum"] == 1.5e6


def test_labels_of_the_profilers_pages(tmp_path):
    table = (
        '"ID","Kernel Name","Section Name","Metric Name","Metric Unit","Metric Value","Rule Name"\n'
        '"0","scale","Launch Statistics","Registers Per Thread","register/thread","16",""\n'
        '"0","scale","Launch Statistics","Block Size","","256"\n'
        '"0","scale","Memory Workload Analysis","L2 Hit Rate","%","50",""\n'
        '"0","scale","Occupancy","","","","Rule"\n'
    )
    (one,) = read(tmp_path, table)
    assert one.values == {"launch__registers_per_thread": 16, "launch__block_size": 256}
    assert not differences(one, ran())
    assert differences(one, ran(block=(64, 2, 1))) == ("block of 256 threads, here 128",)


def test_long_lines_of_the_program_are_no_part_of_the_table(tmp_path):
    assert read(tmp_path, "x" * 200_000 + "\n" + RAW)[0].values[READ] == 1000


def test_a_table_in_sixteen_bits(tmp_path):
    path = tmp_path / "shell.csv"
    path.write_text(RAW, encoding="utf-16")
    assert read_measured(path)[0].values[READ] == 1000


@pytest.mark.parametrize(
    "content",
    [
        "",
        "a,b\n1,2\n",
        "{}",
        "{",
        '{"x__y": true}',
        "[1, 2]",
        "==PROF==",
        "[" * 100_000,
        '{"x__y": 1' + "0" * 400 + "}",
        '{"x__y": 1' + "0" * 5000 + "}",
        '[{"name": "x__y", "value": 1' + "0" * 400 + "}]",
    ],
    ids=range(11),
)
def test_no_counters(tmp_path, content):
    with pytest.raises(CaseError):
        read(tmp_path, content)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(CaseError, match="cannot read"):
        read_measured(tmp_path / "none.csv")
    (tmp_path / "x.csv.gz").write_bytes(b"no gzip")
    with pytest.raises(CaseError, match="cannot read"):
        read_measured(tmp_path / "x.csv.gz")
    with pytest.raises(CaseError, match="cannot read"):
        read_measured(tmp_path / "report.ncu-rep")
    (tmp_path / "latin.csv").write_bytes(RAW.replace("scale", "maß").encode("latin-1"))
    with pytest.raises(CaseError, match="UTF-8"):
        read_measured(tmp_path / "latin.csv")


def test_a_kernel_without_a_name_in_json(tmp_path):
    (launch,) = read(tmp_path, json.dumps({"KernelName": None, READ: 3}))
    assert launch.kernel is None


@pytest.mark.parametrize("value", ["1e308", "-1e31", "1e-320"])
def test_counters_that_nobody_can_have_counted_are_refused(tmp_path, value):
    path = tmp_path / "a.csv"
    path.write_text(f"block_size_x,{READ}\n32,{value}\n")
    with pytest.raises(CaseError, match="no profiler counts"):
        read_measured(path)
