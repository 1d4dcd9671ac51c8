"""Where calls of machine code return to."""

from types import SimpleNamespace

import pytest

from placewise.executor.lower_sass.control.subroutines import Subroutines
from placewise.kernel.binary.cubin import Function
from placewise.kernel.binary.sass import Instruction
from placewise.kernel.binary.sass.operands import parse_operand, split_operands


def _instruction(n, text):
    opcode, _, rest = text.partition(" ")
    operands = tuple(parse_operand(o) for o in split_operands(rest)) if rest else ()
    return Instruction(opcode, tuple(opcode.split(".")), operands, None, 16 * n, 0, None)


@pytest.mark.parametrize(
    ("before", "end", "goes_to"),
    [
        # The compiler's division: its return goes by a register that holds an argument before.
        (["IMAD.MOV.U32 R14, RZ, RZ, -0x40800000", "MOV R8, 0x50"],
         ["IMAD.MOV.U32 R14, RZ, RZ, R8", "RET.REL.NODEC R14, 0x0"], 0x50),
        (["MOV R14, 0x10", "MOV R8, 0x50"],
         ["MOV R14, R8", "IMAD.MOV.U32 R15, RZ, RZ, 0x0", "RET.REL.NODEC R14, 0x0"], 0x50),
        (["MOV R8, 0x50", "MOV R14, 0x10"], ["NOP", "RET.REL.NODEC R8, 0x0"], 0x50),
        # Nothing was put there: to the next instruction.
        (["MOV R9, 0x50", "NOP"], ["NOP", "RET.REL.NODEC R8, 0x0"], 0x40),
        (["IADD3 R8, R8, 0x50, RZ", "MOV R8, R9"], ["NOP", "RET.REL.NODEC R8, 0x0"], 0x40),
    ],
)  # fmt: skip
def test_a_call_returns_to_what_its_caller_put_down(before, end, goes_to):
    texts = ["NOP", *before, "CALL.REL.NOINC 0x60", "NOP", "EXIT", "FADD R14, R14, R14", *end]
    code = tuple(_instruction(n, text) for n, text in enumerate(texts))
    facts = SimpleNamespace(entry="f", functions=(Function("divide", 0x60, 16 * (len(end) + 1)),))
    subroutines = Subroutines(facts, code, {})
    assert subroutines.return_address(code[3], subroutines.return_registers(0x60)) == goes_to
    returns_by = subroutines.return_register(code[-1])
    assert subroutines.return_address(code[3], {returns_by}) == goes_to
