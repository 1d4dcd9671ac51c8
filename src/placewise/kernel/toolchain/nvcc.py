"""The nvcc that programs on this machine are built with, where there is one."""

from __future__ import annotations

import re
import shutil
from functools import cache
from pathlib import Path

from placewise.errors import CompileError
from placewise.kernel.toolchain.tool import run_tool

_RELEASE = re.compile(r"release (\d+\.\d+)")


@cache
def nvcc_version() -> str | None:
    """Release of the ``nvcc`` on the path, such as ``12.4``; None where there is none, or where it
    does not say."""
    program = shutil.which("nvcc")
    if program is None:
        return None
    try:
        said = run_tool(Path(program), ["--version"]).output
    except CompileError:
        return None
    release = _RELEASE.search(said)
    return release[1] if release else None
