"""A machine code report as JSON-able data, and counts that the text report shows, too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from placewise.kernel.binary.sass.classes import group, groups
from placewise.kernel.binary.sass.control import control
from placewise.kernel.binary.sass.instruction import Instruction

if TYPE_CHECKING:
    from placewise.advisor.predictions.machine_code import CodeReport

MACHINE_CODE_SCHEMA_VERSION = 1


def machine_code_document(report: CodeReport) -> dict[str, Any]:
    """The document that ``placewise machine-code --json`` prints, with the whole listing."""
    case, facts, spills = report.case, report.code.facts, report.code.spills
    found = report.occupancy
    return {
        "schema": "placewise-machine-code",
        "schema_version": MACHINE_CODE_SCHEMA_VERSION,
        "case": {"name": case.name, "source": case.filename, "kernel": case.kernel},
        "target": {"arch": report.target.arch, "nvrtc": report.code.kernel.compiler},
        "registers": facts.registers,
        "live_registers": most_live(report),
        "static_shared_bytes": facts.static_shared_bytes,
        "dynamic_shared_bytes": case.launch.shared_bytes,
        "local_bytes": facts.stack_bytes,
        "spills": None if spills is None else asdict(spills),
        "barriers": facts.barriers,
        "code_bytes": len(facts.code),
        "occupancy": None
        if found is None or report.machine is None
        else {
            "machine": report.machine.name,
            "blocks_per_sm": found.blocks,
            "warps_per_sm": found.warps,
            "max_warps_per_sm": found.max_warps,
            "bound_by": list(found.binding),
            "blocks_allowed": dict(found.limits),
        },
        "mix": {name: {"static": n, "executed": e} for name, n, e in groups_of(report)},
        "run": None
        if report.run is None
        else {
            "warp_instructions": report.run.warp_instructions,
            "thread_instructions": report.run.thread_instructions,
            "ptx_warp_instructions": report.run.ptx_warp_instructions,
            "outputs": [asdict(check) for check in report.run.outputs],
        },
        "hints": [{"text": h.text, **asdict(h)} for h in report.hints],
        "instructions": [_instruction(report, i) for i in report.code.instructions],
        "notes": list(report.notes),
    }


def most_live(report: CodeReport) -> int | None:
    """Most general registers that hold values at the same time; None where that is not known."""
    live = report.code.live
    # At a call, nvdisasm counts all registers that the callee may use, not those that hold values.
    calls = {i.offset for i in report.code.instructions if i.parts[0] == "CALL"}
    return max((n.general for at, n in live.items() if at not in calls), default=None)


def groups_of(report: CodeReport) -> Iterator[tuple[str, int, int | None]]:
    """(group, instructions, warp executions or None), for groups that occur."""
    static = Counter(group(i.opcode) for i in report.code.instructions)
    executed: Counter[str] = Counter()
    for i in report.code.instructions:
        executed[group(i.opcode)] += executions(report, i) or 0
    for name in groups():
        if static[name]:
            yield name, static[name], executed[name] if report.run else None


def executions(report: CodeReport, i: Instruction) -> int | None:
    """How many warps executed an instruction; None where the machine code was not run."""
    if report.run is None:
        return None
    found = report.run.counts.get(i.offset)
    return found.warps if found is not None else 0


def _instruction(report: CodeReport, i: Instruction) -> dict[str, Any]:
    live = report.code.live.get(i.offset)
    return {
        "offset": i.offset,
        "text": report.code.text[i.offset],
        "group": group(i.opcode),
        "file": None if i.place is None else i.place[0],
        "line": None if i.place is None else i.place[1],
        "control": asdict(control(i.encoding)),
        "live_registers": None if live is None else live._asdict(),
        "executions": executions(report, i),
    }
