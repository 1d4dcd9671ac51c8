"""Load functions that CUDA C++ does not have. A rewritten file declares them; each is one PTX
instruction with a cache hint.

``load_no_allocate(&A[i])`` loads a ``float`` by ``ld.global.L1::no_allocate.f32``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from placewise.kernel.source import ArrayUse
from placewise.kernel.view.elements import vector_parts
from placewise.kernel.view.tree.template import template_parameters
from placewise.rewriter.draft import Draft
from placewise.space import LOAD_FUNCTIONS

_HALVES = {"__half": 1, "__nv_bfloat16": 1, "__half2": 2, "__nv_bfloat162": 2}
"""Types that are loaded as this many 16-bit integers."""


class _Register(NamedTuple):
    """Types with which inline assembly loads a number."""

    ptx: str
    """Type of the load, ``f32``."""
    constraint: str
    """Constraint letter of the operand in inline assembly."""
    type: str
    """Type of the operand in CUDA C++."""


_REGISTERS = {
    "int8": _Register("s8", "r", "int"),
    "uint8": _Register("u8", "r", "unsigned int"),
    "int16": _Register("s16", "h", "short"),
    "uint16": _Register("u16", "h", "unsigned short"),
    "int32": _Register("s32", "r", "int"),
    "uint32": _Register("u32", "r", "unsigned int"),
    "int64": _Register("s64", "l", "long long"),
    "uint64": _Register("u64", "l", "unsigned long long"),
    "float32": _Register("f32", "f", "float"),
    "float64": _Register("f64", "d", "double"),
}


def declared(draft: Draft, use: ArrayUse, function: str, types: Iterable[str]) -> str:
    """Declare ``function`` above the kernel, once for each of ``types`` of elements. Returns its
    name in the file.

    The assembly is volatile, since the compiler might otherwise move it ahead of the condition that
    keeps its address inside the array. If something writes to the array, the load also keeps its
    order with stores, by a function of its own. Where a program is also compiled for GPUs without
    the hint, or for other types of a template, the load there is a plain one.
    """
    fixed = not use.written and not _shares_memory(draft, use)
    wanted = function if fixed else f"{function}_in_order"
    name = draft.load_functions.get(wanted)
    if name is None:
        name = draft.load_functions[wanted] = draft.unique(wanted)
        words = LOAD_FUNCTIONS[function].hint
        asked = words.describe() if words else ""
        draft.declarations.append(f"// Loads with a cache hint (PTX ISA, ld): {asked}.")
    p, v, t = (draft.inner(one) for one in ("p", "v", "T"))
    head = f"static __device__ __forceinline__ {{}} {name}(const {{}} *{p}) {{{{"
    if _has_type_of_template(draft, use):
        plain = f"template <typename {t}> {head.format(t, t)} return *{p}; }}"
        draft.declarations += [plain] if plain not in draft.declarations else []
    for type_ in sorted({t.removeprefix("const ") for t in types}):
        first = head.format(type_, type_)
        if first not in draft.declarations:
            least = LOAD_FUNCTIONS[function].target
            older = [f"#if __CUDA_ARCH__ < {least}0", f"    return *{p};", "#else"]
            hinted = _body(function, type_, p, v, is_fixed=fixed)
            draft.declarations += [first, *older, *hinted, "#endif", "}"]
    return name


def _has_type_of_template(draft: Draft, use: ArrayUse) -> bool:
    """Whether the array's type names a type of the kernel's template, so that other instances of it
    may have arrays of other types."""
    text, parameter = draft.text.text, use.parameter
    found = template_parameters(text, draft.case.kernel, draft.view.signature_start)
    declared = text[max(0, parameter.start) : max(0, parameter.end)].decode()
    return any(t.is_type and re.search(rf"\b{re.escape(t.name)}\b", declared) for t in found)


def _shares_memory(draft: Draft, use: ArrayUse) -> bool:
    """Whether another argument of the case lies in the array's memory."""
    arrays = draft.case.inputs.arrays
    own = next((a.data for a in arrays if a.name == use.name), None)
    others = (a.data for a in arrays if a.name != use.name)
    return own is None or any(np.may_share_memory(own, other) for other in others)


def _body(function: str, type_: str, pointer: str, value: str, *, is_fixed: bool) -> list[str]:
    """Statements that load a ``type_`` by way of a ``value``. ``is_fixed``: nothing writes to the
    array."""
    base, lanes = _parts(type_)
    register = _REGISTERS[base]
    names = [f"{value}{n}" for n in range(lanes)] if lanes > 1 else [value]
    targets = ", ".join(f"%{n}" for n in range(lanes))
    vector = f".v{lanes}" if lanes > 1 else ""
    targets = f"{{{targets}}}" if lanes > 1 else targets
    qualifiers = ".".join(LOAD_FUNCTIONS[function].qualifiers)
    load = f"ld.global.{qualifiers}{vector}.{register.ptx} {targets}, [%{lanes}];"
    outputs = ", ".join(f'"={register.constraint}"({name})' for name in names)
    clobber = "" if is_fixed else ' : "memory"'
    lines = [
        f"    {register.type} {', '.join(names)};",
        f'    asm volatile("{load}" : {outputs} : "l"({pointer}){clobber});',
    ]
    if type_ in _HALVES:
        words = f"unsigned short bits[] = {{{', '.join(names)}}};"
        return [*lines, f"    {words}", f"    return *reinterpret_cast<{type_} *>(bits);"]
    if lanes > 1:
        made = _number_in(type_)
        cast = "" if made == register.type else f"({made})"
        return [*lines, f"    return make_{type_}({', '.join(cast + name for name in names)});"]
    return [*lines, f"    return {'' if type_ == register.type else f'({type_})'}{value};"]


def _parts(type_: str) -> tuple[str, int]:
    """NumPy dtype of an element's numbers, and how many the element has."""
    if type_ in _HALVES:
        return "uint16", _HALVES[type_]
    parts = vector_parts(type_)
    assert parts is not None, f"no load function for {type_}: refused before"
    return parts


def _number_in(vector: str) -> str:
    """Type of the numbers of a vector, as C++ has it."""
    kind = vector[:-1]
    base = kind.removeprefix("u").replace("longlong", "long long")
    if kind.startswith("u"):
        return f"unsigned {base}"
    return "signed char" if base == "char" else base
