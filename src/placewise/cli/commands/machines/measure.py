"""``placewise measure``: times of every legal placement on this machine's GPU."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from placewise.cli.options import AsJson, CaseName, Format, OutputFormat, Quiet, show


def measure(
    case: CaseName,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="Data file to write. Default: CASE-gpu.json."
        ),
    ] = None,
    device: Annotated[int, typer.Option(help="Number of the GPU.")] = 0,
    repeats: Annotated[int, typer.Option(min=1, help="Timed launches per placement.")] = 20,
    format_: OutputFormat = Format.text,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Time every legal placement on this machine's GPU, and check its outputs."""
    from placewise.cases import load_case
    from placewise.gpu import Options, PlacementRecord
    from placewise.gpu.measure_case import measure_case
    from placewise.gpu.record import measurements_document, write_measurements
    from placewise.report.advice.files import check_file
    from placewise.report.formats import Report
    from placewise.report.measured.measurement import render_measurement

    path = out or Path(f"{Path(case).stem}-gpu.json")
    check_file(path)

    def tell(record: PlacementRecord) -> None:
        if not quiet:
            Console(stderr=True).print(f"measured {dict(record.placement)}", highlight=False)

    measurement = measure_case(
        load_case(case), ordinal=device, options=Options(repeats=repeats), progress=tell
    )
    write_measurements(path, (measurement,))
    rows = [
        (
            record.placement,
            [(timing.l2, timing.median_ms, timing.quartiles_ms) for timing in record.timings],
            record.identical,
            record.error,
        )
        for record in measurement.records
    ]
    differences = [
        (check.array, check.different, check.elements, check.max_ulp)
        for check in measurement.executor
        if not check.identical
    ]
    show(
        Report(
            lambda: render_measurement(rows, differences),
            lambda: measurements_document((measurement,)),
            (path,),
        ),
        format_,
        as_json,
    )
