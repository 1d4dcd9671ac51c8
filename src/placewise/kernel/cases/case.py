"""A case: a CUDA C++ kernel, how it is compiled, launched, and with which inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from placewise.kernel.cases.given_accesses import GivenAccesses
from placewise.kernel.launch import Inputs, Launch
from placewise.kernel.passing import Passing
from placewise.kernel.toolchain import DEFAULT_NVRTC, Target
from placewise.short_repr import ShortRepr


@dataclass(frozen=True)
class CompileOptions:
    """What reaches NVRTC beside the source; ``arch`` such as ``sm_80``, ``nvrtc`` such as 12.9."""

    arch: str = "sm_80"
    defines: tuple[tuple[str, str], ...] = ()
    include_paths: tuple[Path, ...] = ()
    std: str = "c++17"
    nvrtc: str = DEFAULT_NVRTC
    flags: tuple[str, ...] = ()
    """Further options of NVRTC such as ``--use_fast_math``."""

    @property
    def target(self) -> Target:
        return Target(self.arch, self.nvrtc)


class Language(StrEnum):
    """What a kernel is written in."""

    CUDA = "CUDA C++"
    PTX = "PTX"
    NUMBA = "Numba"


@dataclass(frozen=True)
class StructMember:
    """A pointer in a struct that the kernel gets by value, as a parameter of its own."""

    struct: str
    """Parameter that is the struct."""
    member: str
    name: str
    """Name of the pointer's own parameter."""
    at: int
    """Byte of the struct where the pointer is."""
    declaration: str
    """The parameter's declaration, such as ``const float *c_x``."""


@dataclass(frozen=True, eq=False, repr=False)
class Case(ShortRepr):
    """One kernel launch to advise on. Build it with :func:`make_case` or :func:`load_case`."""

    name: str
    source: str
    """Text of the CUDA C++ or PTX; empty for a Numba function."""
    path: Path | None
    """File the text came from, for messages and relative includes."""
    kernel: str
    """Kernel name as in the source, or a template instance such as ``scale<float>``. PTX with one
    kernel needs none."""
    launch: Launch
    inputs: Inputs
    options: CompileOptions = field(default_factory=CompileOptions)
    description: str = ""
    language: Language = Language.CUDA
    function: Any = None
    """The Numba function."""
    profile: Case | GivenAccesses | None = None
    """What the launch is profiled by in place of a run of its own: another launch of the kernel, on
    a smaller input, or accesses that the user recorded."""
    members: tuple[StructMember, ...] = ()
    """Pointers of structs that stand apart in ``source``, as parameters, so that they can be
    placed."""
    passing: tuple[Passing, ...] | None = None
    """What each argument becomes in PTX that Numba made; None where it is a parameter itself."""

    def _in_short(self) -> str:
        grid, block = ("×".join(map(str, d)) for d in (self.launch.grid, self.launch.block))
        return (
            f"{self.called} with grid {grid}, block {block}, {len(self.inputs.arguments)} arguments"
        )

    @property
    def called(self) -> str:
        """The kernel's name, or the case's where PTX with one kernel names none."""
        return self.kernel or self.name

    @property
    def file_name(self) -> str:
        """Name of a file with the source: of its own one, else from the case's name."""
        suffix = "ptx" if self.language is Language.PTX else "cu"
        return self.path.name if self.path else f"{self.name}.{suffix}"

    @property
    def filename(self) -> str:
        """The source's file; for a text that is in none, its name in brackets: ``<scale>``."""
        return str(self.path) if self.path else f"<{self.name}>"


def define_pairs(defines: Mapping[str, object] | None) -> tuple[tuple[str, str], ...]:
    """Preprocessor defines as sorted string pairs."""
    return tuple(sorted((k, str(v)) for k, v in (defines or {}).items()))
