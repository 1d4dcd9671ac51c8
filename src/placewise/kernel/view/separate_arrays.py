"""Arrays of numbers that a kernel indexes alike, so that they could be fields of one struct.

Arrays of the same length such as ``x``, ``y`` and ``z`` are a structure of arrays (SoA) without a
name; pointers ``p.x``, ``p.y`` in a struct that the kernel gets by value are one with a name. Each
access ``x[i]`` becomes that of a field, ``q[i].x``, where they are joined.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from placewise.errors import CaseError, UnsupportedError
from placewise.kernel.cases.case import Case
from placewise.kernel.launch import ArrayArgument, ScalarArgument, StoredPointer
from placewise.kernel.source import SourceView
from placewise.kernel.view.followed_arrays import ArrayFollower, ElementUse, RetypedPointer
from placewise.kernel.view.tree.clang import ParsedKernel, parse_kernel


@dataclass(frozen=True)
class SeparateArrays:
    """Arrays that can be joined, and every use of them."""

    fields: tuple[str, ...]
    """Names of the fields that they become: the kernel's parameters, or the struct's members, in
    their order."""
    arrays: tuple[str, ...]
    """The case's array of each field."""
    types: tuple[str, ...]
    """Type of each field's elements, such as ``float``."""
    is_constant: bool
    """The kernel gets all of them as pointers to constants."""
    struct: str
    """Parameter of the kernel that is a struct of pointers to them; empty: they are parameters
    themselves."""
    uses: tuple[ElementUse, ...]
    roots: tuple[tuple[int, int], ...]
    """Ranges of the source where one of the arrays is named."""
    retyped: tuple[RetypedPointer, ...]
    received: tuple[int, ...]
    """Ends of functions' parameters that are the struct of pointers."""
    handed: tuple[int, ...]
    """Ends of calls' arguments that are the struct of pointers."""
    above: int
    """Where a declaration can stand that all uses see: the line of the first function with uses,
    or of the comment above it."""


def separate_arrays(case: Case, view: SourceView, arrays: Sequence[str]) -> SeparateArrays:
    """Every use of some arrays of ``case``, whose arguments have their parameters' names.
    ``arrays`` are parameters, or members of one struct of pointers: ``p.x``, or ``p`` for all that
    the kernel uses.

    Raises CaseError for what is no array of numbers, for arrays of different lengths or fewer than
    two; UnsupportedError, with the line, where one is used in a way that cannot be written for a
    struct.
    """
    kernel = parse_kernel(case)
    structs = {p.name for p in kernel.parameters if p.type_kind == "RECORD"}
    holders = {name.partition(".")[0] for name in arrays} & structs
    if holders:
        return _members(case, kernel, arrays, holders)
    names = tuple(p.name for p in view.parameters if p.name in arrays)
    _check(case, view, arrays, names)
    _check_skipped(kernel, names, case.filename)
    follower = ArrayFollower(kernel, case.filename)
    follower.follow_arrays({p.id: p.name for p in kernel.parameters if p.name in names})
    declared = {p.name: p for p in view.parameters}
    types = tuple(declared[name].element_type for name in names)
    constant = all(declared[name].type_text.startswith("const ") for name in names)
    return _found(kernel, follower, names, names, types, constant, "")


def pointer_structs(case: Case) -> tuple[str, ...]:
    """The kernel's parameters that are structs of two or more pointers to arrays of one length, of
    which it uses two or more."""
    holders = [a.name for a in case.inputs.arguments
               if isinstance(a, ScalarArgument) and len(a.pointers) > 1]  # fmt: skip
    if not holders:
        return ()
    kernel = parse_kernel(case)
    found = []
    for parameter in kernel.parameters:
        if parameter.type_kind == "RECORD" and parameter.name in holders:
            try:
                _members(case, kernel, (parameter.name,), {parameter.name})
            except (CaseError, UnsupportedError):
                continue
            found.append(parameter.name)
    return tuple(found)


# One branch for each way in which a source may use a struct.
def _members(
    case: Case, kernel: ParsedKernel, wanted: Sequence[str], holders: set[str]
) -> SeparateArrays:
    """Every use of members of a struct of pointers."""
    if len(holders) > 1 or any(name.partition(".")[0] not in holders for name in wanted):
        raise CaseError("only members of one struct can be joined with each other", where="join")
    (holder,) = holders
    parameter = next(p for p in kernel.parameters if p.name == holder)
    argument = next(a for a in case.inputs.arguments if a.name == holder)
    stored = {p.at: p for p in argument.pointers} if isinstance(argument, ScalarArgument) else {}
    pointers = {name: stored[at] for name, at in parameter.members if at in stored}
    asked = [n.partition(".")[2] for n in wanted if "." in n]
    for name in asked:
        if name not in pointers:
            raise CaseError(
                f"'{holder}.{name}' is no pointer to an array",
                where="join",
                hint="pointers: " + ", ".join(f"{holder}.{n}" for n in pointers),
            )
    _check_skipped(kernel, (holder,), case.filename)
    follower = ArrayFollower(kernel, case.filename, frozenset(asked or pointers))
    follower.follow_struct(parameter)
    fields = tuple(name for name, _ in parameter.members if name in follower.types)
    unused = next((name for name in asked if name not in fields), None)
    if unused is not None:
        raise CaseError(f"the kernel does not use '{holder}.{unused}'", where="join")
    _check_buffers(case, holder, {name: pointers[name] for name in fields})
    types = [follower.types[name].rpartition("*")[0].strip() for name in fields]
    constant = all(t.startswith("const ") for t in types)
    plain = tuple(t.removeprefix("const ") for t in types)
    arrays = tuple(pointers[name].array for name in fields)
    return _found(kernel, follower, fields, arrays, plain, constant, holder)


