"""A struct that replaces pointers to elements and hides the layout from the kernel.

``p[i].x`` of an array of structs becomes ``p.x(i)``. Only this struct knows where a field lies, so
the kernel's text is the same for every layout.
"""

from __future__ import annotations

from placewise.kernel.struct_uses import DeclaredField, StructArrays, UseKind
from placewise.rewriter.layouts.names import LayoutNames, is_struct
from placewise.space.layout import Group, Layout, shape_of

_INLINE = "__device__ __forceinline__"


def layout_declarations(
    arrays: StructArrays, layout: Layout, names: LayoutNames, *, constant: bool
) -> list[str]:
    """Lines that declare the structs of the groups and of the layout. ``constant``: the kernel
    writes to none of these arrays, so pointers are ``const``."""
    lines = [f"// {layout.kind()} layout of {arrays.type_name}, by Placewise: {layout.describe()}"]
    for group, named in zip(layout, names.groups, strict=True):
        if named.type_name:
            lines += _group_struct(arrays, group, named.type_name)
    lines += _layout_struct(arrays, layout, names, constant=constant)
    return lines


def element_type(arrays: StructArrays, layout: Layout, names: LayoutNames, group: int) -> str:
    """Type of the elements of a group's array."""
    named = names.groups[group].type_name
    return named or _type_text(arrays, layout.groups[group].fields[0])


def _declared(arrays: StructArrays, name: str) -> DeclaredField:
    return next(f for f in arrays.fields if f.name == name)


def _type_text(arrays: StructArrays, name: str) -> str:
    found = _declared(arrays, name)
    if found.suffix or not found.type_text:
        return f"decltype({arrays.type_name}::{name})"
    return found.type_text


def _group_struct(arrays: StructArrays, group: Group, type_name: str) -> list[str]:
    align = f"alignas({group.align_bytes}) " if group.align_bytes > 1 else ""
    lines = [f"struct {align}{type_name} {{"]
    lanes = f"[{group.lanes}]" if group.lanes > 1 else ""
    for name in group.fields:
        found = _declared(arrays, name)
        typed = found.type_text or f"decltype({arrays.type_name}::{name})"
        suffix = found.suffix if found.type_text else ""
        lines.append(f"    {typed} {name}{lanes}{suffix};")
    return [*lines, "};"]


def _layout_struct(
    arrays: StructArrays, layout: Layout, names: LayoutNames, *, constant: bool
) -> list[str]:
    moves = arrays.makes_pointers
    lines = [f"struct {names.type_name} {{"]
    for number, named in enumerate(names.groups):
        const = "const " if constant else ""
        lines.append(f"    {const}{element_type(arrays, layout, names, number)} *{named.pointer};")
    if moves:
        lines.append(f"    long long {names.own('at')};  // element that it points to")
    lines += [
        _whole_struct(arrays, layout, names, number, constant=constant)
        for number, group in enumerate(layout)
        if _is_loaded_whole(arrays, group)
    ]
    for name in arrays.record.names:
        index = f"{names.own('at')} + i" if moves else "i"
        lines.append(
            f"    {_INLINE} auto &{name}(long long i = 0) const "
            f"{{ return {_place(arrays, layout, names, name, index)}; }}"
        )
    kinds = {use.kind for use in arrays.uses}
    if UseKind.LOAD in kinds:
        lines += _load(arrays, names)
    if UseKind.STORE in kinds:
        lines += _store(arrays, names)
    if moves:
        lines += _pointer_operators(names.type_name, names.own("at"))
    return [*lines, "};"]


def _place(arrays: StructArrays, layout: Layout, names: LayoutNames, field: str, index: str) -> str:
    """The expression that accesses the field through the group's pointer."""
    number = layout.group_of(field)
    group, named = layout.groups[number], names.groups[number]
    if not is_struct(group):
        return f"{named.pointer}[{index}]"
    if group.lanes > 1:
        shift, mask = group.lanes.bit_length() - 1, group.lanes - 1
        bracketed = f"({index})" if " " in index else index
        return f"{named.pointer}[{bracketed} >> {shift}].{field}[{bracketed} & {mask}]"
    if _is_loaded_whole(arrays, group):
        return f"{named.short}_struct(i)->{field}"
    return f"{named.pointer}[{index}].{field}"


