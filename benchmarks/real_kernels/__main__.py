"""Run real kernels of three suites and compare with references computed in NumPy and SciPy.

``python -m benchmarks.real_kernels --suites FOLDER``; the folder holds checkouts named as in
``registry.SUITES``. Without them it says so and judges the table that an earlier run has left.
"""

from __future__ import annotations

import typer

from benchmarks.real_kernels.command import main

if __name__ == "__main__":
    typer.run(main)
