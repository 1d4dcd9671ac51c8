"""The body of a PTX function: declarations, labels and instructions, scopes resolved."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from placewise.errors import CaseError
from placewise.kernel.ptx.module import (
    Address,
    Arguments,
    Immediate,
    Instruction,
    Label,
    Negated,
    Operand,
    Pair,
    Prototype,
    Register,
    Selected,
    Sink,
    Special,
    Symbol,
    Variable,
    Vector,
)
from placewise.kernel.ptx.stream import Stream
from placewise.kernel.ptx.variables import parse_parameters, parse_registers, parse_variable

_SPECIAL = re.compile(
    r"%(?:n?tid|n?ctaid|cluster_\w+|n?clusterid|is_explicit_cluster|laneid|n?warpid|n?smid|gridid"
    r"|lanemask_\w+|clock(?:_hi|64)?|pm\d+(?:_64)?|globaltimer\w*|dynamic_smem_size|total_smem_size"
    r"|aggr_smem_size|reserved_smem_\w+|envreg\d+|current_graph_exec)(?:\.[xyzw])?$"
)
_RANGE = re.compile(r"(.*?)(\d+)$")
_STATE = frozenset({".shared", ".local", ".param", ".global", ".const"})


@dataclass
class Body:
    """What :func:`parse_body` collects."""

    items: list[Instruction | Label] = field(default_factory=list)
    variables: list[Variable] = field(default_factory=list)
    branch_targets: dict[str, tuple[str, ...]] = field(default_factory=dict)
    prototypes: dict[str, Prototype] = field(default_factory=dict)


@dataclass
class _Scope:
    """Names declared in one pair of braces; inner names get a suffix that makes them unique."""

    suffix: str
    registers: dict[str, Register] = field(default_factory=dict)
    ranges: dict[str, tuple[str, int]] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)


def parse_body(s: Stream) -> Body:
    """Parse from the opening to the closing brace."""
    return _BodyParser(s).run()


class _BodyParser:
    def __init__(self, stream: Stream) -> None:
        self.s = stream
        self.body = Body()
        self.scopes: list[_Scope] = []
        self.scope_count = 0
        self.place: tuple[int, int] | None = None
        self.outer: dict[tuple[int, int, int], tuple[int, int, int]] = {}
        self.parts: dict[str, tuple[str, ...]] = {}
        self.words: dict[str, Operand] = {}
        """Operands of plain words in the present scope; cleared where scopes change."""

    def run(self) -> Body:
        s = self.s
        s.expect("{")
        self._enter()
        words = s.words
        while self.scopes:
            word = s.peek()
            if word == "}":
                s.take()
                self.scopes.pop()
                self.words = {}
            elif word == "{":
                s.take()
                self._enter()
            elif word == "@":
                s.take()
                self._instruction(guarded=True)
            elif word[:1] == ".":
                self._directive(word)
            elif s.position + 1 < len(words) and words[s.position + 1] == ":":
                self._label()
            elif word:
                self._instruction(guarded=False)
            else:
                raise CaseError("the PTX ends inside a function", where=s.where())
        return self.body

    def _enter(self) -> None:
        suffix = f"@{self.scope_count}" if self.scopes else ""
        self.scope_count += 1
        self.scopes.append(_Scope(suffix))
        self.words = {}

    def _directive(self, word: str) -> None:
        s = self.s
        if word == ".loc":
            self._loc()
        elif word == ".reg":
            self._registers()
        elif word in _STATE:
            scope = self.scopes[-1]
            for variable in parse_variable(s, external=False):
                unique = variable.name + scope.suffix
                scope.names[variable.name] = unique
                self.body.variables.append(replace(variable, name=unique))
            self.words = {}
        elif word in (".pragma", ".noreturn"):
            s.skip_past(";")
        else:
            raise CaseError(f"unexpected '{word}' in a PTX function", where=s.where())

    def _loc(self) -> None:
        """``.loc file line column [, function_name label[+n], inlined_at file line column]``"""
        s = self.s
        s.take()
        key = (s.integer(), s.integer(), s.integer())
        while s.accept(","):
            if s.take() == "inlined_at":
                self.outer[key] = (s.integer(), s.integer(), s.integer())
            else:
                s.take()
                if s.accept("+"):
                    s.take()
        seen = set()
        while key in self.outer and key not in seen:
            seen.add(key)
            key = self.outer[key]
        # Line 0 marks code the compiler made itself; it stays with the last real line.
        if key[1]:
            self.place = (key[0], key[1])

    def _registers(self) -> None:
        s = self.s
        where = s.where()
        kind, declared = parse_registers(s)
        if kind in ("v2", "v4"):
            raise CaseError("vector registers in PTX", where=where)
        scope = self.scopes[-1]
        for name, count in declared:
            if count is None:
                scope.registers[name] = Register(name + scope.suffix, kind)
            else:
                scope.ranges[name] = (kind, count)
        self.words = {}

    def _label(self) -> None:
        s = self.s
        name = s.take()
        s.expect(":")
        if s.peek() in (".branchtargets", ".calltargets"):
            s.take()
            targets = [s.take()]
            while s.accept(","):
                targets.append(s.take())
            s.expect(";")
            self.body.branch_targets[name] = tuple(targets)
        elif s.peek() == ".callprototype":
            s.take()
            self.body.prototypes[name] = self._prototype()
        else:
            self.body.items.append(Label(name))

    def _prototype(self) -> Prototype:
        """``(results) _ (parameters) [.noreturn …];``"""
        s = self.s
        results = parse_parameters(s) if s.peek() == "(" else ()
        s.expect("_")
        parameters = parse_parameters(s) if s.peek() == "(" else ()
        s.skip_past(";")
        return Prototype(tuple(v.size for v in results), tuple(v.size for v in parameters))

    def _instruction(self, *, guarded: bool) -> None:
        s = self.s
        guard: Register | None = None
        negated = False
        if guarded:
            negated = s.accept("!")
            operand = self._word(s.take())
            if not isinstance(operand, Register):
                raise CaseError("a guard that is not a predicate register", where=s.where())
            guard = operand
        line = s.line()
        opcode = s.take()
        parts = self.parts.get(opcode)
        if parts is None:
            parts = self.parts[opcode] = tuple(opcode.split("."))
        operands: list[Operand] = []
        if not s.accept(";"):
            while True:
                operands.append(self._operand())
                if s.accept(";"):
                    break
                s.expect(",")
        self.body.items.append(
            Instruction(opcode, parts, tuple(operands), guard, negated, line, self.place)
        )

    def _operand(self) -> Operand:
        s = self.s
        word = s.take()
        first = word[0]
        if first == "[":
            return self._address()
        if first == "{":
            vector = Vector(self._list("}"))
            return Pair(vector, self._operand()) if s.accept("|") else vector
        if first == "(":
            return Arguments(self._list(")"))
        if first == "!":
            register = self._word(s.take())
            if not isinstance(register, Register):
                raise CaseError("'!' before what is not a predicate", where=s.where())
            return Negated(register)
        operand: Operand
        if first.isdigit() or first == "-":
            s.position -= 1
            return self._number()
        operand = self.words.get(word) or self._word(word)
        following = s.peek()
        if following == "|":
            s.take()
            return Pair(operand, self._operand())
        if following in ("+", "-") and isinstance(operand, Symbol):
            return Symbol(operand.name, self._offset())
        return operand

    def _list(self, closing: str) -> tuple[Operand, ...]:
        s = self.s
        found: list[Operand] = []
        while not s.accept(closing):
            found.append(self._operand())
            s.accept(",")
        return tuple(found)

    def _number(self) -> Immediate:
        s = self.s
        negative = s.accept("-")
        word = s.take()
        kind = word[:2]
        if kind in ("0f", "0F") and len(word) == 10:
            bits = int(word[2:], 16)
            return Immediate(bits ^ 0x80000000 if negative else bits, 32)
        if kind in ("0d", "0D") and len(word) == 18:
            bits = int(word[2:], 16)
            return Immediate(bits ^ (1 << 63) if negative else bits, 64)
        try:
            if word.isdigit():
                value: int | float = int(word, 8 if word[0] == "0" and len(word) > 1 else 10)
            elif kind in ("0x", "0X", "0b", "0B") or word[-1] == "U":
                value = int(word.rstrip("U"), 0)
            else:
                value = float(word)
        except ValueError:
            raise CaseError(f"expected a number in PTX, found '{word}'", where=s.where()) from None
        return Immediate(-value if negative else value)

    def _offset(self) -> int:
        """The sum of ``+n`` and ``-n`` (also ``+-n``) that follow."""
        s = self.s
        total = 0
        while s.peek() in ("+", "-"):
            sign = 1 if s.take() == "+" else -1
            total += sign * s.integer()
        return total

    def _address(self) -> Address:
        s = self.s
        word = s.peek()
        base: Register | Symbol | None = None
        offset = 0
        if word[:1].isdigit() or word == "-":
            offset = s.integer()
        else:
            operand = self._word(s.take())
            if not isinstance(operand, Register | Symbol):
                raise CaseError(f"'{word}' cannot be an address", where=s.where())
            base = operand
            offset = self._offset()
        coordinates: tuple[Operand, ...] = ()
        if s.accept(","):
            s.expect("{") if s.peek() == "{" else None
            if s.words[s.position - 1] == "{":
                coordinates = self._list("}")
            else:
                coordinates = (self._operand(),)
        s.expect("]")
        return Address(base, offset, coordinates)

    def _word(self, word: str) -> Operand:
        """Register, special register, sink or symbol that ``word`` names in the present scopes."""
        known = self.words.get(word)
        if known is not None:
            return known
        self.words[word] = found = self._resolve(word)
        return found

    def _resolve(self, word: str) -> Operand:
        if word == "_":
            return Sink()
        numbered = _RANGE.match(word)
        for scope in reversed(self.scopes):
            if word in scope.registers:
                return scope.registers[word]
            if word in scope.names:
                return Symbol(scope.names[word])
            if numbered and numbered[1] in scope.ranges:
                kind, count = scope.ranges[numbered[1]]
                if int(numbered[2]) < count:
                    return Register(word + scope.suffix, kind)
        name, dot, selector = word.partition(".")
        if dot and (name in self.words or name[0] == "%"):
            whole = self._resolve(name) if not _SPECIAL.match(word) else None
            if isinstance(whole, Register):
                return Selected(whole, selector)
        if word == "WARP_SZ":
            return Immediate(32)
        if word[0] == "%":
            if _SPECIAL.match(word):
                return Special(word)
            raise CaseError(f"register '{word}' is not declared in the PTX", where=self.s.where())
        return Symbol(word)
