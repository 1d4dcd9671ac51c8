"""Host code that converts arrays of structs to a layout and back, in C++ and in NumPy."""

from __future__ import annotations

from collections.abc import Sequence

from placewise.rewriter.layouts.accessors import element_type
from placewise.rewriter.layouts.names import is_struct
from placewise.rewriter.layouts.rewrite_layout import Relaid
from placewise.space.layout import Group, shape_of


def cpp_conversion(relaid: Relaid, joined: Sequence[str] = ()) -> str:
    """Two C++ functions that convert to the layout and back. They need the structs of the rewritten
    source. Where the fields were separate arrays, named in ``joined``, the functions take these
    arrays.

    Groups with lanes need room for a whole number of their structs: elements divided by lanes,
    rounded up.
    """
    arrays, layout, names = relaid.arrays, relaid.layout, relaid.names
    parameters = [
        (element_type(arrays, layout, names, n), named.pointer)
        for n, named in enumerate(names.groups)
    ]
    lines = []
    for to, const_from, const_to in ((True, "const ", ""), (False, "", "const ")):
        word = "to" if to else "from"
        groups = ", ".join(f"{const_to}{kind} *{name}" for kind, name in parameters)
        old = f"{const_from}{arrays.type_name} *elements"
        if joined:
            old = ", ".join(f"{const_from}{f.type_text} *{f.name}" for f in arrays.fields)
        lines += [
            f"void {word}_{names.type_name}({old}, {groups}, size_t count) {{",
            "    for (size_t i = 0; i < count; i++) {",
        ]
        for number, group in enumerate(layout):
            for field in group.fields:
                place = _place(group, names.groups[number].pointer, field)
                whole = f"{field}[i]" if joined else f"elements[i].{field}"
                left, right = (place, whole) if to else (whole, place)
                lines.append(f"        {_assign(relaid, field, left, right)}")
        lines += ["    }", "}"]
    return "\n".join(lines) + "\n"


def _place(group: Group, pointer: str, field: str) -> str:
    if not is_struct(group):
        return f"{pointer}[i]"
    if group.lanes == 1:
        return f"{pointer}[i].{field}"
    return f"{pointer}[i / {group.lanes}].{field}[i % {group.lanes}]"


def _assign(relaid: Relaid, field: str, left: str, right: str) -> str:
    declared = next(f for f in relaid.arrays.fields if f.name == field)
    if declared.suffix:
        return f"memcpy(&{left}, &{right}, sizeof {left});"
    return f"{left} = {right};"


def numpy_conversion(relaid: Relaid, joined: Sequence[str] = ()) -> str:
    """Two Python functions that convert to the layout and back, between a structured array of shape
    (elements,) with the struct's fields and a tuple with one array for each group. Where the fields
    were separate arrays, named in ``joined``, two more functions take and fill these arrays."""
    layout, names = relaid.layout, relaid.names
    shorts = [f"{named.short}_group" for named in names.groups]
    lines = ["import numpy as np", "", "", f"def to_{names.type_name}(elements):"]
    lines.append("    count = len(elements)")
    for group, short in zip(layout, shorts, strict=True):
        lines += [f"    {line}" for line in _to_group(relaid, group, short)]
    returned = ", ".join(shorts) + ("," if len(shorts) == 1 else "")
    lines += [f"    return {returned}", "", ""]
    lines.append(f"def from_{names.type_name}({', '.join(shorts)}, elements):")
    lines.append("    count = len(elements)")
    for group, short in zip(layout, shorts, strict=True):
        for field in group.fields:
            if not is_struct(group):
                source = short
            elif group.lanes == 1:
                source = f'{short}["{field}"]'
            else:
                inner = f'elements.dtype["{field}"].shape'
                source = f'{short}["{field}"].reshape((-1, *{inner}))[:count]'
            lines.append(f'    elements["{field}"] = {source}')
    lines.append("    return elements")
    if joined:
        lines += _of_separate_arrays(names.type_name, shorts, joined)
    return "\n".join(lines) + "\n"


def _of_separate_arrays(name: str, groups: Sequence[str], joined: Sequence[str]) -> list[str]:
    """Functions between separate arrays and the groups' arrays."""
    apart = ", ".join(joined)
    together = f'np.rec.fromarrays([{apart}], names="{",".join(joined)}")'
    return [
        "",
        "",
        f"def to_{name}_from_arrays({apart}):",
        f"    return to_{name}({together})",
        "",
        "",
        f"def from_{name}_to_arrays({', '.join(groups)}, {apart}):",
        f"    elements = from_{name}({', '.join(groups)}, {together})",
        *(f'    {field}[...] = elements["{field}"]' for field in joined),
    ]


def _to_group(relaid: Relaid, group: Group, short: str) -> list[str]:
    """Statements that make a group's array of ``elements``."""
    if not is_struct(group):
        return [f'{short} = np.ascontiguousarray(elements["{group.fields[0]}"])']
    shape = shape_of(relaid.arrays.record, group)
    lanes = f", ({group.lanes},)" if group.lanes > 1 else ""
    formats = ", ".join(
        f'(elements.dtype["{f}"]{lanes})' if lanes else f'elements.dtype["{f}"]'
        for f in group.fields
    )
    lines = [
        f"{short} = np.zeros(-(-count // {group.lanes}), np.dtype({{",
        f'    "names": {list(group.fields)!r}, "formats": [{formats}],',
        f'    "offsets": {list(shape.offsets)!r}, "itemsize": {shape.size_bytes},',
        "}))",
    ]
    for field in group.fields:
        if group.lanes == 1:
            lines.append(f'{short}["{field}"] = elements["{field}"]')
        else:
            inner = f'elements.dtype["{field}"].shape'
            lines += [
                f"padded = np.zeros((len({short}) * {group.lanes}, *{inner}), "
                f'elements.dtype["{field}"].base)',
                f'padded[:count] = elements["{field}"]',
                f'{short}["{field}"] = padded.reshape({short}["{field}"].shape)',
            ]
    return lines
