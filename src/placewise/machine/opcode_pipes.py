"""Which pipe runs an instruction, and at what pace."""

from __future__ import annotations

from functools import lru_cache

from placewise.machine.machine import InstructionTiming, Machine, Pipe


def pipes_of(machine: Machine, opcode: str) -> tuple[Pipe, ...]:
    """Pipes that run ``opcode``, such as ``LDS.U.128``; empty where the machine names none.

    A pipe's opcode stands for all instructions of that name that have its modifiers. Where pipes
    list the same name with different modifiers, those with most modifiers of ``opcode`` are meant.
    """
    return _pipes_of(machine.pipes, opcode)


# Every form of a kernel asks for the same few opcodes.
@lru_cache(maxsize=4096)
def _pipes_of(pipes: tuple[Pipe, ...], opcode: str) -> tuple[Pipe, ...]:
    best = 0
    found: list[Pipe] = []
    for pipe in pipes:
        fit = max((_fit(listed, opcode) for listed in pipe.executes), default=0)
        if fit > best:
            best, found = fit, []
        if fit and fit == best:
            found.append(pipe)
    return tuple(found)


def timing_of(machine: Machine, opcode: str) -> InstructionTiming | None:
    """The ``instruction`` entry with most modifiers of ``opcode``, or None."""
    return _timing_of(machine.instructions, opcode)


@lru_cache(maxsize=4096)
def _timing_of(known: tuple[InstructionTiming, ...], opcode: str) -> InstructionTiming | None:
    fits = [(_fit(timing.opcode, opcode), timing) for timing in known]
    best = max(fits, key=lambda fit: fit[0], default=(0, None))
    return best[1] if best[0] else None


def _fit(listed: str, opcode: str) -> int:
    """0 where ``opcode`` is something else; more, the more modifiers they share."""
    name, modifiers = _parts(listed)
    own, others = _parts(opcode)
    return len(modifiers) + 1 if name == own and modifiers <= others else 0


@lru_cache(maxsize=4096)
def _parts(opcode: str) -> tuple[str, frozenset[str]]:
    """Name and modifiers of an opcode: LDS, {U, 128}."""
    name, *modifiers = opcode.split(".")
    return name, frozenset(modifiers)
