"""The parser's tree to MSL's syntax tree, with what only the parser's positions can tell."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from itertools import pairwise
from typing import Any, TypeVar

from lark import Token, Tree

from placewise.errors import MachineError
from placewise.machine.msl.located import located, nearest
from placewise.machine.msl.tree import (
    Base,
    Binary,
    ChangeEntry,
    Condition,
    DetailEntry,
    Expression,
    Extent,
    Floor,
    Header,
    Keyword,
    Latency,
    Level,
    LimitEntry,
    LimitsEntry,
    MemoryEntry,
    Number,
    PartEntry,
    Position,
    ProcessorEntry,
    Provenance,
    Quantity,
    Reference,
    Size,
    SourceEntry,
    SpaceEntry,
    Special,
    Specification,
    Unary,
    WithoutEntry,
    Word,
    Words,
)

KEYWORDS = (
    "address1",
    "address2",
    "index1",
    "index2",
    "word1",
    "word2",
    "banks",
    "blockSize",
)
"""Names that a serialization condition may use (Chen et al. 2017, Fig. 2)."""

MEMORY_FIELDS = (
    "id",
    "swmng",
    "rw",
    "dim",
    "size",
    "blockSize",
    "banks",
    "latency",
    "upperLevels",
    "lowerLevels",
    "shareScope",
    "concurrencyFactor",
    "serialCondition",
)
PROCESSOR_FIELDS = ("die", "tpc", "sm")

Node = Tree[Any]
T = TypeVar("T", int, str)


def build_specification(tree: Node, filename: str) -> Specification:
    """Syntax tree of a parsed file; raises MachineError for what the grammar alone cannot see."""
    return _Builder(filename).specification(tree)


class _Builder:
    def __init__(self, filename: str) -> None:
        self.filename = filename
        self.warnings: list[str] = []

    def specification(self, tree: Node) -> Specification:
        title = None
        for token in _tokens(tree):
            self.warn(_at(token), 'a title line is not part of MSL; write machine NAME "title";')
            title = token.rstrip(":").split("of", 1)[1].strip()
        entries = {kind: list(_nodes(tree, kind)) for kind in _ENTRIES}
        processors = entries["processor"]
        header = self.header(entries["header"][0]) if entries["header"] else None
        whole = header is None or not (header.base or header.is_architecture)
        if not processors and whole:
            raise self.error(Position(), "no processor entry", "start with: die = 1 tpc; …")
        for kind in ("processor", "limits"):
            if len(entries[kind]) > 1:
                raise self.error(_at(entries[kind][1]), f"a second {kind} entry")
        return Specification(
            title=title,
            header=header,
            sources=tuple(
                SourceEntry(str(name), _text(text), at=_at(name))
                for _, name, text in (_tokens(node) for node in entries["source"])
            ),
            processor=self.processor(processors[0]) if processors else None,
            limits=self.limits(entries["limits"][0]) if entries["limits"] else None,
            memories=tuple(self.memory(node) for node in entries["memory"]),
            details=tuple(self.detail(node) for node in entries["detail"]),
            parts=tuple(self.part(node) for node in entries["part"]),
            spaces=tuple(self.space(node) for node in entries["space"]),
            changes=tuple(self.change(node) for node in entries["change"]),
            without=tuple(self.without(node) for node in entries["without"]),
            warnings=tuple(self.warnings),
        )

    def header(self, node: Node) -> Header:
        tokens = {token.type: token for token in _tokens(node)}
        name, title = tokens["MACHINE_NAME"], tokens.get("STRING")
        base = None
        for child in _nodes(node, "base"):
            (token,) = _tokens(child)
            is_path = token.type == "STRING"
            base = Base(_text(token) if is_path else str(token), is_path, at=_at(token))
        text = _text(title) if title else None
        return Header(str(name), text, base, "ARCHITECTURE" in tokens, at=_at(name))

    def change(self, node: Node) -> ChangeEntry:
        _, name = _tokens(node)
        settings = tuple(self.limit(n) for n in _nodes(node, "limit"))
        return ChangeEntry(str(name), settings, at=_at(name))

    def without(self, node: Node) -> WithoutEntry:
        _, kind, *name = _tokens(node)
        return WithoutEntry(str(kind), str(name[0]) if name else None, at=_at(kind))

    def processor(self, node: Node) -> ProcessorEntry:
        counts = [token for token in _tokens(node) if token.type == "COUNT"]
        for count in counts:
            self.positive(int(count), _at(count), "a count of the processor entry")
        tpcs, sms, cores = (int(c) for c in counts)
        return ProcessorEntry(
            tpcs, sms, cores, self.provenance(node, PROCESSOR_FIELDS), at=_at(node)
        )

    def limits(self, node: Node) -> LimitsEntry:
        return LimitsEntry(tuple(self.limit(n) for n in _nodes(node, "limit")), at=_at(node))

    def detail(self, node: Node) -> DetailEntry:
        _, name = _tokens(node)
        settings = tuple(self.limit(n) for n in _nodes(node, "limit"))
        return DetailEntry(str(name), settings, at=_at(name))

    def part(self, node: Node) -> PartEntry:
        kind, *name = _tokens(node)
        settings = tuple(self.limit(n) for n in _nodes(node, "limit"))
        return PartEntry(str(kind), str(name[0]) if name else None, settings, at=_at(kind))

    def limit(self, node: Node) -> LimitEntry:
        name, value = node.children[:2]
        at = _at(value)
        parsed: Quantity | Extent | Word | Words | Special
        if value.data == "quantity":
            number, *unit = value.children
            parsed = Quantity(Decimal(str(number)), str(unit[0]) if unit else None, at=at)
        elif value.data == "extent":
            tokens = _tokens(value)
            extent = tuple(Decimal(str(t)) for t in tokens if t.type == "AMOUNT")
            units = [str(t) for t in tokens if t.type == "UNIT"]
            parsed = Extent(extent, units[0] if units else None, at=at)
        elif value.data == "word":
            parsed = Word(str(value.children[0]), at=at)
        elif value.data == "words":
            parsed = Words(tuple(str(t) for t in _tokens(value)), at=at)
        else:
            parsed = Special.UNKNOWN
        return LimitEntry(str(name), parsed, self.reference(node), at=_at(name))

    def memory(self, node: Node) -> MemoryEntry:
        name = node.children[0]
        fields = {child.data: child for child in node.children[1:]}
        if "lower" not in fields:
            self.warn(_at(node), f"{name} has one level list where MSL has two: read as the upper")
        if "concurrency" not in fields:
            self.warn(_at(node), f"{name} has no concurrency factor: read as '?'")
        rw = self.value(fields["rw"], str)
        if not isinstance(rw, Special) and rw != rw.upper():
            self.warn(_at(fields["rw"]), f"'{rw}' should be '{rw.upper()}'")
            rw = rw.upper()
        return MemoryEntry(
            name=str(name),
            id=int(_tokens(fields["id"])[0]),
            managed=self.value(fields["managed"], str),
            rw=rw,
            dim=self.value(fields["dim"], int),
            size=self.sizes(fields["size"]),
            block_size=self.sizes(fields["block_size"]),
            banks=self.positive_or_special(fields["banks"], "the number of banks"),
            latency=self.latencies(fields["latency"]),
            upper=self.levels(fields["upper"]),
            lower=self.levels(fields["lower"]) if "lower" in fields else Special.OMITTED,
            scope=self.value(fields.get("scope") or fields["scope_word"], str),
            concurrency=self.concurrency(fields.get("concurrency")),
            condition=self.condition(fields.get("condition") or fields["bare_condition"]),
            provenance=self.provenance(node, MEMORY_FIELDS),
            at=_at(name),
        )

    def value(self, node: Node, kind: type[T]) -> T | Special:
        token = node.children[0]
        special = _special(token)
        return special if special is not None else kind(str(token))

    def positive_or_special(self, node: Node, what: str) -> int | Special:
        value = self.value(node, int)
        return value if isinstance(value, Special) else self.positive(value, _at(node), what)

    def positive(self, value: int, at: Position, what: str) -> int:
        if value < 1:
            raise self.error(at, f"{what} must be at least 1")
        return value

    def sizes(self, node: Node) -> tuple[Size, ...] | Special:
        special = _special(node.children[0])
        return special if special is not None else tuple(self.size(t) for t in _tokens(node))

    def size(self, token: Token) -> Size:
        digits = token.rstrip("KMGTEB")
        letters = token[len(digits) :]
        prefix = letters[:1] if letters[:1] in "KMGT" else ""
        unit = letters[len(prefix) :]
        self.positive(int(digits), _at(token), "a size")
        if not unit:
            self.warn(_at(token), f"size {token} has neither E nor B: read as bytes")
        return Size(int(digits), prefix, unit, at=_at(token))

    def latencies(self, node: Node) -> tuple[Latency, ...] | Special:
        special = _special(node.children[0])
        if special is not None:
            return special
        latencies = []
        for token in _tokens(node):
            number = token.rstrip("clknsume")
            latency = Latency(Decimal(number), token[len(number) :], at=_at(token))
            if latency.value <= 0:
                raise self.error(latency.at, "a latency must be more than 0")
            latencies.append(latency)
        return tuple(latencies)

    def levels(self, node: Node) -> tuple[Level, ...] | Special:
        special = _special(node.children[0]) if node.children else None
        if special is not None:
            return special
        return tuple(Level(str(token), at=_at(token)) for token in node.children)

    def concurrency(self, node: Node | None) -> tuple[Decimal, Decimal] | Special:
        if node is None:
            return Special.UNKNOWN
        special = _special(node.children[0])
        if special is not None:
            return special
        for token in node.children:
            if not 0 < Decimal(str(token)) <= 1:
                raise self.error(_at(token), "a concurrency factor must be over 0 and at most 1")
        memory_bound, compute_bound = (Decimal(str(token)) for token in node.children)
        return memory_bound, compute_bound

    def condition(self, node: Node) -> Condition | Special:
        special = _special(node.children[0])
        if special is not None:
            return special
        scope, expression = node.children
        return Condition(str(scope), self.expression(expression), at=_at(node))

    def expression(self, node: Node) -> Expression:
        match node.data:
            case "number":
                return Number(int(_tokens(node)[0]))
            case "keyword":
                return self.keyword(_tokens(node)[0])
            case "floor":
                return Floor(self.expression(next(c for c in node.children if isinstance(c, Tree))))
            case "unary":
                operator, operand = node.children
                if operator == "+":
                    raise self.error(_at(operator), "expected a value, found '+'")
                return Unary(str(operator), self.expression(operand))
            case _:
                left, operator, right = node.children
                spelling = "!=" if operator in ("≠", "\\neq") else str(operator)
                return Binary(spelling, self.expression(left), self.expression(right))

    def keyword(self, token: Token) -> Keyword:
        if token not in KEYWORDS:
            raise self.error(
                _at(token),
                f"unknown keyword '{token}' in a serialization condition",
                nearest(str(token), (*KEYWORDS, "floor")),
            )
        return Keyword(str(token))

    def provenance(self, node: Node, known: tuple[str, ...]) -> tuple[Provenance, ...]:
        entries = []
        for block in _nodes(node, "from_block"):
            for entry in _nodes(block, "provenance"):
                names = [t for t in _tokens(entry) if t.type == "FIELD"]
                for name in names:
                    if name not in known:
                        raise self.error(
                            _at(name),
                            f"no field '{name}' to give a source of",
                            nearest(str(name), known),
                        )
                reference = self.reference(entry)
                assert reference is not None, "the grammar gives every provenance a reference"
                entries.append(Provenance(tuple(str(n) for n in names), reference, at=_at(entry)))
        return tuple(entries)

    def reference(self, node: Node) -> Reference | None:
        for child in _nodes(node, "reference"):
            tokens = {token.type: token for token in _tokens(child)}
            name, text = tokens.get("CITATION"), tokens.get("STRING")
            return Reference(
                str(name) if name else None, _text(text) if text else None, at=_at(child)
            )
        return None

    def space(self, node: Node) -> SpaceEntry:
        tokens = {token.type: token for token in _tokens(node)}
        levels = next(_nodes(node, "space_levels"))
        texts: dict[str, str] = {}
        for keyword, text in pairwise(_tokens(node)):
            if keyword.type in ("DECLARATION", "INTRINSIC"):
                texts[keyword.type] = _text(text)
        return SpaceEntry(
            name=str(tokens["SPACE_NAME"]),
            letter=str(tokens["LETTER"]),
            way=str(tokens["WAY"]),
            levels=tuple(Level(str(t), at=_at(t)) for t in levels.children),
            path=str(tokens["PATH"]),
            rw=str(tokens["SPACE_RW"]).upper(),
            declaration=texts.get("DECLARATION"),
            intrinsic=texts.get("INTRINSIC"),
            reference=self.reference(node),
            at=_at(tokens["SPACE_NAME"]),
        )

    def warn(self, at: Position, message: str) -> None:
        self.warnings.append(f"{self.filename}:{at.line}:{at.column}: {message}")

    def error(self, at: Position, message: str, hint: str | None = None) -> MachineError:
        return located(self.filename, at, message, hint)


_ENTRIES = (
    "header",
    "source",
    "processor",
    "limits",
    "memory",
    "change",
    "detail",
    "part",
    "space",
    "without",
)


def _at(node: Any) -> Position:
    where = node if isinstance(node, Token) else node.meta
    line, column = getattr(where, "line", None), getattr(where, "column", None)
    return Position(line, column) if line and column else Position()


def _special(token: Any) -> Special | None:
    if isinstance(token, Token) and token.type in ("UNKNOWN", "NOT_APPLICABLE", "OMITTED"):
        return Special(str(token))
    return None


def _text(token: Token) -> str:
    return str(token)[1:-1].replace('\\"', '"').replace("\\\\", "\\")


def _tokens(node: Node) -> list[Token]:
    return [child for child in node.children if isinstance(child, Token)]


def _nodes(node: Node, data: str) -> Iterator[Node]:
    return (c for c in node.children if isinstance(c, Tree) and c.data == data)