def _is_loaded_whole(arrays: StructArrays, group: Group) -> bool:
    """Whether the compiler can load a group's struct, or half of it, with one instruction."""
    return (
        group.lanes == 1
        and group.align_bytes > 1
        and (shape_of(arrays.record, group).align_bytes >= 8)
    )


def _whole_struct(
    arrays: StructArrays, layout: Layout, names: LayoutNames, number: int, *, constant: bool
) -> str:
    """The function that returns a pointer to a group's struct. It tells the compiler the alignment,
    without which each field would be loaded separately."""
    named, const = names.groups[number], "const " if constant else ""
    pointer = f"{const}{element_type(arrays, layout, names, number)} *"
    index = f"{names.own('at')} + i" if arrays.makes_pointers else "i"
    align = shape_of(arrays.record, layout.groups[number]).align_bytes
    return (
        f"    {_INLINE} {pointer}{named.short}_struct(long long i) const {{ return ({pointer})"
        f"__builtin_assume_aligned({named.pointer} + {index}, {align}); }}"
    )


def _load(arrays: StructArrays, names: LayoutNames) -> list[str]:
    load, i, element = names.own("load"), names.own("i"), names.own("element")
    lines = [f"    {_INLINE} {arrays.type_name} {load}(long long {i} = 0) const {{"]
    lines.append(f"        {arrays.type_name} {element};")
    lines += [f"        {_copy(f, f'{element}.{f.name}', f'{f.name}({i})')}" for f in arrays.fields]
    return [*lines, f"        return {element};", "    }"]


def _store(arrays: StructArrays, names: LayoutNames) -> list[str]:
    store, i, element = names.own("store"), names.own("i"), names.own("element")
    taken = f"long long {i}, const {arrays.type_name} &{element}"
    lines = [f"    {_INLINE} void {store}({taken}) const {{"]
    lines += [f"        {_copy(f, f'{f.name}({i})', f'{element}.{f.name}')}" for f in arrays.fields]
    return [*lines, "    }"]


def _copy(declared: DeclaredField, to: str, source: str) -> str:
    if not declared.suffix:
        return f"{to} = {source};"
    counts = declared.suffix.strip("[]").split("][")
    loops = "".join(
        f"for (int k{n} = 0; k{n} < {count}; k{n}++) " for n, count in enumerate(counts)
    )
    at = "".join(f"[k{n}]" for n in range(len(counts)))
    return f"{loops}{to}{at} = {source}{at};"


def _pointer_operators(name: str, at: str) -> list[str]:
    return [
        f"    {_INLINE} {name} operator+(long long n) const "
        f"{{ {name} moved = *this; moved.{at} += n; return moved; }}",
        f"    {_INLINE} friend {name} operator+(long long n, const {name} &p) {{ return p + n; }}",
        f"    {_INLINE} {name} operator-(long long n) const {{ return *this + -n; }}",
        f"    {_INLINE} long long operator-(const {name} &other) const "
        f"{{ return {at} - other.{at}; }}",
        f"    {_INLINE} {name} &operator+=(long long n) {{ {at} += n; return *this; }}",
        f"    {_INLINE} {name} &operator-=(long long n) {{ {at} -= n; return *this; }}",
        f"    {_INLINE} {name} &operator++() {{ ++{at}; return *this; }}",
        f"    {_INLINE} {name} operator++(int) {{ {name} old = *this; ++{at}; return old; }}",
        f"    {_INLINE} {name} &operator--() {{ --{at}; return *this; }}",
        f"    {_INLINE} {name} operator--(int) {{ {name} old = *this; --{at}; return old; }}",
        *(
            f"    {_INLINE} bool operator{sign}(const {name} &other) const "
            f"{{ return {at} {sign} other.{at}; }}"
            for sign in ("==", "!=", "<", "<=", ">", ">=")
        ),
    ]
