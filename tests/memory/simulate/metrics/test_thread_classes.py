"""Classes of opcodes: what recorded counters fixed, and that nothing counts twice."""

import pytest

from placewise.kernel.binary.sass.classes import group
from placewise.memory.simulate.metrics.thread_classes import CLASSES, thread_class


@pytest.mark.parametrize(
    ("opcode", "counted"),
    [
        ("FFMA", "fp32"), ("MUFU.RCP", "fp32"), ("FCHK", "fp32"), ("FSETP.GT.AND", "fp32"),
        ("IMAD.MOV.U32", "integer"), ("ISETP.NE.AND", "integer"), ("LOP3.LUT", "integer"),
        ("MOV", "misc"), ("S2R", "misc"), ("BMOV.32.CLEAR", "misc"), ("BAR.SYNC", "misc"),
        ("BRA", "control"), ("BSSY", "control"), ("CALL.REL.NOINC", "control"), ("EXIT", "control"),
        ("LDC.64", "memory"), ("LDG.E.64", "memory"), ("STS", "memory"),
        ("PLOP3.LUT", None), ("P2R", None), ("UIADD3", None), ("ULDC.64", None), ("UMOV", None),
    ],
)  # fmt: skip
def test_recorded(opcode, counted):
    assert thread_class(opcode) == counted


@pytest.mark.parametrize("opcode", ["FADD", "DFMA", "HADD2", "I2F", "NOP", "VOTE", "HMMA", "XYZ"])
def test_class_or_none(opcode):
    assert thread_class(opcode) in (*CLASSES, None)
    assert group(opcode) == "other" or opcode != "XYZ"
