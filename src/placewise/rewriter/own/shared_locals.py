"""Arrays of each thread's own in shared memory: element ``e`` of all threads of a block side by
side. With elements of 4 bytes and blocks of whole warps lanes never meet in a bank, whichever
elements they access.

``float best[8]`` becomes ``__shared__ float best[8][256]`` for blocks of 256 threads, and
``best[e]`` becomes ``best[e][this_thread]``.
"""

from __future__ import annotations

from math import prod

from placewise.kernel.cases.bind_names import bind_names
from placewise.kernel.cases.case import Case
from placewise.kernel.source import SourceView
from placewise.kernel.view.local_arrays import LocalArray
from placewise.rewriter.body import edit_body
from placewise.rewriter.capacity import check_static
from placewise.rewriter.draft import Draft, require_cuda
from placewise.rewriter.finish import finish_own
from placewise.rewriter.rewritten import Rewritten
from placewise.rewriter.tiles import check_block, thread_text
from placewise.space import Placement


def share_local(case: Case, view: SourceView, local: LocalArray, space: str) -> Rewritten:
    """The case with an array of each thread in shared memory, which the machine calls ``space``.

    Raises UnsupportedError where the kernel is not CUDA C++.
    """
    require_cuda(case)
    draft = Draft.start(bind_names(case, view), view)
    threads = prod(case.launch.block)
    draft.static_bytes += local.bytes * threads
    check_static(draft, local.name)
    thread = draft.unique("this_thread")
    draft.entry.append(f"const int {thread} = {thread_text(case.launch.block)};")
    check_block(draft)
    draft.text.insert(local.start, "__shared__ ")
    draft.text.replace(local.dimensions_end, local.initialiser_end, f"[{threads}]")
    if local.initialiser_end > local.dimensions_end:
        draft.text.insert(local.end, " " + _zeroed(draft, local, thread))
    for end in local.access_ends:
        draft.text.insert(end, f"[{thread}]")
    edit_body(draft)
    draft.notes.append(
        f"{local.name}: {space} ({' x '.join(local.lengths)} elements of each of {threads} threads)"
    )
    draft.edits.append(
        f"{local.name}: each thread's array goes from local to {space} memory (line {local.line}); "
        f"{len(local.access_ends)} accesses go there"
    )
    draft.host.append(f"// {local.name}: the launch stays as it is")
    return finish_own(draft, Placement.of({local.name: space}))


def _zeroed(draft: Draft, local: LocalArray, thread: str) -> str:
    """The statement that sets all elements of a thread to zero."""
    counters = [draft.unique("at") for _ in local.lengths]
    loops = [
        # A macro may stand for an operator that binds less than "<".
        f"for (int {at} = 0; {at} < {length if length.isdigit() else f'({length})'}; ++{at})"
        for at, length in zip(counters, local.lengths, strict=True)
    ]
    indices = "".join(f"[{at}]" for at in (*counters, thread))
    return f"{' '.join(loops)} {local.name}{indices} = 0;"
