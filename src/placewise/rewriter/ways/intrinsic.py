"""Rewrite an array's loads to call a load function (way ``intrinsic``).

``A[i]`` becomes ``__ldg(&A[i])``. A function that CUDA C++ does not have is declared above the
kernel (:mod:`placewise.rewriter.ways.load_functions`).
"""

from __future__ import annotations

from collections.abc import Callable

from placewise.kernel.source import AccessPlace, ArrayUse
from placewise.rewriter.draft import Draft
from placewise.rewriter.text import Render
from placewise.rewriter.ways.load_functions import declared
from placewise.space import LOAD_FUNCTIONS, MemorySpace

_DEFAULT = "__ldg"


def place_intrinsic(draft: Draft, use: ArrayUse, space: MemorySpace) -> None:
    """Wrap every load of the array in the space's load function; its stores and updates stay as
    they are."""
    function = space.intrinsic or _DEFAULT
    loads = [place for place in use.accesses if place.kind == "load"]
    if function in LOAD_FUNCTIONS and not LOAD_FUNCTIONS[function].is_builtin:
        function = declared(draft, use, function, {place.member_type for place in loads})
    for place in loads:
        if place.intrinsic is not None:
            name_end = place.outer_start + len(place.intrinsic)
            draft.text.replace(place.outer_start, name_end, function)
            continue
        draft.text.replace(place.start, place.member_end, _wrapped(place, function))
    draft.notes.append(f"{use.name}: {space.name} ({function})")
    draft.edits.append(f"{use.name}: {len(loads)} loads through {function}")


def _wrapped(place: AccessPlace, function: str) -> Callable[[Render], str]:
    def make(render: Render) -> str:
        inside = render(place.start, place.member_end)
        if place.form == "dereference" and place.member_end == place.end:
            return f"{function}({_unparenthesised(inside[1:].strip())})"
        return f"{function}(&{inside})"

    return make


def _unparenthesised(text: str) -> str:
    """``(A + i)`` → ``A + i``, only where the outer parentheses belong together."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    for at, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if depth == 0 and at < len(text) - 1:
            return text
    return text[1:-1]
