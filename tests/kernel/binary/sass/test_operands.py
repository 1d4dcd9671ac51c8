"""Operands written out and read back, and the forms that nvdisasm prints."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placewise.errors import UnsupportedError
from placewise.kernel.binary.sass import Constant, Immediate, Memory, Name, Register
from placewise.kernel.binary.sass.operands import _by_grammar, parse_operand, split_operands

numbers = st.integers(0, 254)
data = st.one_of(
    numbers.map(lambda n: Register("R", n)), st.integers(0, 62).map(lambda n: Register("UR", n))
)
signed = st.builds(
    lambda register, negated, absolute: register._replace(negated=negated, absolute=absolute),
    data,
    st.booleans(),
    st.booleans(),
)
predicates = st.tuples(
    st.sampled_from(["P", "UP"]), st.one_of(st.none(), st.integers(0, 6)), st.booleans()
).map(lambda drawn: Register(drawn[0], drawn[1], inverted=drawn[2]))
banks = st.tuples(st.integers(0, 5), st.one_of(st.none(), data), st.integers(0, 0xFFFF)).map(
    lambda drawn: Constant(*drawn)
)


def name(register):
    last = {"R": "Z", "UR": "Z", "P": "T", "UP": "T"}[register.file]
    return f"{register.file}{last if register.number is None else register.number}"


def text(operand):
    """An operand as nvdisasm would print it."""
    if isinstance(operand, Constant):
        base = f"{name(operand.base)}+" if operand.base else ""
        return f"c[{operand.bank:#x}][{base}{operand.offset:#x}]"
    inner = f"|{name(operand)}|" if operand.absolute else name(operand)
    return ("-" if operand.negated else "") + ("!" if operand.inverted else "") + inner


@given(st.one_of(signed, predicates, banks))
def test_what_is_written_is_read_back(operand):
    assert parse_operand(text(operand)) == operand


short = st.sampled_from(["R", "UR", "P", "UP", "B", "SB", "c[0x0]", "c[0x3]", "[", "[R3", ""])
middle = st.sampled_from(["0", "17", "Z", "T", "R4", "R4.64", "[0x160]", "[R4+0x8]", "RZ", "0x1f"])
end = st.sampled_from(
    ["", ".reuse", "]", "+0x10]", "+-0x8]", ".64]", ".64+0x4]", ".H0_H0", "+UR4]"]
)


@given(st.sampled_from(["", "-", "!", "~"]), short, middle, end)
def test_the_short_way_reads_what_the_grammar_reads(sign, first, second, third):
    printed = sign + first + second + third
    try:
        wanted = _by_grammar(printed)
    except UnsupportedError:
        with pytest.raises(UnsupportedError):
            parse_operand(printed)
    else:
        assert parse_operand(printed) == wanted


@pytest.mark.parametrize(
    ("printed", "meant"),
    [
        ("RZ", Register("R", None)),
        ("R4.reuse", Register("R", 4)),
        ("|R7|.reuse", Register("R", 7, absolute=True)),
        ("~R9", Register("R", 9, inverted=True)),
        ("-R5.H0_H0", Register("R", 5, negated=True, suffixes=("H0_H0",))),
        ("-|c[0x0][0x160]|", Constant(0, None, 0x160, negated=True, absolute=True)),
        ("c[0x0][RZ]", Constant(0, None, 0)),
        ("c[0x3][R4+0x10]", Constant(3, Register("R", 4), 16)),
        ("-0xd000000", Immediate(-0xD000000)),
        ("6.5827683646048100446e-37", Immediate(6.5827683646048100446e-37)),
        ("+INF", Immediate(float("inf"))),
        ("[R15+-0x8]", Memory(Register("R", 15), None, -8)),
        ("[UR4]", Memory(None, Register("UR", 4), 0)),
        (
            "desc[UR4][R2.64+0x10]",
            Memory(Register("R", 2, suffixes=("64",)), None, 16, Register("UR", 4)),
        ),
        (
            "[R2.U32+UR4]",
            Memory(Register("R", 2, suffixes=("U32",)), Register("UR", 4), 0),
        ),
        ("SR_TID.X", Name("SR_TID.X")),
        ("2D", Name("2D")),
        ("$__internal_0_$__cuda_sm20_div_f64", Name("$__internal_0_$__cuda_sm20_div_f64")),
    ],
)
def test_printed_forms(printed, meant):
    assert parse_operand(printed) == meant


def test_lists_are_split_where_operands_end():
    assert split_operands("R6, P0, R3, c[0x0][0x168], RZ") == (
        *("R6", "P0", "R3", "c[0x0][0x168]", "RZ"),
    )
    assert split_operands("[R5][R2.64+0x1], P0") == ("[R5]", "[R2.64+0x1]", "P0")
    assert split_operands("[R5]desc[UR4][R2.64]") == ("[R5]", "desc[UR4][R2.64]")
    assert split_operands("SB0, 0x0, {4,1}") == ("SB0", "0x0", "{4 1}")
    assert split_operands("") == ()


@pytest.mark.parametrize(
    "printed", ["R1+R2", "c[0x0]", "[R1+R2]", "[P0]", "-[R4]", "|SRZ|", "cx[UR4][0x0]"]
)
def test_what_is_not_known_is_named(printed):
    with pytest.raises(UnsupportedError):
        parse_operand(printed)
