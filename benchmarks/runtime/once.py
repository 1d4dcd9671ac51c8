"""One run of one tuned program in a process of its own, printed as JSON.

``python -m benchmarks.runtime.once DIALECT PROGRAM MACHINE FOLDER [SIZE]``: hashes of the arrays at
the end, and the reports of the kernels. ``FOLDER`` keeps the choices.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

import numpy as np

import placewise
from benchmarks.runtime.programs import (
    PROGRAMS,
    Launcher,
    Outputs,
    Program,
    original,
    plain_launcher,
    tuned_launcher,
)


def program_named(name: str) -> Program:
    """One of the three programs."""
    return next(p for p in PROGRAMS if p.name == name)


def tuned_kernels(
    dialect: str, program: Program, machine: str, folder: Path
) -> dict[str, placewise.Tuned]:
    """Every kernel of the program, tuned."""
    return {
        name: placewise.tune(
            original(dialect, name), machine=machine, cache=folder, patience=float("inf")
        )
        for name in program.kernels
    }


def launchers(dialect: str, tuned: dict[str, placewise.Tuned]) -> dict[str, Launcher]:
    """The tuned kernels, launched as their library does."""
    return {name: tuned_launcher(dialect, one) for name, one in tuned.items()}


def plain_outputs(dialect: str, program: Program, size: int = 0) -> Outputs:
    """What the program computes without the runtime."""
    plain = {name: plain_launcher(dialect, name) for name in program.kernels}
    return program.run(plain, size)


def hashes(outputs: Outputs) -> dict[str, str]:
    """SHA-256 of every array's bytes."""
    return {
        name: hashlib.sha256(np.ascontiguousarray(a).tobytes()).hexdigest()
        for name, a in outputs.items()
    }


def main(dialect: str, name: str, machine: str, folder: str, size: str = "0") -> None:
    program = program_named(name)
    tuned = tuned_kernels(dialect, program, machine, Path(folder))
    outputs = program.run(launchers(dialect, tuned), int(size))
    reports = [one.report().to_dict() for one in tuned.values()]
    print(json.dumps({"hashes": hashes(outputs), "reports": reports}))


if __name__ == "__main__":
    main(*sys.argv[1:])
