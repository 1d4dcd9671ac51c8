"""``placewise studio``: kernels, placements and machines in the browser."""

from __future__ import annotations

from typing import Annotated

import typer

from placewise.cli.options import AsJson, Format, OutputFormat

SECONDS = 300.0
"""Longest time of a run in seconds, by default."""


def studio(
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1; 0 takes a free one.")
    ] = 0,
    seconds: Annotated[
        float, typer.Option(min=1.0, help="Stop a run that takes longer than this.")
    ] = SECONDS,
    runs: Annotated[int, typer.Option(min=1, max=16, help="Most runs at a time.")] = 2,
    open_browser: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the address in the browser.")
    ] = True,
    as_json: AsJson = False,
    format_: OutputFormat = Format.text,
) -> None:
    """In the browser: paste a kernel, choose inputs and a GPU, see the answer; edit machines.

    It serves this computer alone, until Ctrl-C.
    """
    import json
    import webbrowser

    from placewise.studio.serve import serve_studio

    def announce(address: str) -> None:
        if as_json or format_ is Format.json:
            print(json.dumps({"address": address}), flush=True)
        else:
            print(f"Placewise studio: {address}\nCtrl-C ends it.", flush=True)
        if open_browser:
            webbrowser.open(address)

    serve_studio(port=port, most=runs, seconds=seconds, announce=announce)
