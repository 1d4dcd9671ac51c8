"""The main job end to end: set-up time, answer time, correctness, proof, and bad input.

``python -m benchmarks.spine [--skip-install] [--machine NAME]...``; the installation is timed in a
fresh clone of the committed state.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray
from scipy.ndimage import correlate1d
from scipy.sparse import csr_array

from benchmarks.results import Figure, report
from placewise.advisor import legal_placements, prepare, verify
from placewise.cases import load_case
from placewise.errors import UnsupportedError
from placewise.executor.result import Execution
from placewise.kernel.launch import ArrayArgument, Inputs, ScalarArgument
from placewise.machine import load_machine
from placewise.rewriter import rewrite

ROOT = Path(__file__).parent.parent
MACHINES = ["K20c", "A100"]
"""One machine of three data paths and small shared memory, one of two paths."""
CASES = ("spmv", "matmul", "convolution-rows", "convolution-columns")


def main(
    skip_install: Annotated[bool, typer.Option(help="Leave the fresh clone out.")] = False,
    machine: Annotated[list[str] | None, typer.Option(help="Machines of the placements.")] = None,
) -> None:
    """Measure, print a table, write results/spine.json."""
    figures = [] if skip_install else _fresh_clone()
    for name in CASES:
        figures += _case(name, machine or MACHINES)
    figures += _bad_input()
    if not report("spine", figures):
        sys.exit(1)


def _timed(command: list[str], folder: Path) -> tuple[float, int]:
    start = time.perf_counter()
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    return time.perf_counter() - start, done.returncode


def _fresh_clone() -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder) / "placewise"
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        demo, status = _timed(["make", "demo"], clone)
        spmv, spmv_status = _timed(
            [".venv/bin/placewise", "advise", "spmv", "--machine", "K20c"], clone
        )
    return [
        Figure(
            "make demo on a fresh clone, installation included",
            demo,
            "s",
            "< 180",
            demo < 180 and status == 0,
        ),
        Figure("advise spmv afterwards, cold", spmv, "s", "< 15", spmv < 15 and spmv_status == 0),
    ]


def _case(name: str, machines: list[str]) -> list[Figure]:
    """The executor's outputs against NumPy and SciPy; every legal placement against them."""
    figures: list[Figure] = []
    case = load_case(name)
    for machine_name in machines:
        prepared = prepare(case, load_machine(machine_name))
        if not figures:
            error = _relative_error(name, prepared.execution, prepared.case.inputs)
            figures.append(
                Figure(
                    f"{name}: largest |output - float64 reference| / (eps * sum of magnitudes)",
                    error,
                    "ulp",
                    "<= its number of additions",
                    error <= _additions(name),
                )
            )
        placements = list(legal_placements(prepared.legality))
        proven = 0
        for placement in placements:
            try:
                written = rewrite(prepared.case, placement, prepared.machine, prepared.view)
            except UnsupportedError:
                continue
            proven += verify(written, prepared.case, prepared.execution).identical
        figures.append(
            Figure(
                f"{name} on {machine_name}: legal placements rewritten, run, bit-identical",
                proven,
                "placements",
                f"{len(placements)}",
                proven == len(placements),
            )
        )
    return figures


def _inputs(inputs: Inputs) -> tuple[dict[str, NDArray[np.generic]], dict[str, int]]:
    arrays = {a.name: a.data for a in inputs.arguments if isinstance(a, ArrayArgument)}
    scalars = {a.name: int(a.value) for a in inputs.arguments if isinstance(a, ScalarArgument)}
    return arrays, scalars


def _additions(name: str) -> int:
    """Terms of each sum, hence the most roundings of it."""
    return {"spmv": 27 + 5, "matmul": 1024}.get(name, 17)


