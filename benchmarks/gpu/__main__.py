"""One bundled case in all legal placements; adds its measurement to a data file.

A process of its own for each case: a fault in a kernel spoils the process's CUDA context.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from placewise.cases import load_case
from placewise.errors import PlacewiseError
from placewise.gpu import DeviceError, Options, PlacementRecord
from placewise.gpu.measure_case import measure_case
from placewise.gpu.record import read_measurements, write_measurements

NO_GPU = 3
"""Exit status where there is no GPU."""


def main() -> int:
    """Status: 0 measured and all outputs as expected, 1 not so, 2 an error, 3 no GPU."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("case")
    parser.add_argument("--folder", type=Path, required=True, help="where the data file goes")
    parser.add_argument("--device", type=int, default=0)
    parser.add_argument("--time-limit", type=float, required=True, help="seconds")
    chosen = parser.parse_args()
    try:
        measurement = measure_case(
            load_case(chosen.case),
            ordinal=chosen.device,
            options=Options(time_limit_s=chosen.time_limit),
            progress=_show,
        )
    except DeviceError as error:
        print(f"benchmarks/gpu: {error.message}", file=sys.stderr)
        return NO_GPU
    except PlacewiseError as error:
        print(error, file=sys.stderr)
        return 2
    device = re.sub(r"\W+", "-", measurement.device.name).strip("-")
    path = chosen.folder / f"gpu-{device}-{measurement.date[:10]}.json"
    earlier = read_measurements(path) if path.is_file() else ()
    kept = tuple(m for m in earlier if m.case != measurement.case)
    write_measurements(path, (*kept, measurement))
    wrong = sum(not record.identical for record in measurement.records)
    print(
        f"{chosen.case}: {len(measurement.records)} placements, {wrong} not bit-identical, "
        f"{measurement.left_out} left out; {path}"
    )
    return 1 if wrong else 0


def _show(record: PlacementRecord) -> None:
    spaces = " ".join(f"{array}:{space}" for array, space in record.placement)
    if record.error is not None:
        print(f"  {spaces}  {record.error.splitlines()[0]}")
        return
    times = "  ".join(f"{t.l2} {t.median_ms:.4f} ms" for t in record.timings)
    print(f"  {spaces}  {times}  {'identical' if record.identical else 'DIFFERENT'}")


if __name__ == "__main__":
    sys.exit(main())
