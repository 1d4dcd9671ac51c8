"""MSL text from a syntax tree; parsed again, it gives the same tree."""

from __future__ import annotations

from placewise.machine.msl.tree import (
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
    MemoryEntry,
    Number,
    PartEntry,
    Provenance,
    Quantity,
    Reference,
    Size,
    SpaceEntry,
    Special,
    Specification,
    Unary,
    Word,
    Words,
)

_PRECEDENCE = {
    operator: level
    for level, operators in enumerate(
        (("||",), ("&&",), ("==", "!="), ("<", "<=", ">", ">="), ("+", "-"), ("*", "/", "%"))
    )
    for operator in operators
}
_UNARY = len(_PRECEDENCE)
"""Binds more tightly than any binary operator."""


def print_specification(specification: Specification) -> str:
    """The whole file. Comments and layout of a parsed file are not kept, everything else is."""
    parts = []
    if specification.title is not None:
        parts.append(f"Mem spec of {specification.title}:")
    if specification.header is not None:
        parts.append(_header(specification.header))
    if specification.sources:
        parts.append(
            "\n".join(f"source {s.name} {_quoted(s.text)};" for s in specification.sources)
        )
    if specification.without:
        parts.append("\n".join(f"without {w.kind}{_named(w.name)};" for w in specification.without))
    if (p := specification.processor) is not None:
        counts = f"die = {p.tpcs} tpc; tpc = {p.sms_per_tpc} sm; sm = {p.cores_per_sm} core"
        parts.append(f"{counts}{_provenance(p.provenance)};")
    if specification.limits is not None:
        lines = "".join(f"  {_limit(limit)}\n" for limit in specification.limits.limits)
        parts.append(f"limits {{\n{lines}}}")
    parts += [_memory(memory) for memory in specification.memories]
    parts += [_settings(f"change {change.name}", change) for change in specification.changes]
    parts += [_settings(f"detail {detail.name}", detail) for detail in specification.details]
    parts += [_settings(part.kind + _named(part.name), part) for part in specification.parts]
    if specification.spaces:
        parts.append("\n".join(_space(space) for space in specification.spaces))
    return "\n\n".join(parts) + "\n"


def print_expression(expression: Expression, within: int = -1) -> str:
    """The expression with as few parentheses as it needs inside an operator of that precedence."""
    match expression:
        case Number(value):
            return str(value)
        case Keyword(name):
            return name
        case Floor(operand):
            return f"floor({print_expression(operand)})"
        case Unary(operator, operand):
            return operator + print_expression(operand, _UNARY)
        case Binary(operator, left, right):
            level = _PRECEDENCE[operator]
            # Operators associate to the left, so a right operand of the same level needs brackets.
            one, two = print_expression(left, level - 1), print_expression(right, level)
            text = f"{one} {operator} {two}"
            return f"({text})" if level <= within else text


def _memory(memory: MemoryEntry) -> str:
    fields = (
        memory.name,
        str(memory.id),
        memory.managed,
        memory.rw,
        str(memory.dim),
        _sizes(memory.size),
        _sizes(memory.block_size),
        str(memory.banks),
        _latencies(memory.latency),
        _levels(memory.upper),
        _levels(memory.lower),
        memory.scope,
        (
            str(memory.concurrency)
            if isinstance(memory.concurrency, Special)
            else f"<{memory.concurrency[0]} {memory.concurrency[1]}>"
        ),
    )
    condition = _condition(memory.condition)
    return f"{' '.join(fields)}\n  {condition}{_provenance(memory.provenance)};"


def _sizes(sizes: tuple[Size, ...] | Special) -> str:
    if isinstance(sizes, Special):
        return str(sizes)
    return _tuple(tuple(f"{s.count}{s.prefix}{s.unit}" for s in sizes))


def _latencies(latencies: tuple[Latency, ...] | Special) -> str:
    if isinstance(latencies, Special):
        return str(latencies)
    return _tuple(tuple(f"{latency.value}{latency.unit}" for latency in latencies))


def _tuple(texts: tuple[str, ...]) -> str:
    return texts[0] if len(texts) == 1 else f"<{' '.join(texts)}>"


def _levels(levels: tuple[Level, ...] | Special) -> str:
    if isinstance(levels, Special):
        return str(levels)
    return f"<{' '.join(level.name for level in levels)}>"


def _condition(condition: Condition | Special) -> str:
    if isinstance(condition, Special):
        return str(condition)
    return f"{condition.scope}{{{print_expression(condition.expression)}}}"


def _header(header: Header) -> str:
    kind = "architecture" if header.is_architecture else "machine"
    like = ""
    if header.base is not None:
        like = f" like {_quoted(header.base.name) if header.base.is_path else header.base.name}"
    return f"{kind} {header.name}{like}{_optional(header.title)};"


def _named(name: str | None) -> str:
    return f" {name}" if name else ""


def _settings(head: str, entry: ChangeEntry | DetailEntry | PartEntry) -> str:
    lines = "".join(f"  {_limit(setting)}\n" for setting in entry.settings)
    return f"{head} {{\n{lines}}}"


def _limit(limit: LimitEntry) -> str:
    match limit.value:
        case Quantity(value, unit):
            text = f"{value} {unit}" if unit else str(value)
        case Extent(values, unit):
            text = f"<{' '.join(str(value) for value in values)}>" + (f" {unit}" if unit else "")
        case Word(word):
            text = word
        case Words(words):
            text = f"<{' '.join(words)}>"
        case _:
            text = str(limit.value)
    return f"{limit.name} = {text}{_from(limit.reference)};"


def _space(space: SpaceEntry) -> str:
    declaration = f" declaration {_quoted(space.declaration)}" if space.declaration else ""
    intrinsic = f" intrinsic {_quoted(space.intrinsic)}" if space.intrinsic else ""
    return (
        f"space {space.name} {space.letter} {space.way} {_levels(space.levels)} {space.path} "
        f"{space.rw}{declaration}{intrinsic}{_from(space.reference)};"
    )


def _provenance(provenance: tuple[Provenance, ...]) -> str:
    if not provenance:
        return ""
    lines = "".join(
        f"    {', '.join(entry.fields)}{_reference(entry.reference)};\n" for entry in provenance
    )
    return f"\n  from {{\n{lines}  }}"


def _from(reference: Reference | None) -> str:
    return f" from{_reference(reference)}" if reference else ""


def _reference(reference: Reference) -> str:
    return _named(reference.name) + _optional(reference.text)


def _optional(text: str | None) -> str:
    return f" {_quoted(text)}" if text is not None else ""


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
