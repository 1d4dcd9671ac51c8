"""Predicted gains of moves, measured on a GPU.

``python -m benchmarks.gpu.gains predict H100 FILE`` asks for advice on the CPU and keeps the best
proven forms of each kernel, the recommended one first: of the ten kernels that beginners write, of
the bundled cases, and of case files that are named. ``… measure FILE FOLDER`` writes each out
again and times it beside the present form on the machine's GPU: measured beside predicted gains, in
``FOLDER/gains-DEVICE-DATE.json``. Predicting first keeps minutes of advice off the GPU's time.
``… compare FILE MEASURED OUT`` says how well the two agree; it needs no GPU.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from itertools import groupby
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from benchmarks.gpu.files import L2_OF_ADVICE, NO_GPU, Nvrtc, Workers, dated
from benchmarks.placement.beginners import BEGINNERS
from benchmarks.results import Figure
from placewise import advise, load_machine
from placewise.cases import case_names, load_case
from placewise.errors import PlacewiseError
from placewise.gpu import DeviceError, Measurement, Options, PlacementRecord, measure
from placewise.kernel.cases.case import Case
from placewise.kernel.cases.prepare_case import read_case
from placewise.rewriter import rewrite
from placewise.rewriter.own.undone import undo
from placewise.space import Placement

OPTIONS = Options(time_limit_s=12.0)
FORMS = 6
"""Forms of a kernel that are measured."""
SAME = 0.02
"""Times that differ by less are the same."""
ONCE = Options(warmup=0, repeats=1, l2=())
app = typer.Typer(add_completion=False)


@dataclass(frozen=True)
class PredictedGain:
    """One form of a kernel, and what it is predicted to gain."""

    kernel: str
    """Name of a beginner's kernel or a bundled case, or a case file."""
    moves: str
    spaces: tuple[tuple[str, str], ...]
    """(array, space) in parameter order, at present."""
    chosen: tuple[tuple[str, str], ...]
    chunk: int | None
    """Iterations of a loop that tiles hold at a time."""
    buffers: int
    """Tiles of such iterations that each array has."""
    recommended: bool
    gain: float
    """Present over chosen time; above 1 is faster."""
    low: float
    high: float
    """80 % interval of the gain."""
    present_ms: float | None
    chosen_ms: float | None


def named_case(kernel: str) -> Case:
    """Case of a beginner's kernel, else a bundled case, else what a case file says."""
    found = next((b for b in BEGINNERS if b.name == kernel), None)
    return load_case(kernel) if found is None else found.case(0)


def predicted(
    kernel: str, machine: str, most: int = FORMS, nvrtc: str | None = None
) -> list[PredictedGain]:
    """The ``most`` best proven forms of ``kernel``, the recommended one first, if there is one."""
    advice = advise(named_case(kernel), machine, nvrtc=nvrtc)
    proven = [o for o in advice.options if o.proven and o.rerun is not None]
    first = [advice.recommended] if advice.recommended else []
    chosen = [*first, *(o for o in proven if o not in first)][:most]
    present = advice.present.placement
    return [
        PredictedGain(
            kernel=kernel,
            moves=option.placement.describe(present),
            spaces=present.spaces,
            chosen=option.placement.spaces,
            chunk=option.placement.chunk,
            buffers=option.placement.buffers,
            recommended=option is advice.recommended,
            gain=1 / option.ratio,
            low=1 / option.high,
            high=1 / option.low,
            present_ms=advice.present.predicted_ms,
            chosen_ms=option.predicted_ms,
        )
        for option in chosen
    ]


def measured(
    gains: Sequence[PredictedGain], machine: str, ordinal: int, options: Options = OPTIONS
) -> Measurement:
    """The present form of a kernel and those of ``gains`` on GPU ``ordinal``, in this order. Raises
    DeviceError where there is no GPU."""
    read = read_case(named_case(gains[0].kernel))
    known = load_machine(machine)
    given = {use.name for use in read.view.arrays}
    versions = [rewrite(read.case, Placement(()), known, read.view)]
    for gain in gains:
        moves = Placement(gain.chosen).moved(Placement(gain.spaces))
        # An array that the source itself declares moves alone.
        own = [(array, to) for array, _, to in moves if array not in given]
        form = Placement(tuple((a, to) for a, _, to in moves), gain.chunk, gain.buffers)
        versions.append(
            undo(read.case, read.view, *own[0])
            if own
            else rewrite(read.case, form, known, read.view)
        )
    return measure(read.case, versions, ordinal=ordinal, options=options)


