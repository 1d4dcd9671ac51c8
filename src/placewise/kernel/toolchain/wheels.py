"""Which of NVIDIA's compilers are installed, and where the parts of each are.

Registers, schedules and spills of a kernel change with the compiler's version, so the version is
part of a target. Each comes as wheels of its own; their layouts are those of the wheels named here.
The version of a CUDA toolkit whose nvcc is on the path can be asked for, too.
"""

from __future__ import annotations

import importlib.metadata
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from placewise.errors import CaseError
from placewise.kernel.toolchain.nvcc import nvcc_toolkit, nvcc_version

DEFAULT_NVRTC = "13"
"""The release that Placewise depends on, in whichever version is installed."""
_LONG = 6
"""Digits that no compute capability has."""


@dataclass(frozen=True)
class Target:
    """The architecture of machine code, and the NVRTC that makes it."""

    arch: str
    """Compiler target, such as ``sm_86``."""
    nvrtc: str = DEFAULT_NVRTC
    """``13``, or a version in full such as ``12.9``."""

    @property
    def number(self) -> int:
        """Compute capability times ten; 0 for a name that is none."""
        digits = self.arch.removeprefix("sm_").rstrip("af")
        return int(digits) if digits.isdecimal() and len(digits) < _LONG else 0

    def __str__(self) -> str:
        return f"{self.arch} by NVRTC {self.nvrtc}"


@dataclass(frozen=True)
class Toolkit:
    """One installed release."""

    version: str
    """Version of the NVRTC library, such as ``12.9``."""
    nvrtc: Path
    headers: tuple[Path, ...]
    flags: tuple[str, ...]
    """What this release must be told to read its headers."""
    ptxas: Path | None
    """The assembler of PTX; None where it is not installed."""


@dataclass(frozen=True)
class _Part:
    """A file or folder of a wheel."""

    distribution: str
    path: str


@dataclass(frozen=True)
class _Release:
    """The wheels of one major release."""

    nvrtc: _Part
    headers: tuple[_Part, ...]
    ptxas: _Part | None
    extra: str | None
    """The extra of Placewise that installs this release."""
    flags: tuple[str, ...] = ()


_HEADERS_12 = (
    _Part("nvidia-cuda-runtime-cu12", "nvidia/cuda_runtime/include"),
    _Part("nvidia-cuda-cccl-cu12", "nvidia/cuda_cccl/include"),
    _Part("nvidia-cuda-nvcc-cu12", "nvidia/cuda_nvcc/include"),
)
_PTXAS_12 = _Part("nvidia-cuda-nvcc-cu12", "nvidia/cuda_nvcc/bin/ptxas")
_RELEASES = {
    "13": _Release(
        nvrtc=_Part("nvidia-cuda-nvrtc", "nvidia/cu13/lib/libnvrtc.so.13"),
        headers=(
            _Part("nvidia-cuda-runtime", "nvidia/cu13/include"),
            _Part("nvidia-cuda-cccl", "nvidia/cu13/include/cccl"),
        ),
        ptxas=_Part("nvidia-cuda-nvcc", "nvidia/cu13/bin/ptxas"),
        extra=None,
    ),
    "12": _Release(
        nvrtc=_Part("nvidia-cuda-nvrtc-cu12", "nvidia/cuda_nvrtc/lib/libnvrtc.so.12"),
        headers=_HEADERS_12,
        ptxas=_PTXAS_12,
        extra="cuda12",
    ),
    # The wheels of 11 and 12 put their headers into one folder, so only one release's can be
    # there. NVRTC 11.8 reads those of 12.9; it only lacks the macros that 12 has built in.
    "11": _Release(
        nvrtc=_Part("nvidia-cuda-nvrtc-cu11", "nvidia/cuda_nvrtc/lib/libnvrtc.so.11.2"),
        headers=_HEADERS_12,
        ptxas=None,
        extra="cuda11",
        flags=("--pre-include=nv/target",),
    ),
}


