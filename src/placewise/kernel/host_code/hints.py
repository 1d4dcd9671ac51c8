"""What a user can do about errors that leaving out host code did not mend."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from placewise.kernel.frontends.source_file import SourceFile
from placewise.kernel.host_code.dialect import NO_EXPRESSION
from placewise.kernel.host_code.gnu import has_statement_expressions
from placewise.kernel.host_code.header_types import UNDEFINED
from placewise.kernel.host_code.known_headers import is_among

_MISSES = re.compile(r"is undefined|must be a class or namespace|has no member|is not a template")
_REFERENCE = (
    "texture or surface reference, which CUDA 12 removed: let the kernel take an object instead "
    "(cudaTextureObject_t, cudaSurfaceObject_t)"
)


def hint_on(
    errors: Sequence[str], files: Sequence[SourceFile], refused: Mapping[str, str]
) -> str | None:
    """What to do where one of the messages ``errors`` misses something that was left out of
    ``files``, or may do so, or what NVRTC does not have. ``refused`` are headers of others that the
    compiler refused, and why."""
    left_out = {d.name: d for f in files for d in f.left_out if not d.parent}
    for error in errors:
        match = UNDEFINED.search(error)
        found = left_out.get(match[1]) if match else None
        if found is None:
            continue
        if found.words & {"texture", "surface"}:
            return f"{found.name} is a {_REFERENCE}"
        if found.callable:
            return f"{found.name} is a host function; mark it __device__"
        if found.kind == "class":
            return f"{found.name} has members that device code cannot have"
        return f"{found.name} is declared for the host alone"
    if any(NO_EXPRESSION in e for e in errors) and any(
        has_statement_expressions(f.text) for f in files
    ):
        return (
            "statements in an expression, ({ … }), are an extension of GNU's that NVRTC does "
            "not have: make them a function"
        )
    if not any(_MISSES.search(e) for e in errors):
        return None
    for file, text in refused.items():
        names = [i.name for f in files for i in f.dropped_includes]
        name = next((n for n in names if is_among(n, {file})), None)
        if name is not None:
            return f"{name} was left out, as the compiler refuses it: {text}"
    return None
