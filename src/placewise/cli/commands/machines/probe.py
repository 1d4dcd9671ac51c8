"""``placewise probe``: caches, TLBs, DRAM and pipelines of this machine's GPU, measured."""

from __future__ import annotations

import re
from contextlib import ExitStack
from datetime import date
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from placewise.cli.options import AsJson, Format, HtmlFile, OutputFormat, Quiet, show
from placewise.cli.progress import StepProgress
from placewise.errors import PlacewiseError
from placewise.output_file import write_whole

if TYPE_CHECKING:
    from placewise.probe.session import Findings
    from placewise.probe.target import ProbeTarget


class Part(StrEnum):
    """Parts of a probe.

    The same names as :data:`placewise.probe.session.PARTS`. They are repeated here, since
    ``--help`` needs them and that module takes long to import.
    """

    launch = "launch"
    banks = "banks"
    instructions = "instructions"
    bandwidth = "bandwidth"
    global_ = "global"
    patterns = "patterns"
    constant = "constant"
    readonly = "readonly"
    texture = "texture"
    dram = "dram"
    curve = "curve"


# One parameter for each option of the command: Typer reads them from the signature.
def probe(
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="Machine file to write. Default: NAME.msl."
        ),
    ] = None,
    curves: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Drawing of the curves (.svg, .png). Default: beside the machine file.",
        ),
    ] = None,
    only: Annotated[
        list[Part] | None, typer.Option(help="Measure only this part; may be given again.")
    ] = None,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Measure only the nearest caches, and no TLBs."),
    ] = False,
    time_limit: Annotated[
        float | None,
        typer.Option(
            min=1, metavar="SECONDS", help="Skip the remaining parts after this time. Default: 280."
        ),
    ] = None,
    device: Annotated[int, typer.Option(help="Number of the GPU.")] = 0,
    simulate: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FILE", help="Probe a simulation of this machine instead of a GPU."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the simulation's random choices.")] = 0,
    html: HtmlFile = None,
    format_: OutputFormat = Format.text,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Measure this machine's GPU in five minutes; write a machine file and draw its curves."""
    from placewise.probe.session import PARTS, TIME_LIMIT_S, Request
    from placewise.probe.session import probe as run_probe
    from placewise.report.advice.files import check_file, check_folder
    from placewise.report.drawing import check_drawing, write_drawing
    from placewise.report.formats import Report
    from placewise.report.html.measured_pages import probe_page
    from placewise.report.html.page import write_html
    from placewise.report.probe.curves import probe_curves
    from placewise.report.probe.probe import probe_document, render_probe

    parts = tuple(part.value for part in only or ()) or PARTS
    if out is not None:
        if "global" not in parts:
            raise PlacewiseError("a machine file needs the part 'global'", where="--only")
        check_folder(out.parent)
    if curves is not None:
        check_drawing(curves)
    if html is not None:
        check_file(html)
    request = Request(parts, quick, time_limit or TIME_LIMIT_S, seed)
    with ExitStack() as stack:
        target = _target(stack, simulate, device, seed)
        progress = stack.enter_context(StepProgress(Console(stderr=True), quiet=quiet))
        found = run_probe(target, request, progress.step)
    # Measurements are shown even where they are not enough for a machine file.
    missing: PlacewiseError | None = None
    written = []
    name = re.sub(r"\W+", "-", found.facts.name).strip("-")
    path = out or Path(f"{name}.msl")
    drawing = curves or path.with_suffix(".svg")
    try:
        if out is not None or _has_caches(found):
            write_whole(path, _machine_text(found))
            written.append(path)
    except PlacewiseError as error:
        missing = error
    if curves is not None or _drawable(found):
        write_drawing(probe_curves(found), drawing)
        written.append(drawing)
    written += write_html(html, probe_page(found) if html is not None else None)
    show(
        Report(lambda: render_probe(found), lambda: probe_document(found), tuple(written)),
        format_,
        as_json,
    )
    if missing is not None:
        Console(stderr=True).print(f"no machine file: {missing}", soft_wrap=True, highlight=False)
        raise typer.Exit(1)


def _target(stack: ExitStack, simulate: str | None, device: int, seed: int) -> ProbeTarget:
    if simulate is not None:
        from placewise.machine import load_machine
        from placewise.probe.simulated.target import SimulatedTarget

        return SimulatedTarget(load_machine(simulate), seed=seed)
    from placewise.gpu.probe_target import GpuTarget

    return stack.enter_context(GpuTarget(device))


def _machine_text(found: Findings) -> str:
    """The machine file; MachineError where the caches of global memory were not found."""
    from placewise.machine.device_machine import machine_for
    from placewise.probe.write_machine import machine_text

    like = machine_for(found.facts.name, found.facts.compute_capability)
    return machine_text(found, like, date.today().isoformat())


def _has_caches(found: Findings) -> bool:
    return "global" in found.paths and bool(found.paths["global"].caches)


def _drawable(found: Findings) -> bool:
    return bool(found.curve or found.patterns or found.banks or found.streams or found.instructions)
