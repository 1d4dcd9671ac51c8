"""One-dimensional shared arrays of the source itself with an unused element after each 32, so that
lanes that access every 32nd element, or every 2nd, 4th, 8th …, meet in different banks.

``temp[i]`` becomes ``temp[spread(i)]``, with ``spread(i) = i + (i >> 5)`` for elements of 4 bytes:
the "conflict-free offset" of Harris, Sengupta and Owens, "Parallel Prefix Sum (Scan) with CUDA",
GPU Gems 3, 2007, chapter 39.
"""

from __future__ import annotations

import re

from placewise.errors import UnsupportedError
from placewise.kernel.cases.bind_names import bind_names
from placewise.kernel.cases.case import Case
from placewise.kernel.source import SourceView
from placewise.kernel.view.staging.own_elements import OwnElements
from placewise.rewriter.capacity import check_static
from placewise.rewriter.draft import Draft, require_cuda
from placewise.rewriter.finish import finish_own
from placewise.rewriter.host import launches_itself
from placewise.rewriter.own.padded_rows import BANK_BYTES
from placewise.rewriter.rewritten import Rewritten
from placewise.space import Placement

BANKS = 32
"""Banks of shared memory (CUDA C++ Programming Guide, "Shared Memory")."""
_C_BLOCK = re.compile(r'"C"(?:\s|/\*.*?\*/|//[^\n]*)*\{', re.S)


def spread_elements(case: Case, view: SourceView, own: OwnElements) -> Rewritten:
    """The case with the elements of a shared array of its own spread.

    Raises UnsupportedError where the kernel is not CUDA C++, the array is no longer than one row of
    banks, its elements do not fill banks evenly, or the file itself launches the kernel with too
    little dynamic shared memory for the longer array.
    """
    require_cuda(case)
    size = own.element_bytes
    if size not in (1, 2, 4, 8, 16):
        raise _refused(case, own, f"its elements have {size} bytes")
    group, more = BANKS * BANK_BYTES // size, max(1, BANK_BYTES // size)
    draft = Draft.start(bind_names(case, view), view)
    if own.length is None:
        _take_dynamic_memory(draft, own, group, more)
    else:
        if own.elements is None or own.elements <= group:
            raise _refused(case, own, f"it has no more than {group} elements")
        text = draft.text.text[slice(*own.length)].decode()
        length = text if own.is_factor else f"({text})"
        draft.static_bytes += own.elements // group * more * size
        check_static(draft, own.name)
        draft.text.replace(*own.length, f"{length} + {_unused(length, group, more)}")
        draft.host.append(f"// {own.name}: the launch stays as it is")
    name = _declare(draft, group, more)
    for start, end in own.indices:
        # One argument, even where the index has a comma.
        opening, closing = ("((", "))") if b"," in draft.text.text[start:end] else ("(", ")")
        draft.text.insert(start, f"{name}{opening}")
        draft.text.insert(end, closing)
    each = "an unused element" if more == 1 else f"{more} unused elements"
    draft.notes.append(f"{own.name}: {each} after every {group}, for the banks")
    draft.edits.append(
        f"{own.name}: {each} after every {group} (line {own.line}), "
        f"{len(own.indices)} accesses go by {name}"
    )
    return finish_own(draft, Placement((), padded=(own.name,)))


def _refused(case: Case, own: OwnElements, why: str) -> UnsupportedError:
    return UnsupportedError(
        f"elements of shared array '{own.name}' are not spread: {why}", where=case.filename
    )


def _unused(length: str, group: int, more: int) -> str:
    return f"{length} / {group}" + ("" if more == 1 else f" * {more}")


def _take_dynamic_memory(draft: Draft, own: OwnElements, group: int, more: int) -> None:
    """Give the launch room for the spread elements."""
    case = draft.case
    if launches_itself(case):
        raise _refused(case, own, "the launches in this file do not ask for the longer array")
    elements = case.launch.shared_bytes // own.element_bytes
    draft.shared_bytes = (elements + elements // group * more) * own.element_bytes
    draft.host.append(
        f"// {own.name}: its {elements} elements take {_unused('elements', group, more)} more, "
        f"{draft.shared_bytes} bytes of dynamic shared memory instead of {case.launch.shared_bytes}"
    )


def _declare(draft: Draft, group: int, more: int) -> str:
    """Declare the function that gives an element its place, and return its name."""
    name, shift = draft.unique("spread"), group.bit_length() - 1
    kind, at = draft.inner("T"), draft.inner("at")
    skipped = f"({at} >> {shift})" if more == 1 else f"({at} >> {shift}) * {more}"
    lines = [
        f"template <typename {kind}>",
        f"__device__ __forceinline__ auto {name}({kind} {at}) -> decltype({at} + 0) {{",
        f"    return {at} + {skipped};",
        "}",
    ]
    if _C_BLOCK.search(draft.case.source):
        # No template may stand in an extern "C" block.
        lines = ['extern "C++" {', *lines, "}"]
    draft.declarations += lines
    return name
