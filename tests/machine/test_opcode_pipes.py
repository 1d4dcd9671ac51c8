"""Every opcode whose execution is known has a pipe to be timed on."""

import pytest

from placewise.executor.lower_sass.table import OPCODES
from placewise.machine import load_machine
from placewise.machine.opcode_pipes import pipes_of


@pytest.mark.parametrize(
    "name", ["T4", "RTX2080Ti", "A100", "A4000", "L40", "H100", "H200", "B200", "RTX5090"]
)
def test_every_opcode_has_a_pipe(name):
    timed = {opcode for pipe in load_machine(name).pipes for opcode in pipe.executes}
    assert OPCODES - timed == set()


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
