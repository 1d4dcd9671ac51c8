"""``placewise doctor``: what works on this computer, and where the caches are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from placewise.cli.options import FOUND, AsJson, Format, OutputFormat, show

if TYPE_CHECKING:
    from placewise.doctor import Check


def doctor(
    clear: Annotated[
        bool, typer.Option("--clear-caches", help="Delete everything in the caches first.")
    ] = False,
    format_: OutputFormat = Format.text,
    as_json: AsJson = False,
) -> None:
    """Show what works on this computer, what is missing and how to get it, and the caches.

    Exit status: 0, or 1 if something that Placewise needs is missing.
    """
    from placewise.doctor import clear_caches, diagnose
    from placewise.report.doctor import render_diagnosis
    from placewise.report.formats import Report

    freed = clear_caches() if clear else None
    found = diagnose(_gpu(), freed)
    show(Report(lambda: render_diagnosis(found), found.to_dict), format_, as_json)
    if not found.healthy:
        raise typer.Exit(FOUND)


def _gpu() -> Check:
    from placewise.doctor import Check, State
    from placewise.gpu.device import DeviceError, gpu_names

    name = "GPU and driver"
    try:
        driver, names = gpu_names()
    except DeviceError as error:
        hint = "install NVIDIA's driver; only these two commands need it"
        return Check(name, State.absent, f"for measure and probe ({error.message})", hint)
    return Check(name, State.works, f"{', '.join(names)}; driver for CUDA {driver}")
