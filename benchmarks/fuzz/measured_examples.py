"""Small valid files of measurements, in the formats of profilers, tuners and microbenchmarks."""

from __future__ import annotations

import copy
import struct
from typing import Any

from benchmarks.fuzz.examples import SMALL_CASE

READ = "lts__t_sectors_op_read.sum"
_METRIC = '"Metric Name","Metric Unit","Metric Value"'
_LAUNCH = '"0","scale(float *, float *, int)","(64, 1, 1)","(5, 1, 1)","0","8.0"'
NCU_DETAILS = f"""==PROF== Connected to process 12
"ID","Kernel Name","Block Size","Grid Size","Device","CC",{_METRIC}
{_LAUNCH},"{READ}","sector","1,234"
{_LAUNCH},"gpu__time_duration.sum","usecond","2.5"
{_LAUNCH},"dram__bytes_read.sum","Kbyte","1.5"
"1","void add<float>(T1 *)","(256, 1, 1)","(8, 1, 1)","0","8.0","{READ}","sector","42"
"""
_ACTIVE = "sm__warps_active.avg.pct_of_peak_sustained_active"
_SHAPES = '"Block Size","Grid Size"'
NCU_RAW = f""""ID","Kernel Name",{_SHAPES},"{READ}","gpu__time_duration.sum","{_ACTIVE}"
"","","","","sector","usecond","%"
"0","scale(float *, float *, int)","(64, 1, 1)","(5, 1, 1)","1,000","2","50.5"
"1","add","(256, 1, 1)","(1, 1, 1)","n/a","3",""
"""
TABLE = f"""block_x,duration_us,time,{READ},dram__sectors_read.sum
32,17.5,0.0175,100,80
64,9.5,0.0095,90,75
128,9.0,0.009,95,70
"""
LATENCIES = "clock: 1095 1410\n" + "".join(
    f"  1000000  1410  {2**k:8d} {25.5 if k < 8 else 150.0 if k < 12 else 500.0:8.1f} 36.0\n"
    for k in range(1, 16)
)
CHASES = "".join(
    f"{stride}," + ",".join(["38"] * 20 + ["120"] * 5) + "\n" for stride in (4, 8, 16, 32, 64)
)
KTT: dict[str, Any] = {
    "Metadata": {"Device": "NVIDIA A100", "TimeUnit": "Microseconds"},
    "Results": [
        {
            "KernelName": "scale",
            "Status": "Ok",
            "TotalDuration": 17.5,
            "Configuration": [{"Name": "block_x", "Value": size}],
            "ComputationResults": [
                {
                    "KernelFunction": "scale",
                    "Duration": 17.5,
                    "GlobalSize": {"X": 5, "Y": 1, "Z": 1},
                    "LocalSize": {"X": size, "Y": 1, "Z": 1},
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
        for size in (32, 64)
    ],
}
TUNER_CACHE: dict[str, Any] = {
    "device_name": "NVIDIA A100-PCIE-40GB",
    "kernel_name": "scale",
    "tune_params_keys": ["block_x"],
    "tune_params": {"block_x": [32, 64, 128]},
    "objective": "time",
    "cache": {
        str(size): {"block_x": size, "time": 1.5 / size, "times": [1.4, 1.6], READ: 5.0}
        for size in (32, 64, 128)
    },
}
T4: dict[str, Any] = {
    "schema_version": "1.0.0",
    "results": [
        {
            "configuration": {"block_x": size},
            "objectives": ["time"],
            "invalidity": "correct",
            "measurements": [
                {"name": "time", "value": 1.5 / size, "unit": "ms"},
                {"name": READ, "value": 11, "unit": "sector"},
            ],
        }
        for size in (32, 64, 128)
    ],
}
T1: dict[str, Any] = {
    "General": {"BenchmarkName": "scale"},
    "ConfigurationSpace": {
        "TuningParameters": [
            {"Name": "block_x", "Type": "int", "Values": "[32, 64]", "Default": 64},
            {"Name": "TILE", "Type": "int", "Values": "list(range(1, 9))"},
            {"Name": "HOW", "Type": "string", "Values": "['a', 'b']"},
        ],
        "Conditions": [
            {"Expression": "TILE < 9 and block_x * TILE <= 1024", "Parameters": ["TILE"]}
        ],
    },
    "KernelSpecification": {
        "Language": "CUDA",
        "CompilerOptions": ["-std=c++14", "-DSPARE=1"],
        "KernelName": "scale",
        "KernelFile": "kernel.cu",
        "GlobalSizeType": "CUDA",
        "GlobalSize": {"X": "300 // block_x + 1", "Y": "1"},
        "LocalSize": {"X": "block_x", "Y": "1"},
        "SharedMemory": 0,
        "Arguments": [
            {"Name": "x", "Type": "float", "MemoryType": "Vector", "Size": 300,
             "FillType": "Random", "FillValue": 2.0, "AccessType": "ReadOnly"},
            {"Name": "out", "Type": "float", "MemoryType": "Vector", "Size": "150 + 150",
             "FillType": "Constant", "FillValue": 7},
            {"Name": "n", "Type": "int32", "MemoryType": "Scalar", "FillValue": 300.0},
        ],
    },
}  # fmt: skip


def tuned_case() -> dict[str, Any]:
    """The small case with a tuning parameter ``block_x``."""
    case = copy.deepcopy(SMALL_CASE)
    case["parameters"] = {"block_x": 32}
    case["launch"] = {"problem": ["n"], "block": ["block_x"]}
    return case


def topology() -> dict[str, Any]:
    """What mt4g writes of a small GPU."""

    def found(size: int) -> dict[str, Any]:
        return {"size": size, "unit": "bytes", "confidence": 0.99, "method": "p-chase"}

    def given(value: float, unit: str = "bytes") -> dict[str, Any]:
        return {"value": value, "unit": unit}

    def cache(size: int, line: int, cycles: float) -> dict[str, Any]:
        return {
            "size": found(size),
            "lineSize": found(line),
            "fetchGranularity": found(32),
            "latency": {"mean": cycles, "p50": cycles, "unit": "cycles"},
        }

    main = {"totalGlobalMem": given(3_897_229_312), "memoryBusWidth": given(128, "bit"),
            "memoryClockRate": given(5_001_000, "kHz"), "readBandwidth": given(139.7, "GiB/s"),
            "latency": {"mean": 495.9}}  # fmt: skip
    shared = {"sharedMemPerBlock": given(49152), "sharedMemPerMultiProcessor": given(65536),
              "latency": {"mean": 58.0}}  # fmt: skip
    return {
        "meta": {"timestamp": "2025-08-10T00:33:19Z"},
        "general": {"name": "NVIDIA T1000", "clockRate": given(1_395_000, "kHz"),
                    "computeCapability": {"major": 7, "minor": 5}},
        "compute": {"multiProcessorCount": 14, "numberOfCoresPerMultiProcessor": 64,
                    "maxThreadsPerBlock": 1024, "maxThreadsPerMultiProcessor": 1024,
                    "maxBlocksPerMultiProcessor": 16, "regsPerMultiProcessor": 65536},
        "memory": {
            "main": main,
            "l2": {**cache(0, 128, 157.7), "size": given(1_048_576)},
            "l1": cache(60416, 128, 66.0),
            "constant": {"l1": cache(2112, 64, 71.9), "l1.5": cache(32768, 256, 115.1),
                         "totalConstMem": given(65536)},
            "shared": shared,
        },
    }  # fmt: skip


def ncu_report() -> bytes:
    """A report of Nsight Compute (``.ncu-rep``) of one launch with two metrics."""

    def varint(number: int) -> bytes:
        out = bytearray()
        while number > 127:
            out.append(number & 127 | 128)
            number >>= 7
        return bytes([*out, number])

    def whole(field: int, value: int) -> bytes:
        return varint(field << 3) + varint(value)

    def text(field: int, data: bytes) -> bytes:
        return varint(field << 3 | 2) + varint(len(data)) + data

    def sized(data: bytes) -> bytes:
        return struct.pack("<I", len(data)) + data

    names = (READ.encode(), b"gpu__time_duration.sum")
    metrics = (
        text(13, whole(1, 0) + text(2, whole(5, 1000))),
        text(13, whole(1, 1) + text(2, varint(3 << 3 | 1) + struct.pack("<d", 2500.5))),
    )
    result = text(6, b"scale") + text(7, b"scale(float *, float *, int)") + b"".join(metrics)
    payload = sized(result)
    header = whole(2, 1) + text(4, b"".join(text(1, name) for name in names))
    return b"NVR\0" + sized(whole(1, 7)) + sized(header + whole(5, len(payload))) + payload