@cache
def toolkit(nvrtc: str = DEFAULT_NVRTC) -> Toolkit:
    """The installed release that ``nvrtc`` (``13``, ``12.9`` …) asks for.

    A version that is not the installed one may be that of the toolkit on the path, or lie in a
    folder of its own (:func:`_beside`); then it reads the headers of the installed one.
    Raises CaseError for a release that is not known, not installed, or there in another version.
    """
    release = _RELEASES.get(nvrtc.split(".")[0])
    if release is None:
        raise CaseError(
            f"no NVRTC '{nvrtc}' is known", where="nvrtc", hint="there are 13, 12.9 and 11.8"
        )
    installed = _version(release.nvrtc.distribution)
    fits = installed and nvrtc.split(".") == installed.split(".")[: len(nvrtc.split("."))]
    if not fits and (own := _of_nvcc(nvrtc, release)) is not None:
        return own
    if installed is None:
        raise _missing(nvrtc, release, release.nvrtc)
    version = ".".join(installed.split(".")[:2])
    if not fits:
        beside = _beside(nvrtc)
        if (beside / release.nvrtc.path).exists():
            return Toolkit(
                version=nvrtc,
                nvrtc=beside / release.nvrtc.path,
                headers=tuple(_located(nvrtc, release, part) for part in release.headers),
                flags=release.flags,
                ptxas=None,
            )
        raise CaseError(
            f"NVRTC {nvrtc} is asked for, {version} is installed",
            where="nvrtc",
            hint=f"ask for {version}, or: {_command_beside(nvrtc, release)}",
        )
    ptxas = release.ptxas if release.ptxas and _version(release.ptxas.distribution) else None
    return Toolkit(
        version=version,
        nvrtc=_located(nvrtc, release, release.nvrtc),
        headers=tuple(_located(nvrtc, release, part) for part in release.headers),
        flags=release.flags,
        ptxas=_located(nvrtc, release, ptxas) if ptxas else None,
    )


def install_command(nvrtc: str) -> str | None:
    """The command that installs ``nvrtc``, such as ``12.9``; None where it is there already, and
    for a release that is not known."""
    release = _RELEASES.get(nvrtc.split(".")[0])
    if release is None:
        return None
    try:
        toolkit(nvrtc)
    except CaseError:
        there = _version(release.nvrtc.distribution)
        return _command_beside(nvrtc, release) if there else _command_of(release, release.nvrtc)
    return None


def _command_beside(nvrtc: str, release: _Release) -> str:
    """The command that installs another version of an installed release."""
    wheel = f"'{release.nvrtc.distribution}=={nvrtc}.*'"
    return f"pip install --no-deps --target {_beside(nvrtc)} {wheel}"


def _command_of(release: _Release, part: _Part) -> str:
    """The command that installs a release of which ``part`` is missing."""
    if release.extra:
        return f"pip install 'placewise[{release.extra}]'"
    return f"pip install --force-reinstall {part.distribution}"


def _of_nvcc(nvrtc: str, release: _Release) -> Toolkit | None:
    """The toolkit of the nvcc on the path, if it is the version that is asked for and has NVRTC."""
    home = nvcc_toolkit() if nvcc_version() == nvrtc else None
    if home is None:
        return None
    name = Path(release.nvrtc.path).name
    libraries = [home / folder / name for folder in ("lib64", "targets/x86_64-linux/lib", "lib")]
    headers = [home / folder for folder in ("include", "include/cccl")]
    ptxas = home / "bin" / "ptxas"
    for library in libraries:
        if library.exists():
            return Toolkit(
                version=nvrtc,
                nvrtc=library,
                headers=tuple(folder for folder in headers if folder.is_dir()),
                flags=(),
                ptxas=ptxas if ptxas.exists() else None,
            )
    return None


def _beside(nvrtc: str) -> Path:
    """Where the wheel of another version of a release is, as a release is installed once only."""
    return Path(sys.prefix) / "toolchains" / nvrtc


def _version(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def _located(nvrtc: str, release: _Release, part: _Part) -> Path:
    try:
        path = Path(str(importlib.metadata.distribution(part.distribution).locate_file(part.path)))
    except importlib.metadata.PackageNotFoundError:
        raise _missing(nvrtc, release, part) from None
    if not path.exists():
        raise _missing(nvrtc, release, part)
    return path


def _missing(nvrtc: str, release: _Release, part: _Part) -> CaseError:
    return CaseError(
        f"NVRTC {nvrtc} is not installed: {part.path} of {part.distribution} is missing",
        where="nvrtc",
        hint=_command_of(release, part),
    )
