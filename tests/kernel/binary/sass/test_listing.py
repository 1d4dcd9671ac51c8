"""The parts of a listing put together: instructions, encodings, places."""

import json

import pytest

from placewise.errors import CompileError, UnsupportedError
from placewise.kernel.binary.cubin import read_cubin
from placewise.kernel.binary.line_table import source_places
from placewise.kernel.binary.sass import Register, read_listing
from placewise.kernel.cases.case import CompileOptions
from placewise.kernel.frontends.nvrtc import compile_kernel
from placewise.kernel.toolchain import disassemble

PLACES = {16: ("a.cu", 7)}

TRIPLE = """extern "C" __global__ void k(float* a, int n) {
    if (threadIdx.x < n)
        a[threadIdx.x] *= 3.0f;
}
"""


def document(*instructions):
    return json.dumps([{}, [{"function-name": "k", "sass-instructions": list(instructions)}]])


def test_encodings_predicates_and_places():
    code = bytes(range(32))
    mov = {"opcode": "MOV", "operands": "R1,0x5"}
    leave = {"predicate": "@!P0", "opcode": "EXIT"}
    first, second = read_listing("k", code, document(mov, leave), PLACES).instructions
    assert first.encoding == int.from_bytes(code[:16], "little")
    assert first.word == int.from_bytes(code[4:8], "little")
    assert (first.place, second.place) == (None, ("a.cu", 7))
    assert second.guard == Register("P", 0, inverted=True)
    assert second.offset == 16


def test_parts_that_do_not_fit_together_are_refused():
    with pytest.raises(CompileError, match="has 1 instructions"):
        read_listing("k", bytes(32), document({"opcode": "NOP"}), PLACES)
    with pytest.raises(CompileError, match="no kernel 'j'"):
        read_listing("j", bytes(16), document({"opcode": "NOP"}), PLACES)


def test_an_unknown_operand_is_named_with_its_place():
    strange = {"opcode": "FOO", "operands": "R1,cx[UR4][0x0]"}
    with pytest.raises(UnsupportedError) as error:
        read_listing("k", bytes(32), document({"opcode": "NOP"}, strange), PLACES)
    assert error.value.where == "a.cu:7"
    assert "FOO" in error.value.message
    assert "cx[UR4][0x0]" in error.value.message


@pytest.mark.parametrize("arch", ["sm_75", "sm_90"])
def test_a_real_kernel(arch):
    kernel = compile_kernel(TRIPLE, "a.cu", "k", CompileOptions(arch=arch))
    assert kernel.cubin is not None
    facts = read_cubin(kernel.cubin, "k")
    text = disassemble(kernel.cubin, ("-c", "-json"))
    listing = read_listing("k", facts.code, text, source_places(kernel.cubin, "k"))
    assert tuple(i.offset for i in listing.instructions if i.parts[0] == "EXIT") == facts.exits
    (product,) = (i for i in listing.instructions if i.parts[0] == "FMUL")
    assert product.word == 0x40400000
    assert product.place is not None
    assert product.place[1] == 3
