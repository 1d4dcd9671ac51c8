"""One bundled case in all legal placements; adds its measurement to a data file.

A process of its own for each case: a fault in a kernel spoils the process's CUDA context.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from benchmarks.gpu.files import NO_GPU, dated
from placewise.cases import case_names, load_case
from placewise.errors import PlacewiseError
from placewise.gpu import DeviceError, Measurement, Options, PlacementRecord
from placewise.gpu.device import Device
from placewise.gpu.measure_case import measure_case
from placewise.gpu.record import read_measurements, write_measurements

LOADS_AND_STORES = ("global_op_ld", "global_op_st", "local_op_ld", "local_op_st")
METRICS = (
    "gpu__time_duration.sum",
    "launch__registers_per_thread",
    "smsp__cycles_active.avg",
    "smsp__inst_executed.sum",
    "smsp__thread_inst_executed.sum",
    "sm__warps_active.avg.pct_of_peak_sustained_active",
    *(f"l1tex__t_requests_pipe_lsu_mem_{kind}.sum" for kind in LOADS_AND_STORES),
    *(f"l1tex__t_sectors_pipe_lsu_mem_{kind}.sum" for kind in LOADS_AND_STORES),
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum",
    "l1tex__t_sectors_pipe_tex_mem_texture.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "lts__t_sectors_op_read.sum",
    "lts__t_sectors_op_read_lookup_hit.sum",
    "lts__t_sectors_op_write.sum",
    "dram__sectors_read.sum",
    "dram__sectors_write.sum",
    "idc__requests.sum",
)
"""Counters of Nsight Compute that ``placewise counters`` predicts, and the time."""


def main() -> int:
    """Status: 0 measured and all outputs as expected, 1 not so, 2 an error, 3 no GPU."""
    chosen = _arguments()
    if chosen.list:
        print(*case_names())
        return 0
    if chosen.metrics:
        print(",".join(METRICS))
        return 0
    try:
        if chosen.check or chosen.arch:
            with Device(chosen.device) as device:
                if chosen.arch:
                    print(device.arch)
                else:
                    print(f"benchmarks/gpu: {device.name}, {device.target}", file=sys.stderr)
            return 0
        if chosen.join:
            _join(chosen.join, chosen.folder)
            return 0
        options = Options(time_limit_s=chosen.time_limit)
        if chosen.once:
            options = Options(warmup=0, repeats=1, l2=(), time_limit_s=chosen.time_limit)
        measurement = measure_case(
            load_case(chosen.case), ordinal=chosen.device, options=options, progress=_show
        )
    except DeviceError as error:
        print(f"benchmarks/gpu: {error.message}", file=sys.stderr)
        return NO_GPU
    except PlacewiseError as error:
        print(error, file=sys.stderr)
        return 2
    path = (
        _launches(chosen.folder, measurement) if chosen.once else _add(chosen.folder, measurement)
    )
    wrong = sum(not record.identical for record in measurement.records)
    print(
        f"{chosen.case}: {len(measurement.records)} placements, {wrong} not bit-identical, "
        f"{measurement.left_out} left out; {path}"
    )
    return 1 if wrong else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("case", nargs="?")
    parser.add_argument("--folder", type=Path, help="where the data file goes")
    parser.add_argument("--device", type=int, default=0)
    parser.add_argument("--time-limit", type=float, help="seconds")
    parser.add_argument("--once", action="store_true", help="launch once each, for a profiler")
    parser.add_argument("--check", action="store_true", help="only whether there is a GPU")
    parser.add_argument("--arch", action="store_true", help="only the GPU's compiler target")
    parser.add_argument("--join", type=Path, help="folder of folders whose data files to join")
    parser.add_argument("--list", action="store_true", help="only the names of the cases")
    parser.add_argument("--metrics", action="store_true", help="only the names of the counters")
    chosen = parser.parse_args()
    alone = chosen.list or chosen.metrics or chosen.check or chosen.arch
    if not (alone or ((chosen.case or chosen.join) and chosen.folder)):
        parser.error("needs a case and --folder")
    return chosen


def _add(folder: Path, measurement: Measurement) -> Path:
    """Beside what the file holds of other cases."""
    path = dated(folder, "gpu", measurement.device.name, measurement.date)
    earlier = read_measurements(path) if path.is_file() else ()
    kept = tuple(m for m in earlier if m.case != measurement.case)
    write_measurements(path, (*kept, measurement))
    return path


def _join(source: Path, folder: Path) -> None:
    """Write the data files of the folders in ``source`` as one for each device and day."""
    found: dict[str, list[Measurement]] = {}
    for path in sorted(source.glob("*/gpu-*.json")):
        found.setdefault(path.name, []).extend(read_measurements(path))
    for name, measurements in found.items():
        write_measurements(folder / name, tuple(measurements))


def _launches(folder: Path, measurement: Measurement) -> Path:
    """Placements in the order of their launches, which is that of a profiler's report."""
    path = folder / f"{measurement.case}.json"
    launched = [dict(r.placement) for r in measurement.records if r.error is None]
    path.write_text(json.dumps({"case": measurement.case, "launches": launched}, indent=1) + "\n")
    return path


def _show(record: PlacementRecord) -> None:
    spaces = " ".join(f"{array}:{space}" for array, space in record.placement)
    if record.error is not None:
        print(f"  {spaces}  {record.error.splitlines()[0]}")
        return
    times = "  ".join(f"{t.l2} {t.median_ms:.4f} ms" for t in record.timings)
    print(f"  {spaces}  {times}  {'identical' if record.identical else 'DIFFERENT'}")


if __name__ == "__main__":
    sys.exit(main())
