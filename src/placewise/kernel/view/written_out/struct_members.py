"""Pointers that a kernel gets in a struct by value, as parameters of their own.

``k(Cloud c)`` with ``c.x[i]`` is also ``k(Cloud c, const float *c_x)`` with ``c_x[i]``. Written so,
the array can be placed as any other. The struct stays, for its other members, so that what has not
moved can go back there (:func:`with_structs`).
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

from placewise.errors import CaseError, UnsupportedError
from placewise.kernel.cases.bind_names import bind_parameters
from placewise.kernel.cases.case import Case, Language, StructMember
from placewise.kernel.launch import Argument, ArrayArgument, ScalarArgument, StoredPointer
from placewise.kernel.view.analyse import parameter_of
from placewise.kernel.view.tree.around import outside
from placewise.kernel.view.tree.clang import ParsedKernel, parse_kernel
from placewise.kernel.view.tree.node import Node
from placewise.kernel.view.written_out.pieces import piece, unique_name, write_out

_QUALIFIERS = re.compile(r"\s*\b(?:const|__restrict__|__restrict|restrict)\s*$")


def with_members_apart(case: Case) -> Case:
    """The case with the pointers in its structs as parameters, and ``Case.members`` saying which.

    It is the case itself where no struct holds a pointer to the start of a buffer of its own, where
    the kernel is a template or declared twice, and where it uses a struct in any other way than by
    its members.
    """
    if case.language is not Language.CUDA or not _holders(case):
        return case
    try:
        kernel = parse_kernel(case)
        named = bind_parameters(case, [parameter_of(p) for p in kernel.parameters])
        if kernel.errors or kernel.prototypes or "<" in kernel.instance:
            return case
        found = _apart(named, kernel)
        if found.members:
            parameters = [parameter_of(p) for p in parse_kernel(found).parameters]
            return bind_parameters(found, parameters)
    except (CaseError, UnsupportedError):
        # What is wrong with the case is told where it is compiled and bound.
        pass
    return case


def named_apart(case: Case, array: str) -> str:
    """The name that the array ``struct.member`` has apart; others keep theirs."""
    names = {f"{m.struct}.{m.member}": m.name for m in case.members}
    return names.get(array, array)


def with_structs(case: Case, apart: Case) -> Case:
    """``case``, which was written from ``apart``, with the members that stand apart in their
    structs again. Their arrays, as they are in ``apart``, become buffers of the names that they
    have there."""
    if not apart.members:
        return case
    held: dict[str, list[StoredPointer]] = {}
    for m in apart.members:
        held.setdefault(m.struct, []).append(StoredPointer(m.at, m.name))
    arguments = tuple(
        replace(a, pointers=(*a.pointers, *held.get(a.name, ())))
        if isinstance(a, ScalarArgument)
        else a
        for a in case.inputs.arguments
    )
    source = back_in_structs(case.source, apart)
    names = {m.name for m in apart.members}
    buffers = tuple(a for a in apart.inputs.arrays if a.name in names)
    inputs = replace(
        case.inputs,
        arguments=tuple(a for a in arguments if a.name not in names),
        buffers=(*case.inputs.buffers, *buffers),
    )
    return replace(case, source=source, inputs=inputs, members=())


def back_in_structs(text: str, case: Case) -> str:
    """``text`` with the names of the case's members as ``struct.member``, and without their
    parameters."""
    for m in case.members:
        text = text.replace(f", {m.declaration}", "", 1)
        text = re.sub(rf"\b{re.escape(m.name)}\b", f"{m.struct}.{m.member}", text)
    return text


def members_in_words(case: Case) -> tuple[str, ...]:
    """A note on the arrays that are members of structs; none where there are none."""
    named = ", ".join(f"{m.name} is {m.struct}.{m.member}" for m in case.members)
    return (f"pointers in structs are arrays, too: {named}",) if named else ()


def _holders(case: Case) -> tuple[ScalarArgument, ...]:
    arguments = (a for a in case.inputs.arguments if isinstance(a, ScalarArgument))
    return tuple(a for a in arguments if a.pointers and a.value.dtype.fields)


# One test for each reason to leave a member where it is.
def _apart(case: Case, kernel: ParsedKernel) -> Case:
    """The case, whose arguments are named, with all members apart that can be."""
    taken = set(re.findall(r"[A-Za-z_]\w*", case.source))
    alone = Counter(pointer.array for _, pointer in case.inputs.pointers)
    buffers = {b.name: b for b in case.inputs.buffers if alone[b.name] == 1 and not b.pointers}
    edits: list[tuple[int, int, str]] = []
    members: list[StructMember] = []
    arguments: list[Argument] = []
    for argument in case.inputs.arguments:
        node = next(p for p in kernel.parameters if p.name == argument.name)
        used = _used(kernel, node) if argument in _holders(case) else None
        if used is None or not isinstance(argument, ScalarArgument):
            arguments.append(argument)
            continue
        stored = {p.at: p for p in argument.pointers if not p.element and p.array in buffers}
        own = [(name, stored[at]) for name, at in node.members if name in used and at in stored]
        apart: list[ArrayArgument] = []
        for name, pointer in own:
            kind = _pointer_type(used[name][0])
            if kind is None:
                continue
            new = unique_name(f"{node.name}_{name}", taken)
            edits += [(m.start, m.end, new) for m in used[name]]
            edits.append((node.end, node.end, f", {kind}{new}"))
            members.append(StructMember(node.name, name, new, pointer.at, f"{kind}{new}"))
            apart.append(replace(buffers.pop(pointer.array), name=new))
        gone = {m.at for m in members if m.struct == node.name}
        left = tuple(p for p in argument.pointers if p.at not in gone)
        arguments += [replace(argument, pointers=left), *apart]
    pieces: dict[tuple[int, int], str] = {}
    for start, end, text in edits:
        pieces[start, end] = pieces.get((start, end), "") + text
    made = [piece(kernel.text, *at, new.encode()) for at, new in pieces.items()]
    written = write_out(kernel.text, made)
    if written is None:
        return case
    held = tuple(b for b in case.inputs.buffers if b.name in buffers or alone[b.name] != 1)
    held += tuple(b for b in case.inputs.buffers if b.pointers and alone[b.name] == 1)
    inputs = replace(case.inputs, arguments=tuple(arguments), buffers=held)
    return replace(case, source=written.source, inputs=inputs, members=tuple(members))


def _used(kernel: ParsedKernel, parameter: Node) -> dict[str, list[Node]] | None:
    """Where the body names each member of a struct; None where it uses the struct otherwise."""
    found: dict[str, list[Node]] = {}
    for node in kernel.body.walk():
        if node.kind != "DECL_REF_EXPR" or node.target != parameter.id:
            continue
        member = outside(node)
        if member is None or member.kind != "MEMBER_REF_EXPR":
            return None
        # Exactly so, so that putting it back gives the same text.
        if kernel.text[member.start : member.end].decode() != f"{parameter.name}.{member.name}":
            return None
        found.setdefault(member.name, []).append(member)
    return found


def _pointer_type(member: Node) -> str | None:
    """The type of a pointer, without the qualifiers of the pointer itself; None of other types."""
    kind = _QUALIFIERS.sub("", _QUALIFIERS.sub("", member.type))
    return kind if re.fullmatch(r"[\w ]+\*", kind) else None
