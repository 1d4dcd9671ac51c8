"""Struct types as the source declares them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from placewise.kernel.struct_uses import DeclaredField
from placewise.space.layout import Field, Record

_POINTERS = ("POINTER", "INCOMPLETEARRAY", "CONSTANTARRAY")
"""Kinds of types of parameters that are pointers: ``float a[]`` is one."""
_NAMED = re.compile(r"[\w: ]+(?:<[\w:, ]*>)?(?: \*)?\Z")


@dataclass(frozen=True)
class DeclaredRecord:
    """A struct that a kernel's parameter points to."""

    parameter: str
    type_name: str
    record: Record
    fields: tuple[DeclaredField, ...]
    obstacle: str | None
    """Why its fields cannot be moved apart."""
    own_copy: str | None = None
    """Why its elements cannot be copied field by field."""


def declared_records(kernel: Any) -> Iterator[DeclaredRecord]:
    """The structs that a kernel's parameters point to, one for each such parameter; ``kernel`` is
    the libclang cursor of its definition."""
    for parameter in kernel.get_children():
        type_ = parameter.type.get_canonical()
        if parameter.kind.name == "PARM_DECL" and type_.kind.name in _POINTERS:
            is_pointer = type_.kind.name == "POINTER"
            pointee = (type_.get_pointee() if is_pointer else type_.element_type).get_canonical()
            if pointee.kind.name == "RECORD":
                yield _declared(parameter.spelling, pointee)


def _declared(parameter: str, pointee: Any) -> DeclaredRecord:
    name = re.sub(r"\b(?:const|volatile|struct)\b", "", pointee.spelling).strip()
    obstacle = _obstacle(pointee, name)
    declared = list(pointee.get_fields())
    if obstacle is None and not declared:
        obstacle = f"struct {name} has no fields"
    if obstacle is not None:
        return DeclaredRecord(parameter, name, Record(name, ()), (), obstacle)
    fields = tuple(
        Field(f.spelling, f.type.get_size(), max(1, f.type.get_align())) for f in declared
    )
    texts = tuple(_field(f, pointee) for f in declared)
    record = Record(name, fields, max(1, pointee.get_align()))
    return DeclaredRecord(parameter, name, record, texts, None, _own_copy(pointee, name))


def _own_copy(pointee: Any, name: str) -> str | None:
    """What a struct does of its own where an element is made or copied, with the line."""
    members = list(pointee.get_declaration().get_children())
    makers = [m for m in members if m.kind.name == "CONSTRUCTOR"]
    if makers and not any(m.is_default_constructor() for m in makers):
        return f"struct {name} cannot be made without arguments (line {makers[0].location.line})"
    for member in members:
        is_copy = member in makers and (
            member.is_copy_constructor() or member.is_move_constructor()
        )
        is_copy = is_copy or member.spelling == "operator="
        if (is_copy and not member.is_default_method()) or member.kind.name == "DESTRUCTOR":
            return f"struct {name} has '{member.spelling}' of its own (line {member.location.line})"
    return None


def _field(cursor: Any, pointee: Any) -> DeclaredField:
    type_, suffix = cursor.type.get_canonical(), ""
    while type_.kind.name == "CONSTANTARRAY":
        suffix += f"[{type_.element_count}]"
        type_ = type_.element_type.get_canonical()
    text = type_.spelling if _NAMED.match(type_.spelling) else ""
    return DeclaredField(cursor.spelling, text, suffix, pointee.get_offset(cursor.spelling) // 8)


def _obstacle(pointee: Any, name: str) -> str | None:
    """Why the fields of a struct cannot be told apart, with the line."""
    declaration = pointee.get_declaration()
    line = declaration.location.line
    if pointee.get_size() <= 0:
        return f"struct {name} is not complete"
    if declaration.kind.name == "UNION_DECL":
        return f"{name} is a union (line {line})"
    for child in declaration.get_children():
        kind, where = child.kind.name, child.location.line
        if kind == "CXX_BASE_SPECIFIER":
            return f"struct {name} has a base class (line {where})"
        if kind == "UNION_DECL" and child.is_anonymous():
            return f"struct {name} has a union in it (line {where})"
        if kind == "STRUCT_DECL" and child.is_anonymous():
            return f"struct {name} has a struct without name in it (line {where})"
        if kind in ("CXX_METHOD", "DESTRUCTOR") and child.is_virtual_method():
            return f"struct {name} has virtual functions (line {where})"
        if kind == "FIELD_DECL":
            if child.is_bitfield():
                return f"struct {name} has a bit-field, '{child.spelling}' (line {where})"
            if child.type.get_canonical().kind.name == "LVALUEREFERENCE":
                return f"struct {name} has a reference in it, '{child.spelling}' (line {where})"
    return None