def _relative_error(name: str, run: Execution, inputs: Inputs) -> float:
    """Largest |result - reference| over ε · Σ|terms|: the classic bound is the number of terms."""
    arrays, scalars = _inputs(inputs)
    if name == "spmv":
        shape = (scalars["rows"], arrays["x"].size)
        parts = (arrays["values"].astype(np.float64), arrays["columns"], arrays["row_start"])
        matrix = csr_array(parts, shape=shape)
        x = arrays["x"].astype(np.float64)
        found, exact, scale = run.output("y"), matrix @ x, abs(matrix) @ abs(x)
    elif name == "matmul":
        a, b = (arrays[k].astype(np.float64) for k in ("A", "B"))
        found, exact, scale = run.output("C"), a @ b, abs(a) @ abs(b)
    else:
        axis = 1 if name.endswith("rows") else 0
        image, taps = (arrays[k].astype(np.float64) for k in ("image", "taps"))
        exact = correlate1d(image, taps, axis=axis, mode="nearest")
        scale = correlate1d(abs(image), abs(taps), axis=axis, mode="nearest")
        found = run.output("result")
    error = np.abs(found.reshape(exact.shape) - exact)
    return float(np.max(error / (np.finfo(np.float32).eps * np.maximum(scale, 1e-30))))


_KERNEL = "__global__ void f(float *a, int n) { if (threadIdx.x < n) a[threadIdx.x] += 1; }\n"
_CASE = """\
schema = 1
kernel = "f"
source = "f.cu"
[launch]
grid = [1]
block = [32]
[[arguments]]
name = "a"
dtype = "float32"
shape = [32]
fill = 0
[[arguments]]
name = "n"
dtype = "int32"
value = 32
"""
_ZEROS = 'dtype = "float32"\nshape = [32]\nfill = 0'
_MACHINE = """\
die = 1 tpc; tpc = 16 sm; sm = 32 core;
globalMem 8 Y rv na 1G 128B ? 600clk <> <> die ? warp{address1 != address2};
"""


def _bad_input() -> list[Figure]:
    """Each kind of wrong input: one located error, no traceback, a status that is not 0."""
    kinds = {
        "kernel that does not compile": ({"f.cu": _KERNEL.replace("a[", "b[")}, "f.cu:1"),
        "unknown kernel name": ({"case.toml": _CASE.replace('"f"', '"g"', 1)}, "f.cu"),
        "missing array": (
            {"case.toml": _CASE.replace(_ZEROS, 'file = "a.npy"')},
            "case.toml",
        ),
        "missing argument": ({"case.toml": _CASE.rsplit("[[", 1)[0]}, "arguments"),
        "misshapen array": ({"case.toml": _CASE.replace("[32]\nfill", "[-3]\nfill")}, "case.toml"),
        "wrong dtype": ({"case.toml": _CASE.replace("float32", "float64")}, "argument 1 ('a')"),
        "array too short": ({"case.toml": _CASE.replace("[32]\nfill", "[3]\nfill")}, "f.cu:1"),
        "block of 2000 threads": (
            {"case.toml": _CASE.replace("block = [32]", "block = [2000]")},
            "block",
        ),
        "machine file with a typo": (
            {"m.msl": _MACHINE},
            "m.msl:2",
        ),
    }
    figures = []
    for kind, (files, where) in kinds.items():
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for file, text in {"f.cu": _KERNEL, "case.toml": _CASE, **files}.items():
                (folder / file).write_text(text)
            machine = "m.msl" if "m.msl" in files else "K20c"
            before = {p.name for p in folder.iterdir()}
            command = ["placewise", "advise", "case.toml", "-m", machine, "--out", "out", "-q"]
            done = subprocess.run(
                [str(Path(sys.executable).parent / command[0]), *command[1:]],
                cwd=folder,
                capture_output=True,
                text=True,
                check=False,
            )
            after = {p.name for p in folder.iterdir()}
        errors = done.stderr.count("error:")
        good = (
            done.returncode not in (0, 1)
            and errors == 1
            and where in done.stderr
            and "Traceback" not in done.stderr
            and not done.stdout
            and before == after
        )
        if not good:
            print(kind, done.returncode, done.stdout, done.stderr)
        figures.append(
            Figure(f"bad input: {kind}", done.returncode, "exit status", "one located error", good)
        )
    return figures


if __name__ == "__main__":
    typer.run(main)
