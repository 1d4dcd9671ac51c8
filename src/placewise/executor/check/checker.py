"""A checked run: shadow memory beside the kernel, and what it finds."""

from __future__ import annotations

from collections.abc import Sequence
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
"""Accesses of single lanes that are left out (out of bounds, misaligned, to read-only memory) until
a launch is ended."""


@dataclass
class Checker:
    """Finds the mistakes of the launches that it is passed to, as ``check=``.

    Memory errors do not end a launch: the access is left out (a load gives 0), and the run goes on
    until ``bad_limit`` of them. What does end it (a trap, a barrier that never completes, too many
    instructions) becomes a finding, too; results of such a launch are those until then.
    """

    bad_limit: int = BAD_LIMIT
    findings: list[Finding] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    """What was not checked, and why."""
    launches: int = 0

    @property
    def clean(self) -> bool:
        """No finding but notes."""
        return not any(f.counts for f in self.findings)

    def note(self, findings: Sequence[Finding]) -> None:
        """Add the findings of a launch; what earlier launches had, too, stays one finding."""
        repeats = {f.mistake for f in findings}
        launches = {f.mistake: f.launches + (f.mistake in repeats) for f in self.findings}
        self.findings[:] = [
            replace(f, launches=launches.get(f.mistake, 1))
            for f in together([*self.findings, *findings])
        ]

    def sites(self, program: Program, device: Device) -> frozenset[int]:
        """All but loads of arrays that no thread can write and that have values everywhere.

        The frames of functions that call themselves are the executor's own.
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
    """One launch under the checker."""

    def __init__(self, checker: Checker, scene: Scene) -> None:
        self.checker = checker
        self.scene = scene
        self.residents = 1
        self.memory: LaunchState | None = None

    def attach(self, context: NDArray[np.int64]) -> None:
        """Have the worker with this context ask the checker."""
        # Here, as machine code is loaded with it, and most commands check nothing.
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
        """Add the launch's findings; ``finished`` where all of its blocks ran to their end."""
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
        state = memory.state
        if state[at.S_BAD] >= state[at.S_BAD_LIMIT]:
            checker.remarks.append(
                f"{name}: ended after {state[at.S_BAD]} accesses out of bounds, misaligned or to "
                "read-only memory"
            )
        if memory.unwatched:
            names = ", ".join(memory.unwatched)
            checker.remarks.append(f"{name}: races were not looked for in {names}: too large")
        if state[at.S_NODES_FULL]:
            checker.remarks.append(
                f"{name}: more fences with flags than can be followed; races between threads "
                "that no barrier orders were not looked for from there on"
            )
        if state[at.S_FINDINGS_LOST]:
            checker.remarks.append(
                f"{name}: {state[at.S_FINDINGS_LOST]} further findings at more places than "
                f"the {at.FINDING_ROWS} that are kept"
            )
        if state[at.S_SURPRISES]:
            checker.remarks.append(
                f"{name}: {state[at.S_SURPRISES]} stores through pointers that were not foreseen; "
                "races with them were not looked for"
            )
        checker.launches += 1
