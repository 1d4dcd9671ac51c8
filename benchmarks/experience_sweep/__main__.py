"""``make bench-experience_sweep``: a sweep of 2,000 predictions, killed twice and resumed.

The command runs in a process of its own, which SIGKILL ends when a third and two thirds of the
results are stored. What counts is the store: rows that are missing, rows that were recorded twice,
and rows that differ from those of a sweep of a part of the tasks that nothing disturbed. Then two
workers of a Dask cluster make a smaller table, which is compared with that of local processes.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.results import Figure, report
from placewise.sweep.store import times_recorded

CASE = """schema = 1
name = "taps"
kernel = "taps"
code = '''
extern "C" __global__ void taps(const float *x, float *y, int n) {
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n) y[i] = 0.5f * x[i] + 0.25f * x[i > 0 ? i - 1 : 0];
}
'''
parameters.BLOCK = 64
sizes.n = 4096

[launch]
problem = ["n"]
block = ["BLOCK"]

[[arguments]]
name = "x"
dtype = "float32"
shape = ["n"]
uniform = { seed = 1 }

[[arguments]]
name = "y"
dtype = "float32"
shape = ["n"]
fill = 0

[[arguments]]
name = "n"
dtype = "int32"
value = "n"
"""
MACHINES = ("A100", "H100", "A4000", "T4")
BLOCKS = (64, 128, 256, 512)
POLL_S = 0.5


def _plan(folder: Path, name: str, sizes: int) -> list[str]:
    """Command line of a sweep over so many sizes."""
    numbers = ", ".join(str(1024 * (n + 1)) for n in range(sizes))
    text = (
        f"schema = 1\nmachines = {json.dumps(MACHINES)}\n[[kernels]]\ncase = 'taps.toml'\n"
        f"sizes.n = [{numbers}]\nparameters.BLOCK = {list(BLOCKS)}\n"
    )
    (folder / f"{name}.toml").write_text(text)
    file = str(folder / f"{name}.toml")
    return [sys.executable, "-m", "placewise", "sweep", "--plan", file, "--json", "-q"]


def _killed(command: list[str], store: Path, rows: int) -> float:
    """Run the sweep until so many rows are stored, then kill it; seconds that it ran."""
    start = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None and _stored(store) < rows:
            time.sleep(POLL_S)
        process.send_signal(signal.SIGKILL)
        if process.wait() != -signal.SIGKILL:
            raise SystemExit("the sweep was done before it could be killed")
    return time.monotonic() - start


def _stored(store: Path) -> int:
    return len(times_recorded(store)) if (store / "results.sqlite").exists() else 0


def _document(command: list[str]) -> dict[str, Any]:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _times(document: dict[str, Any]) -> dict[str, Any]:
    return {row["key"]: (row["milliseconds"], row["range_ms"]) for row in document["rows"]}


def _by_dask(command: list[str], folder: Path) -> dict[str, Any]:
    from dask.distributed import LocalCluster

    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        out = ["--out", str(folder / "dask"), "--dask", cluster.scheduler_address]
        return _document([*command, *out])


def main() -> None:
    """Run the benchmark; exit status 1 where a figure does not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, default=125, help="times 16: the predictions made")
    parser.add_argument("--dask-sizes", type=int, default=4, help="times 16: those of the cluster")
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "taps.toml").write_text(CASE)
        store, workers = folder / "store", ["--workers", str(chosen.workers)]
        command = [*_plan(folder, "whole", chosen.sizes), "--out", str(store), *workers]
        wanted = chosen.sizes * len(MACHINES) * len(BLOCKS)
        seconds = [_killed(command, store, wanted * part // 3) for part in (1, 2)]
        before = _stored(store)
        start = time.monotonic()
        final = _document(command)
        seconds.append(time.monotonic() - start)
        recorded = times_recorded(store)
        small = _plan(folder, "small", chosen.dask_sizes)
        here = _document([*small, "--out", str(folder / "here"), *workers])
        there = _by_dask(small, folder)
    whole, calm, by_dask = _times(final), _times(here), _times(there)
    changed = sum(by_dask.get(key) != value for key, value in calm.items())
    figures = [
        Figure("predictions of the sweep", len(whole), "rows", f"{wanted}", len(whole) == wanted),
        Figure("failed", final["failed"], "rows", "0", final["failed"] == 0),
        Figure(
            "stored at the second kill and made again", before + final["computed"] - wanted, "rows",
            "0", before + final["computed"] == wanted,
        ),
        Figure("recorded more than once", sum(n > 1 for n in recorded.values()), "rows", "0",
               set(recorded.values()) == {1}),
        Figure("other than undisturbed", sum(whole[k] != v for k, v in calm.items()), "rows", "0",
               all(whole[k] == v for k, v in calm.items())),
        Figure("two Dask workers: other than here", changed, f"of {len(calm)} rows",
               "0", by_dask == calm),
        Figure("time of the whole, kills included", sum(seconds), "s", "", True),
        Figure("each prediction, one process", _mean_seconds(final), "s", "", True),
    ]  # fmt: skip
    raise SystemExit(not report("experience_sweep", figures))


def _mean_seconds(document: dict[str, Any]) -> float:
    """Mean time of a prediction."""
    return float(sum(row["seconds"] for row in document["rows"]) / len(document["rows"]))


if __name__ == "__main__":
    main()
