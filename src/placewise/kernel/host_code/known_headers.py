"""What is known of a source's headers before a compiler has seen it, which saves compilations."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from placewise.kernel.cases.case import CompileOptions
from placewise.kernel.frontends.source_file import SourceFile
from placewise.kernel.host_code.includes import Include, is_host_only, resolve
from placewise.kernel.host_code.tokens import tokens
from placewise.kernel.toolchain import nvrtc_library, toolkit

FEW_HEADERS = "_CG_LIMIT_INCLUDED_DEPENDENCIES"
"""CUDA's macro that keeps ``cooperative_groups.h`` from including CUDA's own C++ library, which
takes NVRTC most of a second."""
_GROUPS = "cooperative_groups"
_DRIVER, _VERSION = "cuda.h", "CUDA_VERSION"
_ITS_LIBRARY = re.compile(r"\bcuda\s*::|\bthread_scope|[<\"](?:cuda|cub|thrust)/|_CG_")
"""What may need the library that cooperative groups include."""
_STAND_INS = Path(__file__).with_name("headers")


def cuda_headers(nvrtc: str) -> tuple[Path, ...]:
    """Folders of CUDA's own headers, from their wheels, and of stand-ins for those of the C and C++
    libraries."""
    return (*toolkit(nvrtc).headers, _STAND_INS)


def version_macro(
    files: Sequence[SourceFile], options: CompileOptions
) -> tuple[tuple[str, str], ...]:
    """The macro by which a source asks for CUDA's version, and its value, where the header that
    defines it (``cuda.h``, which declares functions of the host) was left out."""
    left_out = any(i.name == _DRIVER for f in files for i in f.dropped_includes)
    if not left_out or any(name == _VERSION for name, _ in options.defines):
        return ()
    major, minor = nvrtc_library(options.nvrtc).version.split(".")[:2]
    return ((_VERSION, str(1000 * int(major) + 10 * int(minor))),)


def may_limit_headers(files: Sequence[SourceFile]) -> bool:
    """Whether the source includes cooperative groups and nothing in it seems to need CUDA's C++
    library."""
    uses = any(i.name.startswith(_GROUPS) for f in files for i in f.includes)
    return uses and not any(_ITS_LIBRARY.search(f.text) for f in files)


def absent_headers(
    files: Sequence[SourceFile], paths: Sequence[Path]
) -> tuple[list[tuple[SourceFile, Include]], bool]:
    """The directives of host headers that are neither beside the file nor in ``paths``, and whether
    the compiler is sure to reach one of them."""
    found = [
        (file, include)
        for file in files
        for include in file.includes
        if is_host_only(include.name) and not resolve(include, file.path.parent, paths)
    ]
    return found, any(_is_unconditional(file, include) for file, include in found)


def _is_unconditional(file: SourceFile, include: Include) -> bool:
    """Whether no ``#if`` is around a directive, apart from a header's guard against being included
    twice."""
    names = [t.directive for t in tokens(file.text) if t.kind == "directive"]
    before = [
        t.directive for t in tokens(file.text) if t.kind == "directive" and t.end <= include.start
    ]
    guard = names[:2] == ["ifndef", "define"] and names[-1] == "endif"
    depth = sum(name.startswith("if") for name in before) - before.count("endif")
    return depth == guard


def is_among(name: str, unreadable: set[str]) -> bool:
    """Whether a header of CUDA is one of the files that NVRTC refused, or leads to them."""
    for file in unreadable:
        folder = name.partition("/")[0] + "/"
        same_library = folder == "thrust/" or (folder != name + "/" and is_host_only(name))
        if file.endswith(f"/{name}") or (same_library and f"/{folder}" in file):
            return True
        # The driver's functions: kernels use none, and other host headers include it.
        if file.endswith("/cuda.h") and is_host_only(name):
            return True
    return False
