"""Registers all commands with their examples. Each command is in a file of its name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from placewise.cli.commands.advise import advise
from placewise.cli.commands.cases import list_cases
from placewise.cli.commands.counters import counters
from placewise.cli.commands.draft import draft
from placewise.cli.commands.layout import layout
from placewise.cli.commands.lint import lint
from placewise.cli.commands.machine_code import machine_code
from placewise.cli.commands.machines.calibrate import calibrate
from placewise.cli.commands.machines.doctor import doctor
from placewise.cli.commands.machines.machine import machine_app
from placewise.cli.commands.machines.measure import measure
from placewise.cli.commands.machines.probe import probe
from placewise.cli.commands.reproduce import reproduce
from placewise.cli.commands.rewrite import rewrite
from placewise.cli.commands.run import run
from placewise.cli.commands.studio import studio
from placewise.cli.commands.sweep import sweep
from placewise.cli.commands.time import predicted_time
from placewise.cli.commands.trace import trace
from placewise.cli.commands.validate import validate
from placewise.cli.entry import main
from placewise.cli.options import STATUSES

__all__ = ["app", "main"]

COMMANDS: dict[str, tuple[Callable[..., None], tuple[str, ...]]] = {
    "advise": (
        advise,
        (
            "advise spmv --machine A100",
            "advise mine.toml -m K20c --measured 1.3ms --out advice/",
            "advise matmul -m H100 --json > advice.json",
        ),
    ),
    "layout": (
        layout,
        (
            "layout particles.toml --machine A100",
            "layout particles.toml -m H100 --layout soa --layout '{x y z m}@16 {vx vy vz}'",
            "layout particles.toml -m A100 --out particles/ --json",
            "layout particles.toml -m A100 --static",
        ),
    ),
    "rewrite": (
        rewrite,
        (
            "rewrite spmv -m A100 --place x=texture --out spmv/",
            "rewrite spmv -m A100,H100 --agnostic --out spmv/",
        ),
    ),
    "time": (
        predicted_time,
        (
            "time matmul --machine A100,H100,RTX3060",
            "time mine.toml -m A4000 --measured 1.3ms",
            "time mine.toml -m A100,mine.msl --measured A100=830us --json",
        ),
    ),
    "sweep": (
        sweep,
        (
            "sweep spmv matmul -m A100,H100",
            "sweep mine.toml -m A100 --size n=1024,4096 --parameter tile=8,16,32 --out study/",
            "sweep --plan study.toml --shard 3/8",
        ),
    ),
    "counters": (
        counters,
        (
            "counters spmv -m A4000 --by array",
            "counters spmv -m A4000 --place x=texture --place row_start=readonly",
            "counters mine.toml -m RTX2080Ti --nvrtc 12.9 --measured profile.ncu-rep",
        ),
    ),
    "lint": (
        lint,
        (
            "lint mine.toml -m A100",
            "lint mine.toml -m T4 --sarif placewise.sarif --report-only",
            "lint mine.toml -m T4 --baseline lint-baseline.json --format github",
        ),
    ),
    "run": (
        run,
        (
            "run spmv",
            "run mine.toml --check",
            "run mine.toml --arch sm_90 --out results.npz --json",
        ),
    ),
    "trace": (
        trace,
        (
            "trace spmv -m A100 --accel-sim traces/ --blocks 64",
            "trace mine.toml -m RTX3060 --parquet accesses.parquet",
        ),
    ),
    "machine-code": (
        machine_code,
        (
            "machine-code spmv -m A4000",
            "machine-code mine.toml --arch sm_86 --nvrtc 12.9 --run --listing",
        ),
    ),
    "draft": (draft, ("draft my.cu", "draft my.cu --kernel blur --out blur.toml")),
    "cases": (list_cases, ("cases --by paper", "cases --json")),
    "validate": (
        validate,
        (
            "validate cache.json --case mine.toml",
            "validate a100.csv.gz a4000.csv.gz --case mine.toml -m A100 -m A4000 "
            "--plot accuracy.svg",
        ),
    ),
    "calibrate": (
        calibrate,
        (
            "calibrate matmul --measured 3.1ms -m RTX3060 --out my-gpu.msl",
            "calibrate mine.toml --measured 830us -m A100 --clock base",
        ),
    ),
    "reproduce": (
        reproduce,
        (
            "reproduce porple-table4 hu-liu",
            "reproduce huang-li-events --counters counters.csv.gz",
            "reproduce huang-li-ablations --data a100.csv.gz -m A100 --case mine.toml",
        ),
    ),
    "measure": (measure, ("measure spmv --out spmv-gpu.json",)),
    "probe": (
        probe,
        (
            "probe --out my-gpu.msl --curves my-gpu.svg",
            "probe --only global --only banks --json",
            "probe --simulate T1000 --quick",
        ),
    ),
    "studio": (studio, ("studio", "studio --port 8765")),
    "doctor": (doctor, ("doctor", "doctor --clear-caches", "doctor --json")),
}
"""Commands with their examples, in the order in which help lists them."""

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Where should each array of a CUDA kernel live, on this GPU? Needs no GPU.",
    epilog=STATUSES,
    rich_markup_mode="markdown",
)
for _name, (_command, _examples) in COMMANDS.items():
    _shown = "\n\n".join(f"`placewise {example}`" for example in _examples)
    _word = "Examples:\n\n" if len(_examples) > 1 else "Example: "
    app.command(_name, epilog=_word + _shown)(_command)
app.add_typer(machine_app, name="machine")


def _print_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        print(f"placewise {version('placewise')}")
        raise typer.Exit


@app.callback(epilog=STATUSES)
def _every_command(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Where should each array of a CUDA kernel live, on this GPU? Needs no GPU."""
