"""Runs one of NVIDIA's command-line tools on a file, with nothing of the user's in the command."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from placewise.errors import CompileError
from placewise.helper_process import end_with_parent

_SECONDS = 300.0
"""Far above what the tools take (0.1 s per 10,000 instructions, or so)."""


@dataclass(frozen=True)
class Finished:
    """How a tool ended."""

    status: int
    output: str
    errors: str


def run_tool(program: Path, arguments: Sequence[str]) -> Finished:
    """Run ``program``; raises CompileError where it cannot be run or does not end."""
    try:
        done = subprocess.run(
            [str(program), *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            check=False,
            preexec_fn=end_with_parent,
        )
    except subprocess.TimeoutExpired as error:
        raise CompileError(f"{program.name} did not end in {_SECONDS:.0f} s") from error
    except OSError as error:
        raise CompileError(f"{program.name} cannot be run: {error}", where=str(program)) from error
    return Finished(done.returncode, done.stdout, done.stderr)
