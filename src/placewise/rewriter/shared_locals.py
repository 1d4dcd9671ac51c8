"""Arrays of each thread's own in shared memory: element ``e`` of all threads of a block side by
side, so that lanes never meet in a bank, whichever elements they access.

``float best[8]`` becomes ``__shared__ float best[8 * 256]`` for blocks of 256 threads, and
``best[e]`` becomes ``best[e * 256 + thread]``.
"""

from __future__ import annotations

import re
from math import prod

from placewise.errors import UnsupportedError
from placewise.kernel.cases.bind_names import bind_names
from placewise.kernel.cases.case import Case, Language
from placewise.kernel.source import SourceView
from placewise.kernel.view.local_arrays import LocalArray
from placewise.rewriter.body import edit_body
from placewise.rewriter.draft import Draft
from placewise.rewriter.rewritten import Rewritten
from placewise.rewriter.tiles import check_block, thread_text
from placewise.rewriter.undone import finished
from placewise.space import Placement

_FACTOR = re.compile(r"\w+")
"""Expressions that need no parentheses beside ``*``."""


def share_local(case: Case, view: SourceView, local: LocalArray, space: str) -> Rewritten:
    """The case with an array of each thread in shared memory, which the machine calls ``space``.

    Raises UnsupportedError where the kernel is not CUDA C++.
    """
    if case.language is not Language.CUDA:
        raise UnsupportedError(
            f"the kernel is {case.language}, only CUDA C++ is rewritten", where=case.filename
        )
    bound = bind_names(case, view)
    draft = Draft.start(bound, view)
    threads = prod(case.launch.block)
    thread = draft.unique("this_thread")
    draft.entry.append(f"const int {thread} = {thread_text(case.launch.block)};")
    check_block(draft)
    length = _factor(draft.text.text[slice(*local.length)].decode().strip())
    draft.text.insert(local.start, "__shared__ ")
    draft.text.replace(*local.length, f"{length} * {threads}")
    if local.initialiser[0] < local.initialiser[1]:
        draft.text.replace(*local.initialiser, "")
        at = draft.unique("at")
        element = f"{local.name}[{at} * {threads} + {thread}]"
        draft.text.insert(local.end, f" for (int {at} = 0; {at} < {length}; ++{at}) {element} = 0;")
    for start, end in local.indices:
        inside = draft.text.text[start:end].decode()
        opening, closing = ("", "") if _FACTOR.fullmatch(inside) else ("(", ")")
        draft.text.insert(start, opening)
        draft.text.insert(end, f"{closing} * {threads} + {thread}")
    edit_body(draft)
    draft.notes.append(
        f"{local.name}: {space} ({local.elements} elements of each of {threads} threads)"
    )
    draft.edits.append(
        f"{local.name}: each thread's array goes from local to {space} memory (line {local.line}); "
        f"{len(local.indices)} accesses go there"
    )
    draft.host.append(f"// {local.name}: the launch stays as it is")
    return finished(draft, bound, Placement.of({local.name: space}))


def _factor(text: str) -> str:
    return text if _FACTOR.fullmatch(text) else f"({text})"
