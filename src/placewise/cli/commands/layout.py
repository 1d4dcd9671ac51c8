"""``placewise layout``: how a kernel's arrays of structs should be laid out."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from placewise.cli.options import (
    AsJson,
    CaseName,
    CompilerVersion,
    Format,
    HtmlFile,
    InstructionLimit,
    MachineName,
    OutputFormat,
    Quiet,
    show,
)
from placewise.cli.progress import StepProgress


# One parameter for each option of the command: Typer reads them from the signature.
def layout(
    case: CaseName,
    machine: MachineName,
    layouts: Annotated[
        list[str] | None,
        typer.Option(
            "--layout",
            "-l",
            metavar="LAYOUT",
            help="Try this layout: soa, aos, aosoa:32, or groups of fields such as "
            "'{x y z} {m}', with @16 after a group for its alignment in bytes and :32 for tiles "
            "of 32 elements. May be given again. Without it, Placewise chooses what to try.",
        ),
    ] = None,
    join: Annotated[
        str | None,
        typer.Option(
            metavar="ARRAYS",
            help="Try these separate arrays of one length as one array of structs: x,y,z.",
        ),
    ] = None,
    static: Annotated[
        bool,
        typer.Option(
            "--static",
            help="Run nothing: compare layouts by the static cost of Peng, Grossman and Sarkar, "
            "from the source and the machine's caches.",
        ),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="DIR",
            help="Write the report, the verified source and the host's conversions to DIR.",
        ),
    ] = None,
    probability: Annotated[
        float,
        typer.Option(
            min=0.5, max=1.0, help="Recommend a layout only if it is faster with this probability."
        ),
    ] = 0.9,
    least_gain: Annotated[
        float,
        typer.Option(
            min=0.0, help="… and only if it gains at least this: 0.03 is 1.03 times as fast."
        ),
    ] = 0.03,
    nvrtc: CompilerVersion = None,
    html: HtmlFile = None,
    limit: InstructionLimit = None,
    as_json: AsJson = False,
    format_: OutputFormat = Format.text,
    quiet: Quiet = False,
) -> None:
    """Say how arrays of structs should be laid out, from AoS to SoA, and write it, verified."""
    from placewise.advisor import Demand
    from placewise.advisor.layouts.advise_layout import advise_layout
    from placewise.advisor.layouts.estimate_layouts import estimate_layouts
    from placewise.advisor.programs.advise_program_layout import advise_program_layout
    from placewise.errors import CaseError
    from placewise.executor import DEFAULT_LIMIT
    from placewise.kernel.programs.program_file import holds_program
    from placewise.report.advice.files import check_file, check_folder
    from placewise.report.formats import Report
    from placewise.report.html.layout_page import layout_page
    from placewise.report.html.page import write_html
    from placewise.report.html.program_pages import program_layout_page
    from placewise.report.layouts.layout import render_layouts
    from placewise.report.layouts.layout_files import write_layout_files
    from placewise.report.layouts.program_layout import (
        render_program_layout,
        write_program_layout_files,
    )
    from placewise.report.layouts.static_layout import render_static_layouts

    if out is not None:
        check_folder(out)
    if html is not None:
        check_file(html)
    what = "report, verified source and conversions"
    if static:
        if out is not None or html is not None or holds_program(case):
            raise CaseError(
                "--static looks at one launch and writes no files",
                where=case,
                hint="leave out --out and --html; give a case with one launch",
            )
        with StepProgress(Console(stderr=True), quiet=quiet) as progress:
            costs = estimate_layouts(
                case,
                machine,
                layouts=layouts or (),
                join=_names(join),
                least_gain=least_gain,
                nvrtc=nvrtc,
                progress=progress.step,
            )
        show(Report(partial(render_static_layouts, costs), costs.to_dict), format_, as_json)
        return
    if holds_program(case):
        if join is not None:
            raise CaseError("several launches do not go with --join", where=case)
        with StepProgress(Console(stderr=True), quiet=quiet) as progress:
            program = advise_program_layout(
                case,
                machine,
                layouts=layouts or (),
                demand=Demand(probability, least_gain),
                nvrtc=nvrtc,
                instruction_limit=limit or DEFAULT_LIMIT,
                progress=progress.step,
            )
            drawn = program_layout_page(program, progress=progress.step) if html else None
        files = write_program_layout_files(program, out) if out is not None else ()
        files += write_html(html, drawn)
        shown = partial(render_program_layout, program)
        show(Report(shown, program.to_dict, files, what), format_, as_json)
        return
    with StepProgress(Console(stderr=True), quiet=quiet) as progress:
        advice = advise_layout(
            case,
            machine,
            layouts=layouts or (),
            join=_names(join),
            demand=Demand(probability, least_gain),
            nvrtc=nvrtc,
            instruction_limit=limit or DEFAULT_LIMIT,
            progress=progress.step,
        )
        page = layout_page(advice, progress=progress.step) if html is not None else None
    files = write_layout_files(advice, out) if out is not None else ()
    files += write_html(html, page)
    show(Report(partial(render_layouts, advice), advice.to_dict, files, what), format_, as_json)


def _names(join: str | None) -> list[str]:
    """The arrays that ``--join`` names."""
    return [name.strip() for name in join.split(",")] if join else []
