"""Machine code to text with nvdisasm."""

from __future__ import annotations

import importlib.metadata
import tempfile
from functools import cache, lru_cache
from pathlib import Path

from placewise.disk_cache import DiskCache, key_of
from placewise.errors import CompileError
from placewise.kernel.toolchain.tool import run_tool

_DISTRIBUTION = "nvidia-cuda-nvdisasm"
_PATH = "nvidia/cu13/bin/nvdisasm"
_REMEMBERED = 32
"""Listings kept in memory, by contents of the cubin."""
LISTINGS = DiskCache("listings", files=400)
"""nvdisasm takes a quarter of a second, however small the kernel."""


@lru_cache(maxsize=_REMEMBERED)
def disassemble(cubin: bytes, flags: tuple[str, ...] = ("-c", "-hex")) -> str:
    """What nvdisasm prints of ``cubin`` with ``flags``.

    Raises CompileError where nvdisasm is missing, refuses the file or does not end.
    """
    program = nvdisasm()
    key = key_of(importlib.metadata.version(_DISTRIBUTION), *flags, cubin)
    kept = LISTINGS.read(key)
    if kept is not None:
        return kept.decode()
    with tempfile.TemporaryDirectory(prefix="placewise-") as folder:
        path = Path(folder) / "kernel.cubin"
        path.write_bytes(cubin)
        done = run_tool(program, [*flags, str(path)])
    if done.status:
        reason = done.errors.replace(str(path), "the cubin").strip() or "no message"
        raise CompileError(
            f"nvdisasm refuses the machine code: {reason}",
            hint="it reads sm_75 and later" if "architecture" in reason else None,
        )
    LISTINGS.write(key, done.output.encode())
    return done.output


@cache
def nvdisasm() -> Path:
    """The program, from its wheel; raises CompileError where it is missing."""
    try:
        path = Path(str(importlib.metadata.distribution(_DISTRIBUTION).locate_file(_PATH)))
    except importlib.metadata.PackageNotFoundError:
        path = Path(_PATH)
    if not path.is_file():
        raise CompileError(
            "nvdisasm is not installed", hint=f"pip install {_DISTRIBUTION}, NVIDIA's wheel"
        )
    return path
