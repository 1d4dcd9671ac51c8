"""PTX to machine code with ptxas, for kernels that come as PTX.

ptxas makes of NVRTC's PTX the very code that NVRTC of the same version makes. nvJitLink does not:
it compiles for linking, with other registers and another schedule.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from placewise.errors import CaseError, CompileError
from placewise.kernel.toolchain.ptxas_log import Spills, spills_of
from placewise.kernel.toolchain.tool import run_tool
from placewise.kernel.toolchain.wheels import Target, toolkit

_REFUSAL = re.compile(r"(?:, line (?P<line>\d+); )?(?:error|fatal)\s*:\s*(?P<text>.*)")
_VERSION = re.compile(r"release (?P<version>\d+\.\d+)")


@dataclass(frozen=True)
class Assembly:
    """Machine code of a PTX module."""

    cubin: bytes
    spills: Mapping[str, Spills]
    """By mangled name of the kernel."""


def assemble(ptx: str, target: Target, filename: str) -> Assembly:
    """Machine code of the module ``ptx`` for ``target``.

    Raises CompileError with the first PTX line that ptxas refuses, CaseError where no ptxas of
    the target's release is installed.
    """
    program = _ptxas(target)
    with tempfile.TemporaryDirectory(prefix="placewise-") as folder:
        source, cubin = Path(folder) / "kernel.ptx", Path(folder) / "kernel.cubin"
        source.write_text(ptx)
        done = run_tool(
            program, ["-v", "-lineinfo", "-arch", target.arch, str(source), "-o", str(cubin)]
        )
        if done.status:
            raise _refused((done.errors or done.output).replace(str(source), filename), filename)
        return Assembly(cubin.read_bytes(), spills_of(done.errors + done.output))


def _ptxas(target: Target) -> Path:
    kit = toolkit(target.nvrtc)
    if kit.ptxas is None:
        raise CaseError(
            f"PTX cannot be assembled for {target}: there is no ptxas of its release",
            where="nvrtc",
            hint="pip install 'placewise[cuda12]', and ask for 12.9"
            if not kit.version.startswith("13.")
            else "pip install nvidia-cuda-nvcc",
        )
    found = _version(kit.ptxas)
    # Wheels of other releases put a ptxas in the same place.
    if found.split(".")[0] != kit.version.split(".")[0]:
        raise CaseError(
            f"PTX cannot be assembled for {target}: ptxas {found} is installed",
            where=str(kit.ptxas),
        )
    return kit.ptxas


@cache
def _version(program: Path) -> str:
    match = _VERSION.search(run_tool(program, ["--version"]).output)
    return match["version"] if match else "of unknown version"


def _refused(log: str, filename: str) -> CompileError:
    match = _REFUSAL.search(log)
    if match is None:
        return CompileError(f"ptxas refuses it: {log.strip() or 'no message'}", where=filename)
    place = f"{filename}:{match['line']}" if match["line"] else filename
    return CompileError(f"ptxas refuses it: {match['text'].strip()}", where=place)
