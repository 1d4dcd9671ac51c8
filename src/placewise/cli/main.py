"""The command line: a thin shell over the typed functions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from placewise.cli import run as run_command
from placewise.cli.counters import counters
from placewise.cli.entry import main
from placewise.cli.lint import lint
from placewise.cli.machine import machine_app
from placewise.cli.machine_code import machine_code
from placewise.cli.options import (
    AsJson,
    CaseName,
    CompilerVersion,
    Format,
    InstructionLimit,
    MachineName,
    OutputFormat,
    Quiet,
    SarifFile,
)
from placewise.cli.probe import probe
from placewise.cli.progress import StepProgress
from placewise.cli.quantities import check_row, parse_time_ms
from placewise.cli.reproduce import reproduce
from placewise.cli.validate import validate

__all__ = ["app", "main"]

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Where should each array of a CUDA kernel live, on this GPU? Needs no GPU.",
    rich_markup_mode="markdown",
)
app.add_typer(machine_app, name="machine")


@app.command(
    epilog="Examples:\n\n"
    "`placewise advise spmv --machine A100`\n\n"
    "`placewise advise mine.toml -m K20c --measured 1.3ms --out advice/`\n\n"
    "`placewise advise matmul -m H100 --format json > advice.json`"
)
def advise(
    case: CaseName,
    machine: MachineName,
    measured: Annotated[
        str | None,
        typer.Option(
            metavar="TIME|FILE",
            help="The kernel as it is, measured: its time, e.g. 1.3ms, or counters recorded by "
            "Nsight Compute (report or CSV), which correct the predicted ones.",
        ),
    ] = None,
    row: Annotated[
        int | None,
        typer.Option(min=0, help="Launch of that FILE, from 0, where it has several."),
    ] = None,
    as_json: AsJson = False,
    format_: OutputFormat = Format.text,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write the report and the verified source there."),
    ] = None,
    finalists: Annotated[
        int | None,
        typer.Option(min=0, help="How many of the best are rewritten, verified and timed."),
    ] = None,
    nvrtc: CompilerVersion = None,
    sarif: SarifFile = None,
    instruction_limit: InstructionLimit = None,
    quiet: Quiet = False,
) -> None:
    """Rank the placements of a kernel's arrays, say why, and write out the best, verified."""
    from placewise.advisor import FINALISTS
    from placewise.advisor import advise as run_advise
    from placewise.advisor.predicted_counters import predict_counters
    from placewise.executor import DEFAULT_LIMIT
    from placewise.report import check_folder, render, report_console, write_files
    from placewise.report.advice.files import check_file
    from placewise.report.sarif.findings import write_lint_sarif

    profile = Path(measured) if measured is not None and Path(measured).is_file() else None
    measured_ms = None if measured is None or profile else parse_time_ms(measured)
    check_row(row, profile)
    if out is not None:
        check_folder(out)
    if sarif is not None:
        check_file(sarif)
    errors = Console(stderr=True)
    with StepProgress(errors, quiet=quiet) as progress:
        advice = run_advise(
            case,
            machine,
            measured_ms=measured_ms,
            profile=profile,
            row=row,
            finalists=FINALISTS if finalists is None else finalists,
            nvrtc=nvrtc,
            instruction_limit=instruction_limit or DEFAULT_LIMIT,
            progress=progress.step,
        )
        if sarif is not None:
            counted = predict_counters(advice.case, machine, nvrtc=nvrtc, progress=progress.step)
    files = write_files(advice, out) if out is not None else ()
    if sarif is not None:
        write_lint_sarif(sarif, counted, advice)
    if as_json or format_ is Format.json:
        print(json.dumps(advice.to_dict(), indent=2))
        return
    console = report_console()
    console.print(render(advice))
    if files:
        kept = advice.recommended is None
        what = "report" if kept else "report, verified source and its host code"
        console.print(f"Written ({what}): {', '.join(map(str, files))}", soft_wrap=True)


