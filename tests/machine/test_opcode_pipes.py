"""Every opcode whose execution is known has a pipe to be timed on."""

import pytest

from placewise.executor.lower_sass.table import OPCODES
from placewise.machine import load_machine
from placewise.machine.opcode_pipes import pipes_of

SINCE_HOPPER = {
    *("VIMNMX3", "VIADDMNMX", "UVIADD", "UVIMNMX", "UVIMNMX3", "UVIADDMNMX"),
    *("UVABSDIFF", "UVABSDIFF4"),
}
SINCE_BLACKWELL = {
    *("LDCU", "CREDUX", "UIADD", "UFADD", "UFMUL", "UFFMA", "UFSETP", "UFSET", "UFSEL", "UFMNMX"),
    *("UFRND", "UI2F", "UI2FP", "UF2I", "UF2F", "UF2FP"),
}


@pytest.mark.parametrize(
    ("name", "newer"),
    [
        ("T4", SINCE_HOPPER | SINCE_BLACKWELL),
        ("RTX2080Ti", SINCE_HOPPER | SINCE_BLACKWELL),
        ("A100", SINCE_HOPPER | SINCE_BLACKWELL),
        ("A4000", SINCE_HOPPER | SINCE_BLACKWELL),
        ("L40", SINCE_HOPPER | SINCE_BLACKWELL),
        ("H100", SINCE_BLACKWELL),
        ("H200", SINCE_BLACKWELL),
        ("B200", set()),
    ],
)
def test_every_opcode_has_a_pipe(name, newer):
    timed = {opcode for pipe in load_machine(name).pipes for opcode in pipe.executes}
    assert OPCODES - timed == newer


@pytest.mark.parametrize(
    ("opcode", "name", "pipe"),
    [
        # The guide: conversions from and to 64-bit types give as many results a clock as arithmetic
        # in double precision where that is slow, else as many as other conversions.
        ("F2F.F64.F32", "A4000", "double"),
        ("F2F.F32.F64", "RTX2080Ti", "double"),
        ("I2F.F64.S64", "L40", "double"),
        ("F2I.F64.TRUNC", "T4", "double"),
        ("F2F.F64.F32", "A100", "xu"),
        ("F2F.F16.F32", "A4000", "xu"),
        ("I2F.U8", "A4000", "xu"),
    ],
)
def test_conversions_of_doubles_go_the_way_of_doubles_where_these_are_slow(opcode, name, pipe):
    assert [found.name for found in pipes_of(load_machine(name), opcode)] == [pipe]
