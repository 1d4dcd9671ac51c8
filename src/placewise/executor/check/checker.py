"""The checker: collects the findings of checked launches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from placewise.executor.check import shadow_layout as at
from placewise.executor.check.checked import Scene
from placewise.executor.check.describe import fault_finding, findings_of
from placewise.executor.check.expected import reach
from placewise.executor.check.finding import Finding, together
from placewise.executor.check.state import LaunchState, flags_of
from placewise.executor.device_memory.address_space import Slot
from placewise.executor.device_memory.device import Device
from placewise.executor.ir.nodes import Program
from placewise.executor.runtime.worker import FaultReport

BAD_LIMIT = 100_000
"""Bad accesses of single lanes (out of bounds, misaligned, to read-only memory) after which a
launch is stopped."""


@dataclass
class Checker:
    """Finds the mistakes of the launches that are executed with ``check=`` this checker.

    A memory error does not end a launch: the access is skipped (a load gives 0), and the run goes
    on until ``bad_limit`` such accesses. A trap, a barrier that never completes, or too many
    instructions end it and become a finding; results are those up to that point.
    """

    bad_limit: int = BAD_LIMIT
    findings: list[Finding] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    """Sentences that say what was not checked, and why."""
    launches: int = 0

    @property
    def clean(self) -> bool:
        """Whether there are no findings, or only notes."""
        return not any(f.counts for f in self.findings)

    def note(self, findings: Sequence[Finding]) -> None:
        """Add the findings of a launch; one that earlier launches had too is counted there."""
        repeats = {f.mistake for f in findings}
        launches = {f.mistake: f.launches + (f.mistake in repeats) for f in self.findings}
        self.findings[:] = [
            replace(f, launches=launches.get(f.mistake, 1))
            for f in together([*self.findings, *findings])
        ]

    def sites(self, program: Program, device: Device) -> frozenset[int]:
        """Sites to check: all but loads of fully defined arrays that no thread can write.

        Accesses of recursive functions' stack frames are the executor's own, and not checked.
        """
        found = reach(program, device)
        quiet = {
            r.window
            for r in device.regions
            if r.defined is None and not (r.writable and found.may_write(r.window))
        }
        return frozenset(
            a.site
            for a in program.accesses
            if a.space != "stack"
            and (
                a.kind != "load"
                or flags_of(a)
                or not (windows := found.of_site.get(a.site))
                or not windows <= quiet
            )
        )

    def begin(self, scene: Scene) -> LaunchCheck:
        """Start a launch; the executor calls this."""
        return LaunchCheck(self, scene)


class LaunchCheck:
    """The check of one launch."""

    def __init__(self, checker: Checker, scene: Scene) -> None:
        self.checker = checker
        self.scene = scene
        self.residents = 1
        self.memory: LaunchState | None = None

    def attach(self, context: NDArray[np.int64]) -> None:
        """Make the worker with this context call the checker before every access."""
        # Imported here: it loads compiled code, and most commands check nothing.
        from placewise.executor.check.compiled import entry

        scene = self.scene
        self.residents = max(1, int(context[Slot.RESIDENT_COUNT]))
        self.memory = LaunchState(
            scene.translation.program,
            scene.device,
            scene.launch,
            self.residents,
            self.checker.bad_limit,
        )
        state = self.memory.state
        state[at.S_WINDOWS] = context[Slot.WINDOWS]
        state[at.S_STOP] = context.ctypes.data + 8 * Slot.STOP
        for slot, function in (
            (Slot.CHECK_ACCESS, entry.check_access),
            (Slot.CHECK_FAULT, entry.check_fault),
            (Slot.CHECK_SYNC, entry.check_sync),
            (Slot.CHECK_ARRIVAL, entry.check_arrival),
            (Slot.CHECK_RESUME, entry.check_resume),
        ):
            context[slot] = entry.address_of(function)
        context[Slot.CHECK_STATE] = self.memory.address
        context[Slot.CHECK_SCRATCH] = self.memory.scratch

    def end(self, fault: FaultReport | None, *, finished: bool) -> None:
        """Add the launch's findings; ``finished`` if all of its blocks ran to their end."""
        checker, memory, scene = self.checker, self.memory, self.scene
        if memory is None:
            return
        if finished:
            from placewise.executor.check.compiled.entry import leave_all

            leave_all(memory.address, self.residents)
        name = scene.kernel.name
        found = findings_of(scene, memory.rows())
        if fault is not None:
            found = (*found, fault_finding(scene, fault, memory.waiting()))
        checker.note([replace(f, kernel=name, launch=checker.launches) for f in found])
        checker.remarks.extend(f"{name}: {remark}" for remark in _remarks(memory))
        checker.launches += 1


def _remarks(memory: LaunchState) -> Iterator[str]:
    """Sentences about what was not checked in a launch."""
    state = memory.state
    if state[at.S_BAD] >= state[at.S_BAD_LIMIT]:
        yield (
            f"ended after {state[at.S_BAD]} accesses that were out of bounds, misaligned or to "
            "read-only memory"
        )
    if memory.unwatched:
        yield f"not checked for races, because too large: {', '.join(memory.unwatched)}"
    if state[at.S_NODES_FULL]:
        yield (
            "too many flags were written after fences to keep track of; from then on, races "
            "between threads that no barrier orders were not looked for"
        )
    if state[at.S_FINDINGS_LOST]:
        yield (
            f"{state[at.S_FINDINGS_LOST]} further findings were dropped: at most "
            f"{at.FINDING_ROWS} are kept"
        )
    if state[at.S_SURPRISES]:
        yield (
            f"{state[at.S_SURPRISES]} stores through pointers that could not be traced to an "
            "array; races with them were not looked for"
        )
