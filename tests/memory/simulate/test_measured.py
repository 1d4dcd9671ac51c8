"""Files of recorded counters in the forms that profilers and tuners write."""

import gzip
import json

import pytest

from placewise.errors import CaseError
from placewise.memory.simulate.measured import choose_launch, read_measured

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
    assert [x.values[READ] for x in read(tmp_path, TUNER_CACHE)] == [5, 6]
    (result,) = read(tmp_path, RESULTS)
    assert result.values == {READ: 11}


def test_choice(tmp_path):
    launches = read(tmp_path, DETAILS)
    assert choose_launch(launches, "scale", None, "f").values[READ] == 1234567
    assert choose_launch(launches, "ns::add<double>", None, "f").values[READ] == 42
    assert choose_launch(launches, "scale", 1, "f").values[READ] == 42
    with pytest.raises(CaseError, match="no launch of 'other'"):
        choose_launch(launches, "other", None, "f")
    with pytest.raises(CaseError, match="rows 0 to 1"):
        choose_launch(launches, "scale", 2, "f")
    with pytest.raises(CaseError, match="2 launches"):
        choose_launch(read(tmp_path, TABLE), "scale", None, "f")


@pytest.mark.parametrize(
    "content", ["", "a,b\n1,2\n", "{}", "{", '{"x__y": true}', "[1, 2]", "==PROF=="]
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