def figures(gain: PredictedGain, present: PlacementRecord, chosen: PlacementRecord) -> list[Figure]:
    """Measured beside predicted: the gain for each state of L2, the times, equal outputs."""
    name = f"{gain.kernel}: {gain.moves}"
    why = present.error or chosen.error
    if why:
        return [Figure(f"{name}: measured", why, "", "measured", False)]
    found = [
        Figure(f"{name}: outputs are the original's", _same(chosen), "", "all", chosen.identical)
    ]
    for before, after in zip(present.timings, chosen.timings, strict=True):
        ratio = before.median_ms / after.median_ms
        inside = gain.low <= ratio <= gain.high
        asked = f"predicted {gain.gain:.2f} ({gain.low:.2f}–{gain.high:.2f})"
        found.append(Figure(f"{name}: L2 {before.l2}", ratio, "times as fast", asked, inside))
        for what, timing, ms in (
            ("present", before, gain.present_ms),
            ("chosen", after, gain.chosen_ms),
        ):
            predicted_ms = "" if ms is None else f"predicted {ms:.4g}"
            label = f"{name}: {what} form, L2 {timing.l2}"
            found.append(Figure(label, timing.median_ms, "ms", predicted_ms, True))
    return found


def _same(record: PlacementRecord) -> str:
    return f"{sum(check.identical for check in record.outputs)} of {len(record.outputs)}"


def read_predictions(path: Path) -> tuple[str, list[PredictedGain]]:
    """The machine's name and the predictions that ``predict`` wrote to ``path``."""
    document = json.loads(path.read_text())
    rows = [
        PredictedGain(
            **{
                **row,
                "spaces": tuple(map(tuple, row["spaces"])),
                "chosen": tuple(map(tuple, row["chosen"])),
            }
        )
        for row in document["gains"]
    ]
    return document["machine"], rows


@app.command()
def predict(
    machine: Annotated[str, typer.Argument(help="Known machine, such as H100.")],
    file: Annotated[Path, typer.Argument(help="Where the predictions go.")],
    kernel: Annotated[
        list[str] | None,
        typer.Option(help="Only this: a beginner's kernel, a bundled case or a case file. Repeat."),
    ] = None,
    forms: Annotated[int, typer.Option(help="Most forms of a kernel.")] = FORMS,
    workers: Workers = 1,
    nvrtc: Nvrtc = None,
) -> None:
    """Ask for advice on each kernel and keep what is predicted."""
    names = kernel or list(dict.fromkeys([*(b.name for b in BEGINNERS), *case_names()]))
    rows: list[PredictedGain] = []
    with ProcessPoolExecutor(workers) as pool:
        asked = [pool.submit(predicted, name, machine, forms, nvrtc) for name in names]
        for name, answer in zip(names, asked, strict=True):
            try:
                rows += answer.result()
            except PlacewiseError as error:
                print(f"{name}: {error}", file=sys.stderr)
            else:
                print(f"{name} done", file=sys.stderr)
    found = [asdict(row) for row in rows]
    document = {"machine": machine, "nvrtc": nvrtc, "gains": found}
    file.write_text(json.dumps(document, indent=1) + "\n")


@app.command()
def compare(
    file: Annotated[Path, typer.Argument(help="What `predict` wrote.")],
    measured_file: Annotated[Path, typer.Argument(help="What `measure` wrote.")],
    out: Annotated[Path, typer.Argument(help="Where the figures go.")],
) -> None:
    """Recommended and other forms: how often faster, how often inside the interval."""
    _, rows = read_predictions(file)
    known = {f["figure"]: f for f in json.loads(measured_file.read_text())["figures"]}
    pairs = [
        (row, float(known[f"{row.kernel}: {row.moves}: L2 {L2_OF_ADVICE}"]["value"]))
        for row in rows
        if f"{row.kernel}: {row.moves}: L2 {L2_OF_ADVICE}" in known
    ]
    found = agreement(pairs)
    out.write_text(json.dumps([asdict(f) for f in found], indent=1) + "\n")
    for figure in found:
        print(f"{figure.figure}: {figure.value} {figure.unit}")


