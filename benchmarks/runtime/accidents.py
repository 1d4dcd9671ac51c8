"""What may happen to a tuned program: results stay right, or one clear error is raised.

Each function returns how many outcomes were wrong, of how many.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np

from benchmarks.runtime.once import hashes, launchers, plain_outputs, program_named, tuned_kernels
from placewise.errors import ExecutionError

PROGRAM, MACHINE = "k-means", "A100"
KILLED_AFTER_S = (1.0, 3.0, 5.0, 8.0, 12.0)
"""Seconds after its start at which a process is killed, give or take half a second: while modules
load, while kernels compile, are profiled, searched for and compared."""


def changed_shapes(dialect: str, folder: Path) -> tuple[int, int]:
    """The same tuned kernels on two sizes in turn."""
    program = program_named(PROGRAM)
    launch = launchers(dialect, tuned_kernels(dialect, program, MACHINE, folder))
    truth = {size: hashes(plain_outputs(dialect, program, size)) for size in (0, 1)}
    sizes = (1, 0, 1, 0)
    return sum(hashes(program.run(launch, size)) != truth[size] for size in sizes), len(sizes)


def exception(dialect: str, folder: Path) -> tuple[int, int]:
    """An index out of bounds at the first launch and at a later one, and launches after them."""
    program = program_named("conjugate gradients")
    spmv = launchers(dialect, tuned_kernels(dialect, program, MACHINE, folder))["spmv"]
    n = 512
    row, x = np.arange(n + 1, dtype=np.int32), np.arange(n, dtype=np.float32)
    value, y = np.full(n, 2, np.float32), np.zeros(n, np.float32)
    wrong = 0
    for launch in range(6):
        column = np.arange(n, dtype=np.int32)
        is_bad = launch in (0, 3)
        if is_bad:
            column[100] = 1 << 28
        y[:] = -1
        try:
            spmv((4,), (128,), row, column, value, x, y, np.int32(n))
            wrong += is_bad or not np.array_equal(y, 2 * x)
        except ExecutionError as error:
            wrong += not is_bad or "out of bounds" not in str(error) or bool((y != -1).any())
    return wrong, 6


def two_threads(dialect: str, folder: Path) -> tuple[int, int]:
    """Two threads run the program with the same tuned kernels, sizes crossing."""
    program = program_named(PROGRAM)
    launch = launchers(dialect, tuned_kernels(dialect, program, MACHINE, folder))
    truth = {size: hashes(plain_outputs(dialect, program, size)) for size in (0, 1)}
    right: list[bool] = []

    def work(sizes: tuple[int, ...]) -> None:
        right.extend(hashes(program.run(launch, size)) == truth[size] for size in sizes)

    threads = [threading.Thread(target=work, args=(sizes,)) for sizes in ((0, 1, 0), (1, 0, 0))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return 6 - sum(right), 6


def read_only_folder(dialect: str, folder: Path) -> tuple[int, int]:
    """A cache folder that may not be written, and one that cannot exist."""
    program = program_named(PROGRAM)
    truth = hashes(plain_outputs(dialect, program, 1))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "file").write_text("")
    closed = folder / "closed"
    closed.mkdir()
    closed.chmod(0o500)
    wrong = 0
    for place in (closed, folder / "file" / "below"):
        launch = launchers(dialect, tuned_kernels(dialect, program, MACHINE, place))
        wrong += hashes(program.run(launch, 1)) != truth
    closed.chmod(0o700)
    return wrong, 2


def killed(dialect: str, folder: Path) -> tuple[int, int]:
    """Processes that are killed one after another, all with one cache folder; then one that ends,
    and one that finds what it left."""
    program = program_named(PROGRAM)
    truth = hashes(plain_outputs(dialect, program, 1))
    command = [sys.executable, "-m", "benchmarks.runtime.once", dialect, PROGRAM, MACHINE]
    chance = random.Random(3)
    for seconds in KILLED_AFTER_S:
        with subprocess.Popen(
            [*command, str(folder), "1"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as process:
            time.sleep(seconds + chance.uniform(-0.5, 0.5))
            process.send_signal(signal.SIGKILL)
    wrong = 0
    for _ in range(2):
        launch = launchers(dialect, tuned_kernels(dialect, program, MACHINE, folder))
        wrong += hashes(program.run(launch, 1)) != truth
    return wrong, 2


ACCIDENTS = {
    "changed shapes": changed_shapes,
    "an exception in the kernel": exception,
    "two threads": two_threads,
    "a read-only cache folder": read_only_folder,
    "killed processes": killed,
}
