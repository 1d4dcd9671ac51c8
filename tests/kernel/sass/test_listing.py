"""The parts of a listing put together: instructions, encodings, places."""

import json

import pytest

from placewise.errors import CompileError, UnsupportedError
from placewise.kernel.case import CompileOptions
from placewise.kernel.cubin import read_cubin
from placewise.kernel.nvrtc import compile_kernel
from placewise.kernel.sass import Register, read_listing
from placewise.kernel.toolchain import disassemble

LINES = """\
\t.section\t.text.other,"ax",@progbits
\t//## File "b.cu", line 9
        /*0000*/                   EXIT ;
\t.section\t.text.k,"ax",@progbits
        /*0000*/                   MOV R1, 0x5 ;
\t//## File "a.cu", line 3 inlined at "a.cu", line 7
\t//## File "a.cu", line 7
        /*0010*/              @!P0 EXIT ;
"""


TRIPLE = """extern "C" __global__ void k(float* a, int n) {
    if (threadIdx.x < n)
        a[threadIdx.x] *= 3.0f;
}
"""


def document(*instructions):
    return json.dumps([{}, [{"function-name": "k", "sass-instructions": list(instructions)}]])


def test_encodings_predicates_and_outermost_places():
    code = bytes(range(32))
    mov = {"opcode": "MOV", "operands": "R1,0x5"}
    leave = {"predicate": "@!P0", "opcode": "EXIT"}
    first, second = read_listing("k", code, document(mov, leave), LINES).instructions
    assert first.encoding == int.from_bytes(code[:16], "little")
    assert first.word == int.from_bytes(code[4:8], "little")
    assert (first.place, second.place) == (None, ("a.cu", 7))
    assert second.guard == Register("P", 0, inverted=True)
    assert second.offset == 16


def test_parts_that_do_not_fit_together_are_refused():
    with pytest.raises(CompileError, match="has 1 instructions"):
        read_listing("k", bytes(32), document({"opcode": "NOP"}), LINES)
    with pytest.raises(CompileError, match="no kernel 'j'"):
        read_listing("j", bytes(16), document({"opcode": "NOP"}), LINES)


def test_an_unknown_operand_is_named_with_its_place():
    strange = {"opcode": "FOO", "operands": "R1,cx[UR4][0x0]"}
    with pytest.raises(UnsupportedError) as error:
        read_listing("k", bytes(32), document({"opcode": "NOP"}, strange), LINES)
    assert error.value.where == "a.cu:7"
    assert "FOO" in error.value.message
    assert "cx[UR4][0x0]" in error.value.message


@pytest.mark.parametrize("arch", ["sm_75", "sm_90"])
def test_a_real_kernel(arch):
    kernel = compile_kernel(TRIPLE, "a.cu", "k", CompileOptions(arch=arch))
    assert kernel.cubin is not None
    facts = read_cubin(kernel.cubin, "k")
    texts = [disassemble(kernel.cubin, flags) for flags in (("-c", "-json"), ("-c", "-gi"))]
    listing = read_listing("k", facts.code, *texts)
    assert tuple(i.offset for i in listing.instructions if i.parts[0] == "EXIT") == facts.exits
    (product,) = (i for i in listing.instructions if i.parts[0] == "FMUL")
    assert product.word == 0x40400000
    assert product.place is not None
    assert product.place[1] == 3
