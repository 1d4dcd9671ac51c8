"""Operands as nvdisasm prints them, parsed by a grammar; each text is parsed once."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from lark import Lark, Token, Transformer, UnexpectedInput
from lark.exceptions import VisitError

from placewise.errors import UnsupportedError
from placewise.kernel.binary.sass.instruction import (
    Constant,
    Immediate,
    Memory,
    Name,
    Operand,
    Register,
)
from placewise.machine.msl.parse_tables import kept_tables

_REGISTER = re.compile(r"(UR|R|UP|P|SB|B)(\d+|Z|T)")
_TWO_ADDRESSES = re.compile(r"(\[[^\]]*\])((?:\[|desc).*)")
_SET = re.compile(r"\{[^}]*\}")
_ZERO = {"RZ", "URZ", "PT", "UPT"}
_HINTS = frozenset({"reuse"})
_SPECIAL_FLOATS = {"INF": "inf", "QNAN": "nan", "SNAN": "nan"}


def split_operands(text: str) -> tuple[str, ...]:
    """Operands separated by commas; none of those that are understood has a comma inside.

    The two addresses of a copy between memories stand side by side, without a comma; the commas
    inside a set of scoreboards separate nothing.
    """
    found: list[str] = []
    joined = _SET.sub(lambda match: match[0].replace(",", " "), text)
    for part in joined.split(",") if joined.strip() else ():
        two = _TWO_ADDRESSES.fullmatch(part.strip())
        found.extend(two.groups() if two else (part.strip(),))
    return tuple(found)


_PLAIN_REGISTER = re.compile(r"(-)?(UR|R|UP|P)(\d+|Z|T)(?:\.reuse)?")
_PLAIN_CONSTANT = re.compile(r"(-)?c\[(0x[0-9a-f]+)\]\[(0x[0-9a-f]+)\]")
_PLAIN_MEMORY = re.compile(r"\[R(\d+)(\.64)?(?:\+(-?0x[0-9a-f]+))?\]")
_PLAIN_NUMBER = re.compile(r"-?0x[0-9a-f]+")


@cache
def parse_operand(text: str) -> Operand:
    """One operand; raises UnsupportedError, naming it, where it is of no known form."""
    return _plain_operand(text) or _by_grammar(text)


def _plain_operand(text: str) -> Operand | None:
    """What the grammar makes of the forms that nearly all operands have, in a fraction of its time;
    None for others."""
    match = _PLAIN_REGISTER.fullmatch(text)
    if match:
        sign, file, number = match.groups()
        if number.isdigit() or file + number in _ZERO:
            found = int(number) if number.isdigit() else None
            return Register(file, found, negated=sign is not None)
        return None
    match = _PLAIN_CONSTANT.fullmatch(text)
    if match:
        sign, bank, offset = match.groups()
        return Constant(int(bank, 16), None, int(offset, 16), negated=sign is not None)
    match = _PLAIN_MEMORY.fullmatch(text)
    if match:
        number, wide, given = match.groups()
        base = Register("R", int(number), suffixes=("64",) if wide else ())
        return Memory(base, None, int(given, 16) if given else 0)
    return Immediate(int(text, 16)) if _PLAIN_NUMBER.fullmatch(text) else None


def _by_grammar(text: str) -> Operand:
    try:
        result: Operand = _ToOperand().transform(_grammar().parse(text))
    except UnexpectedInput as error:
        raise UnsupportedError(f"operand '{text}' is not covered") from error
    except VisitError as error:
        raise UnsupportedError(f"operand '{text}' is not covered: {error.orig_exc}") from error
    return result


@cache
def _grammar() -> Lark:
    grammar = Path(__file__).with_name("operand.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", cache=kept_tables("sass-operand-tables"))


def _number(text: str) -> int | float:
    if "0x" in text:
        return int(text, 16)
    bare = text.lstrip("+-")
    if bare in _SPECIAL_FLOATS:
        return float(text.replace(bare, _SPECIAL_FLOATS[bare]))
    return float(text) if any(c in text for c in ".e") else int(text)


def _suffixes(tokens: list[Any]) -> tuple[str, ...]:
    return tuple(t[1:] for t in tokens if isinstance(t, Token) and t[1:] not in _HINTS)


class _Sum(NamedTuple):
    registers: tuple[Register, ...]
    offset: int


class _Descriptor(NamedTuple):
    register: Register


class _ToOperand(Transformer[Token, Any]):
    """Parse tree to operand, bottom up."""

    def number(self, children: list[Token]) -> Immediate:
        return Immediate(_number(str(children[0])))

    def text(self, children: list[Token]) -> Name:
        return Name(str(children[0]))

    def name(self, children: list[Token]) -> Operand:
        text = str(children[0])
        match = _REGISTER.fullmatch(text)
        if match and (text in _ZERO or match[2].isdigit()):
            number = None if text in _ZERO else int(match[2])
            return Register(match[1], number, suffixes=_suffixes(children[1:]))
        return Name("".join(children))

    def negated(self, children: list[Any]) -> Operand:
        (inner,) = children
        if isinstance(inner, Name | Memory):
            raise UnsupportedError("a sign before a name or an address is not covered")
        changed: Operand = inner._replace(negated=not inner.negated)
        return changed

    def inverted(self, children: list[Any]) -> Operand:
        (inner,) = children
        if isinstance(inner, Memory):
            raise UnsupportedError("the complement of an address is not covered")
        changed: Operand = inner._replace(inverted=not inner.inverted)
        return changed

    def absolute(self, children: list[Any]) -> Operand:
        inner, *suffixes = children
        if isinstance(inner, Name | Memory) or inner.negated or inner.inverted:
            raise UnsupportedError("the magnitude of this operand is not covered")
        if isinstance(inner, Immediate):
            number: Operand = inner._replace(absolute=True)
            return number
        changed: Operand = inner._replace(
            absolute=True, suffixes=(*inner.suffixes, *_suffixes(suffixes))
        )
        return changed

    def descriptor(self, children: list[Any]) -> _Descriptor:
        return _Descriptor(children[0])

    def sum(self, children: list[Any]) -> _Sum:
        registers = [c for c in children if isinstance(c, Register)]
        numbers = [c.value for c in children if isinstance(c, Immediate)]
        if len(registers) + len(numbers) < len(children):
            raise UnsupportedError("an address that is not made of registers is not covered")
        return _Sum(tuple(registers), int(sum(numbers)))

    def constant(self, children: list[Any]) -> Constant:
        where = children[1]
        if len(where.registers) > 1:
            raise UnsupportedError("a constant bank indexed by two registers is not covered")
        base = where.registers[0] if where.registers else None
        if base is not None and base.number is None:
            base = None
        return Constant(int(children[0], 16), base, where.offset, suffixes=_suffixes(children[2:]))

    def memory(self, children: list[Any]) -> Memory:
        descriptor = children.pop(0).register if isinstance(children[0], _Descriptor) else None
        where = children[0]
        lanes = [r for r in where.registers if r.file == "R"]
        uniform = [r for r in where.registers if r.file == "UR"]
        if len(lanes) > 1 or len(uniform) > 1 or len(lanes) + len(uniform) < len(where.registers):
            raise UnsupportedError("an address of these registers is not covered")
        return Memory(
            lanes[0] if lanes else None,
            uniform[0] if uniform else None,
            where.offset,
            descriptor,
            _suffixes(children[1:]),
        )