def _check_buffers(case: Case, holder: str, pointers: dict[str, StoredPointer]) -> None:
    """Raise CaseError unless the pointers lead to the starts of two or more buffers of one length,
    and no other pointer leads there."""
    if len(pointers) < 2:
        raise CaseError(f"the kernel uses fewer than two pointers of '{holder}'", where="join")
    buffers = {b.name: b for b in case.inputs.buffers}
    held = [p.array for _, p in case.inputs.pointers]
    lengths = {}
    for name, pointer in pointers.items():
        buffer = buffers.get(pointer.array)
        if buffer is None or pointer.element or held.count(pointer.array) > 1 or buffer.pointers:
            raise CaseError(
                f"'{holder}.{name}' does not lead to the start of a buffer of its own, of numbers",
                where="join",
            )
        lengths[name] = buffer.data.size
    first, *others = lengths
    for name in others:
        _check_length(f"{holder}.{first}", lengths[first], f"{holder}.{name}", lengths[name])


def _found(
    kernel: ParsedKernel, follower: ArrayFollower, fields: tuple[str, ...],
    arrays: tuple[str, ...], types: tuple[str, ...], constant: bool, struct: str,
) -> SeparateArrays:  # fmt: skip
    """What was followed, with the place above all functions that use it."""
    retyped = tuple(sorted(follower.retyped.values(), key=lambda r: r.start))
    received = tuple(sorted(set(follower.received.values())))
    places = [*(r.start for r in retyped), *received, *(start for start, _ in follower.roots)]
    return SeparateArrays(
        fields=fields,
        arrays=arrays,
        types=types,
        is_constant=constant,
        struct=struct,
        uses=tuple(follower.uses.values()),
        roots=tuple(sorted(follower.roots)),
        retyped=retyped,
        received=received,
        handed=tuple(sorted(follower.handed)),
        above=kernel.above(places),
    )


def joinable(case: Case, view: SourceView) -> tuple[tuple[str, ...], ...]:
    """Groups of arrays that can be joined and of which each is indexed by the same expression as
    another one of its group."""
    kernel = parse_kernel(case)
    lengths = {a.name: a.data.size for a in case.inputs.arguments if isinstance(a, ArrayArgument)}
    seen: dict[tuple[int, str], set[str]] = {}
    for parameter in view.parameters:
        name = parameter.name
        if not parameter.is_pointer or parameter.element_dtype is None or name not in lengths:
            continue
        try:
            _check(case, view, (name, name), (name, name))
            follower = ArrayFollower(kernel, case.filename)
            node = next(p for p in kernel.parameters if p.name == name)
            follower.follow_arrays({node.id: name})
        except (CaseError, UnsupportedError):
            continue
        for use in follower.uses.values():
            if use.index is None:
                continue
            index = b"".join(kernel.text[slice(*use.index)].split()).decode()
            seen.setdefault((lengths[name], index), set()).add(name)
    groups: list[set[str]] = []
    for together in seen.values():
        touching = [g for g in groups if g & together]
        groups = [g for g in groups if not g & together]
        groups.append(set().union(together, *touching))
    order = [p.name for p in view.parameters]
    found = [tuple(sorted(g, key=order.index)) for g in groups if len(g) > 1]
    return tuple(sorted(found, key=lambda group: order.index(group[0])))


def _check(case: Case, view: SourceView, wanted: Sequence[str], names: tuple[str, ...]) -> None:
    """Raise CaseError unless the arrays are at least two, of numbers, and of one length."""
    known = {p.name: p for p in view.parameters}
    for name in wanted:
        parameter = known.get(name)
        if parameter is None or not parameter.is_pointer or parameter.element_dtype is None:
            raise CaseError(
                f"'{name}' is no array of numbers of the kernel's",
                where="join",
                hint="arrays: " + ", ".join(p.name for p in view.parameters if p.is_pointer),
            )
    if len(names) < 2:
        raise CaseError("one array alone cannot be joined", where="join")
    lengths = {}
    for argument in case.inputs.arguments:
        if argument.name in names:
            if not isinstance(argument, ArrayArgument):
                raise CaseError(f"argument '{argument.name}' is no array", where="join")
            lengths[argument.name] = argument.data.size
    first, *others = names
    for name in others:
        _check_length(first, lengths[first], name, lengths[name])


def _check_length(first: str, elements: int, other: str, others: int) -> None:
    """Raise CaseError where two arrays have not one length."""
    if elements != others:
        raise CaseError(
            f"'{first}' has {elements} elements and '{other}' {others}; only arrays of one length "
            "can be joined",
            where="join",
        )


def _check_skipped(kernel: ParsedKernel, names: tuple[str, ...], filename: str) -> None:
    """Refuse what a branch names that the preprocessor left out: it would keep old text."""
    for start, end in kernel.skipped:
        text = kernel.text[start:end]
        for name in names:
            if kernel.body.start <= start < kernel.body.end and name.encode() in text:
                line = kernel.text.count(b"\n", 0, start) + 1
                raise UnsupportedError(
                    f"'{name}' is used in a branch left out by the preprocessor (line {line}), it "
                    "cannot be joined",
                    where=filename,
                )
