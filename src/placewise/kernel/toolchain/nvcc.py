"""The nvcc that programs on this machine are built with, and the CUDA toolkit it belongs to."""

from __future__ import annotations

import os
import re
import shutil
from functools import cache
from pathlib import Path

from placewise.errors import CompileError
from placewise.kernel.toolchain.tool import Finished, run_tool

_RELEASE = re.compile(r"release (\d+\.\d+)")
_TOP = re.compile(r"^#\$ TOP=(.+)$", re.MULTILINE)


@cache
def nvcc_version() -> str | None:
    """Release of the ``nvcc`` on the path, such as ``12.4``; None where there is none, or where it
    does not say."""
    said = _asked("--version")
    release = said and _RELEASE.search(said.output)
    return release[1] if release else None


@cache
def nvcc_toolkit() -> Path | None:
    """Folder of the toolkit of the ``nvcc`` on the path, as it tells it; None where it does not.
    What is on the path may be a script that calls the program."""
    said = _asked("--dryrun", "-x", "cu", "-E", os.devnull)
    top = said and _TOP.search(said.errors)
    return Path(os.path.normpath(top[1].strip())) if top else None


def _asked(*arguments: str) -> Finished | None:
    program = shutil.which("nvcc")
    if program is None:
        return None
    try:
        return run_tool(Path(program), arguments)
    except CompileError:
        return None