def agreement(pairs: Sequence[tuple[PredictedGain, float]]) -> list[Figure]:
    """Figures of (prediction, measured gain with L2 warm)."""
    recommended = [(row, gain) for row, gain in pairs if row.recommended]
    others = [(row, gain) for row, gain in pairs if not row.recommended and row.low < row.high]
    alike = [gain for row, gain in pairs if row.low == row.high]
    faster = sum(gain > 1.0 for _, gain in recommended)
    groups = [list(group) for _, group in groupby(pairs, key=lambda pair: pair[0].kernel)]
    best = [
        max(group, key=lambda pair: pair[1])[0].recommended
        for group in groups
        if any(row.recommended for row, _ in group)
    ]
    figures = [
        Figure("recommended forms that were faster", faster, f"of {len(recommended)}", "all",
               faster == len(recommended)),
        Figure("recommended forms that were the fastest of those measured", sum(best),
               f"of {len(best)}", "", True),
    ]  # fmt: skip
    for name, some in (("recommended", recommended), ("other", others)):
        inside = sum(row.low <= gain <= row.high for row, gain in some)
        figures.append(
            Figure(f"{name} forms with the measured gain in the interval of 80 %", inside,
                   f"of {len(some)}", "", True)
        )  # fmt: skip
    off = [abs(row.gain / gain - 1.0) for row, gain in pairs]
    median = float(np.median(off)) if off else float("nan")
    figures.append(
        Figure(f"median error of {len(off)} gains", median, "share", "at most 0.1", median <= 0.1)
    )
    near = sum(abs(gain - 1.0) <= SAME for gain in alike)
    figures.append(
        Figure("forms predicted to be the same code, within 2 % of the present time", near,
               f"of {len(alike)}", "all", near == len(alike))
    )  # fmt: skip
    return figures + [
        Figure(f"{row.kernel}: {row.moves}", round(gain, 2), "times as fast",
               f"predicted {row.gain:.2f} ({row.low:.2f}–{row.high:.2f})",
               row.low <= gain <= row.high or (row.low == row.high and abs(gain - 1) <= SAME))
        for row, gain in pairs
    ]  # fmt: skip


@app.command("measure")
def measure_all(
    file: Annotated[Path, typer.Argument(help="What `predict` wrote.")],
    folder: Annotated[Path, typer.Argument(help="Where the figures go.")],
    device: Annotated[int, typer.Option(help="Number of the GPU.")] = 0,
    once: Annotated[
        bool,
        typer.Option(help="For a profiler: launch the kernel, it again, and the chosen form once."),
    ] = False,
    workers: Workers = 1,
) -> None:
    """Time the predicted placements beside the present ones. Status 3: there is no GPU."""
    machine, rows = read_predictions(file)
    found: list[Figure] = []
    groups = [
        list(group)[: 1 if once else None] for _, group in groupby(rows, lambda row: row.kernel)
    ]
    options = ONCE if once else OPTIONS
    # Several compile and execute side by side, and one at a time has the GPU. Each in a process of
    # its own: a fault in a kernel spoils the process's CUDA context.
    with ProcessPoolExecutor(workers, get_context("spawn"), max_tasks_per_child=1) as pool:
        asked = [pool.submit(measured, gains, machine, device, options) for gains in groups]
        for gains, answer in zip(groups, asked, strict=True):
            try:
                done = answer.result()
            except DeviceError as error:
                pool.shutdown(cancel_futures=True)
                print(f"benchmarks/gpu: {error.message}", file=sys.stderr)
                raise typer.Exit(NO_GPU) from None
            except PlacewiseError as error:
                name = f"{gains[0].kernel}: measured"
                found.append(Figure(name, str(error), "", "measured", False))
                continue
            if not once:
                present, *forms = done.records
                for gain, form in zip(gains, forms, strict=False):
                    found += figures(gain, present, form)
                _write(folder, done, found)
    right = [f for f in found if f.unit == "times as fast"]
    print(f"{sum(f.holds for f in right)} of {len(right)} gains in the predicted interval")


def _write(folder: Path, last: Measurement, found: Sequence[Figure]) -> None:
    """After each kernel, so that what was measured stays when a later kernel fails."""
    document = {
        "device": asdict(last.device),
        "date": last.date,
        "figures": [asdict(f) for f in found],
    }
    text = json.dumps(document, indent=1) + "\n"
    dated(folder, "gains", last.device.name, last.date).write_text(text)


if __name__ == "__main__":
    app()
