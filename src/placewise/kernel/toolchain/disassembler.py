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
_FLAGS = 0x30
"""Place of the flags in the header of a 64-bit ELF file. Those of a cubin hold its target in the
lowest and in the third byte."""
_VOLTA = (70, 72)
LISTINGS = DiskCache("listings", files=400)
"""nvdisasm takes half a second, however small the kernel."""


@lru_cache(maxsize=_REMEMBERED)
def disassemble(cubin: bytes, flags: tuple[str, ...] = ("-c", "-hex")) -> str:
    """What nvdisasm prints of ``cubin`` with ``flags``.

    Raises CompileError where nvdisasm is missing, refuses the file or does not end.
    """
    kept = LISTINGS.read(_key(cubin, flags))
    if kept is not None:
        return kept.decode()
    output = _run(flags, _as_turing(cubin))
    keep_disassembled(cubin, flags, output)
    return output


def disassemble_code(code: bytes, arch: str) -> str:
    """What nvdisasm prints, as JSON, of instructions for ``arch``, such as ``"sm_90a"``, without
    the file that they were in: targets of branches count from the first byte of ``code``.

    Raises CompileError where nvdisasm is missing, refuses the code or does not end.
    """
    version = "75" if int("".join(filter(str.isdigit, arch))) in _VOLTA else arch[len("sm_") :]
    return _run(("-b", f"SM{version}", "-json"), code)


def is_disassembled(cubin: bytes, flags: tuple[str, ...]) -> bool:
    """Whether :func:`disassemble` need not run nvdisasm for this."""
    return LISTINGS.read(_key(cubin, flags)) is not None


def keep_disassembled(cubin: bytes, flags: tuple[str, ...], output: str) -> None:
    """Keep what nvdisasm prints of ``cubin`` with ``flags`` for :func:`disassemble`."""
    LISTINGS.write(_key(cubin, flags), output.encode())


def _key(cubin: bytes, flags: tuple[str, ...]) -> str:
    nvdisasm()
    return key_of(importlib.metadata.version(_DISTRIBUTION), *flags, cubin)


def _run(flags: tuple[str, ...], contents: bytes) -> str:
    with tempfile.TemporaryDirectory(prefix="placewise-") as folder:
        path = Path(folder) / "kernel.cubin"
        path.write_bytes(contents)
        done = run_tool(nvdisasm(), [*flags, str(path)])
    if done.status:
        reason = done.errors.replace(str(path), "the cubin").strip() or "no message"
        raise CompileError(
            f"nvdisasm refuses the machine code: {reason}",
            hint="it reads sm_70 and later" if "architecture" in reason else None,
        )
    return done.output


def _as_turing(cubin: bytes) -> bytes:
    """A cubin for Volta with the target sm_75 in the flags of its ELF header; other files as they
    are. nvdisasm of CUDA 13 reads no Volta, whose instructions Turing encodes in the same way; it
    has more of them. Tests run such listings beside the PTX that they were made of."""
    flags = int.from_bytes(cubin[_FLAGS : _FLAGS + 4], "little")
    if cubin[:4] != b"\x7fELF" or flags & 0xFF not in _VOLTA or flags >> 16 & 0xFF not in _VOLTA:
        return cubin
    turing = (flags & ~0xFF00FF | 75 << 16 | 75).to_bytes(4, "little")
    return cubin[:_FLAGS] + turing + cubin[_FLAGS + 4 :]


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
