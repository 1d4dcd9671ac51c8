"""All that hides a kernel's arrays, written out level by level."""

from __future__ import annotations

from dataclasses import replace

from placewise.errors import CompileError, UnsupportedError
from placewise.kernel.cases.case import Case
from placewise.kernel.view.indices.interval import Bounder
from placewise.kernel.view.tree.clang import ParsedKernel, parse_kernel
from placewise.kernel.view.written_out.expanded_macros import expand_macros
from placewise.kernel.view.written_out.inlined_calls import inline_calls
from placewise.kernel.view.written_out.pointer_indices import write_indices
from placewise.kernel.view.written_out.uniform_loops import write_uniform_loops
from placewise.kernel.view.written_out.vector_loads import write_vectors

_LEVELS = 8
"""Most levels of calls and macros that are written out."""


def written_out(
    case: Case, kernel: ParsedKernel, bounder: Bounder | None = None, *, wide: bool = False
) -> tuple[str, ParsedKernel] | None:
    """The source of ``case`` with what hides arrays written out, one level at a time: macros and
    calls that take them, and pointers into them. With a ``bounder``, for the blocks of the case's
    launch, loops whose bounds differ between the threads of a block are written out, too.

    ``kernel`` is the case's source, parsed. ``wide``: indices need 64 bits. Returns the source and
    its parsed kernel, whose nodes have the lines of the case's own source; None where there is
    nothing to write out.
    """
    lines: tuple[int, ...] = ()
    source, parsed = None, kernel
    for _ in range(_LEVELS):
        found = (
            expand_macros(parsed)
            or inline_calls(parsed)
            or write_vectors(parsed, wide=wide)
            or write_indices(parsed, wide=wide)
            or (None if bounder is None else write_uniform_loops(parsed, bounder))
        )
        if found is None:
            break
        inner = replace(case, source=found.source)
        lines = tuple(lines[line - 1] if lines else line for line in found.lines)
        try:
            reparsed = parse_kernel(inner, lines)
        except (CompileError, UnsupportedError):
            break
        if len(reparsed.errors) > len(kernel.errors):
            break
        source, parsed = found.source, reparsed
    return None if source is None else (source, parsed)
