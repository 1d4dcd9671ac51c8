"""Gives every input to a process and judges what becomes of it."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import IO, Any

from benchmarks.fuzz.array_files import array_input
from benchmarks.fuzz.case_files import COMMANDS, case_input
from benchmarks.fuzz.cuda_sources import cuda_input
from benchmarks.fuzz.draft_sources import draft_input
from benchmarks.fuzz.examples import KERNEL, SMALL_CASE, toml
from benchmarks.fuzz.hostile_input import KINDS, SHARES, HostileInput
from benchmarks.fuzz.judge import GOOD, Verdict, judge
from benchmarks.fuzz.machine_files import machine_input
from benchmarks.fuzz.measured_files import measured_input
from benchmarks.fuzz.mutate import mutate_bytes
from benchmarks.fuzz.ptx_sources import ptx_input
from benchmarks.fuzz.surroundings import surroundings_input

GENERATORS: dict[str, Callable[[Random], HostileInput]] = {
    "case": case_input,
    "array": array_input,
    "cuda": cuda_input,
    "draft": draft_input,
    "ptx": ptx_input,
    "machine": machine_input,
    "measured": measured_input,
    "surroundings": surroundings_input,
}
LIMIT_S = 60.0
_WARM_UP_S = 600.0
_DAMAGED = 12
"""Files of a cache of which the fuzzer damages each with this many chances in 24."""
_NOWHERE = "/proc/nowhere"
"""A folder that nobody can create, not even root."""


def schedule(count: int, kinds: Iterable[str]) -> list[tuple[str, int]]:
    """(kind, number) of ``count`` inputs, spread over ``kinds`` by their shares."""
    chosen = [kind for kind in KINDS if kind in set(kinds)]
    whole = sum(SHARES[kind] for kind in chosen)
    edges = [0.0]
    for kind in chosen:
        edges.append(edges[-1] + count * SHARES[kind] / whole)
    return [
        (kind, number)
        for kind, low, high in zip(chosen, edges[:-1], edges[1:], strict=True)
        for number in range(round(high) - round(low))
    ]


def made(seed: int, kind: str, number: int) -> HostileInput:
    """The input of that seed, kind and number; always the same."""
    return GENERATORS[kind](Random(f"{seed}/{kind}/{number}"))


class Player:
    """Runs inputs on ``jobs`` servers; keeps the folders of those that end badly in ``keep``."""

    def __init__(self, seed: int, jobs: int, cache: Path, keep: Path | None) -> None:
        self._seed = seed
        self._jobs = jobs
        self._cache = cache
        self._keep = keep
        self._servers: queue.SimpleQueue[subprocess.Popen[str]] = queue.SimpleQueue()

    def play(
        self, inputs: Iterable[tuple[str, int]]
    ) -> Iterator[tuple[str, int, HostileInput, Verdict]]:
        """Each input with its verdict, in the order in which they are done."""
        self._cache.mkdir(parents=True, exist_ok=True)
        for _ in range(self._jobs):
            self._servers.put(self._server())
        try:
            self._warm_up()
            with ThreadPoolExecutor(self._jobs) as pool:
                yield from pool.map(self._one, inputs)
        finally:
            while not self._servers.empty():
                server = self._servers.get()
                _pipe(server.stdin).close()
                server.wait()

    def _warm_up(self) -> None:
        """Run every command once: what is compiled the first time is no input's hang."""
        for first, *options in COMMANDS:
            with tempfile.TemporaryDirectory(prefix="fuzz-") as name:
                folder = Path(name)
                (folder / "work").mkdir()
                (folder / "work" / "kernel.cu").write_text(KERNEL)
                (folder / "work" / "case.toml").write_text(toml(SMALL_CASE))
                command = (first, "case.toml", *options)
                job = self._job(HostileInput("case", "", command, {}), folder, Random(0))
                (end,) = self._ask({**job, "limit_s": _WARM_UP_S})
                if end["status"]:
                    told = (folder / "stderr0").read_text()
                    raise RuntimeError(f"{' '.join(command)} fails without any damage: {told}")

    def _server(self) -> subprocess.Popen[str]:
        environment = {
            **os.environ,
            "XDG_CACHE_HOME": str(self._cache),
            "OPENBLAS_NUM_THREADS": "1",
            "COLUMNS": "120",
        }
        return subprocess.Popen(
            [sys.executable, "-m", "benchmarks.fuzz.server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def _one(self, which: tuple[str, int]) -> tuple[str, int, HostileInput, Verdict]:
        kind, number = which
        hostile = made(self._seed, kind, number)
        with tempfile.TemporaryDirectory(prefix="fuzz-", ignore_cleanup_errors=True) as name:
            folder = Path(name)
            for path, data in hostile.files.items():
                target = folder / "work" / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(data)
            ends = self._ask(self._job(hostile, folder, Random(f"{self._seed}/{which}")))
            verdicts = [judge(hostile, end, folder, n) for n, end in enumerate(ends)]
            worst = max(verdicts, key=lambda verdict: verdict.outcome not in GOOD)
            if self._keep is not None and worst.outcome not in GOOD:
                self._keep_folder(hostile, folder, f"{worst.outcome}-{kind}-{number}")
        return kind, number, hostile, worst

    def _job(self, hostile: HostileInput, folder: Path, rng: Random) -> dict[str, Any]:
        around = hostile.surroundings
        environment = dict(around.environment)
        if around.cache == "damaged":
            environment["XDG_CACHE_HOME"] = str(folder / "cache")
            # Others keep it small meanwhile: a file may go while it is copied.
            with contextlib.suppress(shutil.Error):
                shutil.copytree(self._cache, folder / "cache")
            for path in sorted((folder / "cache").rglob("*")):
                if path.is_file() and rng.randrange(24) < _DAMAGED:
                    path.write_bytes(mutate_bytes(rng, path.read_bytes()))
        elif around.cache == "read-only":
            environment["XDG_CACHE_HOME"] = _NOWHERE
        return {
            "command": hostile.command,
            "folder": str(folder),
            "fresh": around.fresh,
            "environment": environment,
            "stdout": around.stdout,
            "delete_folder": around.delete_folder,
            "interrupt_s": around.interrupt_s,
            "whole_group": around.whole_group,
            "copies": 2 if around.cache == "twice" else 1,
            "limit_s": LIMIT_S,
        }

    def _ask(self, job: dict[str, Any]) -> list[dict[str, Any]]:
        server = self._servers.get()
        try:
            stdin, stdout = _pipe(server.stdin), _pipe(server.stdout)
            stdin.write(json.dumps(job) + "\n")
            stdin.flush()
            answer: list[dict[str, Any]] = json.loads(stdout.readline())
            return answer
        finally:
            self._servers.put(server)

    def _keep_folder(self, hostile: HostileInput, folder: Path, name: str) -> None:
        assert self._keep is not None
        target = self._keep / name.replace(" ", "-")
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(folder, target, ignore=shutil.ignore_patterns("cache"))
        text = f"{hostile.what}\n{' '.join(map(repr, hostile.command))}\n{hostile.surroundings}\n"
        (target / "what.txt").write_text(text, errors="backslashreplace")


def _pipe(stream: IO[str] | None) -> IO[str]:
    assert stream is not None
    return stream
