"""The studio's runs and their results. Each run is in a process of its own, which can be killed."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import signal
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

MOST_LINE = 64 << 20
"""Most bytes of one event, such as a whole page."""
KEPT = 20
"""Number of finished runs whose results are kept."""


@dataclass
class Run:
    """One run. ``events`` grows until ``over``."""

    process: asyncio.subprocess.Process
    events: list[dict[str, Any]] = field(default_factory=list)
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)
    over: bool = False
    ended_by: str = ""
    """Why it was stopped early: ``cancelled`` or ``time``; empty where it was not."""

    @property
    def page(self) -> dict[str, Any] | None:
        """The page of the result; None before the run's end and after an error."""
        last = self.events[-1] if self.events else {}
        found: dict[str, Any] | None = last.get("page")
        return found

    def kill(self, why: str) -> None:
        """Kill the process and all processes that it started."""
        if not self.over:
            self.ended_by = self.ended_by or why
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)

    async def add(self, event: dict[str, Any], *, over: bool = False) -> None:
        """Add an event and wake all listeners."""
        async with self.changed:
            self.events.append(event)
            self.over = self.over or over
            self.changed.notify_all()

    def _has_told(self, at: int) -> bool:
        """Whether there are more than ``at`` events, or the run is over."""
        return self.over or len(self.events) > at

    async def listen(self) -> AsyncIterator[dict[str, Any]]:
        """All events, from the first one until the run is over."""
        at = 0
        while True:
            async with self.changed:
                await self.changed.wait_for(partial(self._has_told, at))
                new, over = self.events[at:], self.over
            for event in new:
                yield event
            at += len(new)
            if over and at == len(self.events):
                return


class Runs:
    """All runs of a studio: at most ``most`` at a time, each for at most ``seconds``."""

    def __init__(self, *, most: int, seconds: float) -> None:
        self.most = most
        self.seconds = seconds
        self._runs: dict[str, Run] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def __getitem__(self, name: str) -> Run:
        """A run by its name; raises KeyError."""
        return self._runs[name]

    @property
    def under_way(self) -> int:
        """Number of runs that are not over."""
        return sum(not run.over for run in self._runs.values())

    async def start(self, request: bytes) -> str:
        """Start a run and return its name. Raises BlockingIOError if the most runs are under way
        already."""
        if self.under_way >= self.most:
            raise BlockingIOError
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "placewise.studio.worker",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
            limit=MOST_LINE,
        )  # fmt: skip
        name, run = secrets.token_hex(8), Run(process)
        over = [n for n, r in self._runs.items() if r.over]
        for old in over[: max(0, len(over) - KEPT)]:
            del self._runs[old]
        self._runs[name] = run
        task = asyncio.create_task(self._follow(run, request))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return name

    async def _follow(self, run: Run, request: bytes) -> None:
        """Pass on the process's events until it has ended or its time is over."""
        try:
            async with asyncio.timeout(self.seconds):
                await self._pass_on(run, request)
        except TimeoutError:
            run.kill("time")
        except Exception as error:
            # Whatever went wrong, the browser must be told that the run is over.
            run.kill("")
            await run.add(_failed(f"the run was lost: {error}"), over=True)
        await run.process.wait()
        if not run.over:
            await run.add(self._end(run), over=True)

    async def _pass_on(self, run: Run, request: bytes) -> None:
        assert run.process.stdin is not None, "opened as pipes"
        assert run.process.stdout is not None, "opened as pipes"
        with contextlib.suppress(ConnectionError):
            run.process.stdin.write(request)
            await run.process.stdin.drain()
        run.process.stdin.close()
        async for line in run.process.stdout:
            event = json.loads(line)
            await run.add(event, over=event["event"] in ("done", "failed"))

    def _end(self, run: Run) -> dict[str, Any]:
        match run.ended_by:
            case "cancelled":
                return {"event": "cancelled"}
            case "time":
                return _failed(f"stopped after {self.seconds:g} s, the longest that a run may take")
            case _:
                return _failed("the run ended without an answer; perhaps it ran out of memory")

    def close(self) -> None:
        """End all runs."""
        for run in self._runs.values():
            run.kill("cancelled")


def _failed(message: str) -> dict[str, Any]:
    return {"event": "failed", "message": message, "where": None, "hint": None}
