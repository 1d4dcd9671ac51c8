"""Every opcode whose execution is known has a pipe to be timed on."""

import pytest

from placewise.execute.lower_sass.table import OPCODES
from placewise.machine import load_machine

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