@app.command(epilog="Example: `placewise measure spmv --out spmv-gpu.json`")
def measure(
    case: CaseName,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where the data file goes.")
    ] = None,
    device: Annotated[int, typer.Option(help="Number of the GPU.")] = 0,
    repeats: Annotated[int, typer.Option(min=1, help="Timed launches per placement.")] = 20,
    quiet: Quiet = False,
) -> None:
    """Time every legal placement on this machine's GPU, and check its outputs."""
    from placewise.cases import load_case
    from placewise.gpu import Options, PlacementRecord
    from placewise.gpu.measure_case import measure_case
    from placewise.gpu.record import write_measurements
    from placewise.report.advice.files import check_file

    path = out or Path(f"{Path(case).stem}-gpu.json")
    check_file(path)
    table = Table(box=None)
    for column in ("placement", "median", "spread", "outputs"):
        table.add_column(column)

    def show(record: PlacementRecord) -> None:
        if not quiet:
            Console(stderr=True).print(f"measured {dict(record.placement)}", highlight=False)

    measurement = measure_case(
        load_case(case), ordinal=device, options=Options(repeats=repeats), progress=show
    )
    write_measurements(path, (measurement,))
    for record in measurement.records:
        spaces = ", ".join(f"{array} {space}" for array, space in record.placement)
        if record.error is not None:
            table.add_row(spaces, "", "", record.error.splitlines()[0])
            continue
        for timing in record.timings:
            low, high = timing.quartiles_ms
            table.add_row(
                spaces,
                f"{timing.median_ms:.4f} ms (L2 {timing.l2})",
                f"{low:.4f}–{high:.4f}",
                "bit-identical" if record.identical else "DIFFERENT",
            )
    console = Console()
    console.print(table)
    console.print(f"Written: {path}", soft_wrap=True)


app.command(
    "machine-code",
    epilog="Examples:\n\n"
    "`placewise machine-code spmv -m A4000`\n\n"
    "`placewise machine-code mine.toml --arch sm_86 --nvrtc 12.9 --run --listing`",
)(machine_code)
app.command(
    "counters",
    epilog="Examples:\n\n"
    "`placewise counters spmv -m A4000 --by array`\n\n"
    "`placewise counters spmv -m A4000 --place x=texture --place row_start=readonly`\n\n"
    "`placewise counters mine.toml -m RTX2080Ti --nvrtc 12.9 --measured profile.ncu-rep`",
)(counters)
app.command(
    "lint",
    epilog="Examples:\n\n"
    "`placewise lint mine.toml -m A100`\n\n"
    "`placewise lint mine.toml -m T4 --sarif placewise.sarif --report-only`",
)(lint)
app.command(
    "run",
    epilog="Examples:\n\n"
    "`placewise run spmv`\n\n"
    "`placewise run mine.toml --check`\n\n"
    "`placewise run mine.toml --arch sm_90 --out results.npz --format json`",
)(run_command.run)
app.command(
    "validate",
    epilog="Examples:\n\n"
    "`placewise validate cache.json --case mine.toml`\n\n"
    "`placewise validate a100.csv.gz a4000.csv.gz --case mine.toml -m A100 -m A4000 "
    "--plot accuracy.svg`",
)(validate)
app.command(
    "reproduce",
    epilog="Examples:\n\n"
    "`placewise reproduce porple-table4 hu-liu`\n\n"
    "`placewise reproduce huang-li-events --counters counters.csv.gz`\n\n"
    "`placewise reproduce huang-li-ablations --data a100.csv.gz -m A100 --case mine.toml`",
)(reproduce)


app.command(
    "probe",
    epilog="Examples:\n\n"
    "`placewise probe --out my-gpu.msl --curves my-gpu.svg`\n\n"
    "`placewise probe --only global --only banks --json`\n\n"
    "`placewise probe --simulate T1000 --quick`",
)(probe)


def _print_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        print(f"placewise {version('placewise')}")
        raise typer.Exit


@app.callback()
def _every_command(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Options of the program itself."""


@app.command("cases", epilog="Example: `placewise cases --json`")
def list_cases(as_json: AsJson = False, format_: OutputFormat = Format.text) -> None:
    """List the bundled cases."""
    from placewise.cases import case_names, load_case
    from placewise.report.cases import cases_document

    cases = {name: load_case(name) for name in case_names()}
    if as_json or format_ is Format.json:
        print(json.dumps(cases_document(cases), indent=2))
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("case", "kernel", "what it is"):
        table.add_column(column)
    for name, case in cases.items():
        table.add_row(name, case.kernel, case.description)
    Console().print(table)
