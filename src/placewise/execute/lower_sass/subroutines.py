"""Subroutines: where they start, and where they return to.

A subroutine gets a copy of its own at each call, since lanes that parted before different calls
must not meet inside; a copy is named by the calls that lead to it. The register that a return goes
by holds what the caller put into it: the compiler loads a literal right before the call.
"""

from __future__ import annotations

from placewise.kernel.cubin import CubinKernel
from placewise.kernel.sass import INSTRUCTION_BYTES, Immediate, Instruction, Name, Operand

Calls = tuple[int, ...]
"""Offsets of the call instructions that lead to a copy, outermost first."""

MAY_END = frozenset({"BRA", "BRX", "JMP", "CALL", "RET", "EXIT", "BPT", "KILL", "BAR", "JMX"})
"""Instructions after which a block starts."""


class Subroutines:
    """What is called in a kernel's section, and from where."""

    def __init__(self, facts: CubinKernel, code: tuple[Instruction, ...]) -> None:
        self.code = code
        self.functions = {f.name: f for f in facts.functions}
        self.starts = frozenset({0} | {f.offset for f in facts.functions})

    def start_of(self, callee: Operand) -> int | None:
        """Where a callee starts; None where it is none of this section."""
        if isinstance(callee, Name):
            found = self.functions.get(callee.text)
            return found.offset if found is not None else None
        if isinstance(callee, Immediate) and isinstance(callee.value, int):
            return callee.value
        return None

    def return_address(self, i: Instruction) -> int:
        """Where a call returns to: what was put last into a register that the callee returns by."""
        after = i.offset + INSTRUCTION_BYTES
        registers = self._return_registers(i.operands[0])
        for at in range(i.offset - INSTRUCTION_BYTES, -1, -INSTRUCTION_BYTES):
            earlier = self.code[at // INSTRUCTION_BYTES]
            if earlier.parts[0] in MAY_END:
                break
            if earlier.operands and earlier.operands[0] in registers:
                value = earlier.operands[-1]
                if isinstance(value, Immediate) and isinstance(value.value, int):
                    return value.value
                break
        return after

    def _return_registers(self, callee: Operand) -> set[Operand]:
        """Registers that the returns of a subroutine go by."""
        start = self.start_of(callee)
        function = next((f for f in self.functions.values() if f.offset == start), None)
        if function is None:
            return set()
        last = function.offset + function.size
        return {
            i.operands[0]
            for i in self.code
            if i.parts[0] == "RET" and function.offset <= i.offset < last
        }
