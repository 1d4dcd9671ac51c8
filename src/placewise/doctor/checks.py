"""Checks of what Placewise needs, and of what it can use if it is there."""

from __future__ import annotations

import importlib.metadata
import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from placewise.errors import PlacewiseError
from placewise.kernel.toolchain.disassembler import nvdisasm
from placewise.kernel.toolchain.wheels import DEFAULT_NVRTC, toolkit

OPTIONAL_PACKAGES = (
    ("numba-cuda", "kernels written with Numba", "pip install 'placewise[numba]'"),
    ("pandas", "to_dataframe() of results", "pip install 'placewise[dataframe]'"),
)
OLDER_COMPILERS = (
    ("12.9", "GPUs from compute capability 5.0", "pip install 'placewise[cuda12]'"),
    ("11.8", "GPUs from compute capability 3.5", "pip install 'placewise[cuda11]'"),
)


class State(StrEnum):
    """Result of a check."""

    works = "works"
    absent = "not installed"
    """An optional part that is not there."""
    fails = "fails"
    """A needed part that is missing or broken."""


@dataclass(frozen=True)
class Check:
    """One thing that was looked at."""

    name: str
    state: State
    detail: str
    """Version and place, or what does not work without it."""
    hint: str = ""
    """How to get it; empty where it works."""


def needed() -> tuple[Check, ...]:
    """Checks of all that every command may need."""
    return (
        _python(),
        _processor(),
        _tool("CUDA compiler (NVRTC)", lambda: f"{toolkit().version}, {toolkit().nvrtc}"),
        _tool("PTX assembler (ptxas)", _ptxas),
        _tool("disassembler (nvdisasm)", lambda: str(nvdisasm())),
        _libclang(),
    )


def optional() -> tuple[Check, ...]:
    """Checks of what only some uses need."""
    return (
        *(_compiler(version, use, hint) for version, use, hint in OLDER_COMPILERS),
        *(_package(name, use, hint) for name, use, hint in OPTIONAL_PACKAGES),
    )


def _python() -> Check:
    # Packaging refuses versions that are too old.
    return Check("Python", State.works, f"{platform.python_version()}, {sys.executable}")


def _processor() -> Check:
    system, machine = platform.system(), platform.machine()
    name = _processor_name()
    if (system, machine) != ("Linux", "x86_64"):
        hint = "use Linux on x86-64, for instance in a virtual machine"
        return Check("processor", State.fails, f"{system} on {machine}", hint)
    return Check("processor", State.works, name)


def _processor_name() -> str:
    """The processor by LLVM's name, and the widest vectors that it has."""
    from llvmlite import binding

    features = binding.get_host_cpu_features()
    widest = next((f for f in ("avx512f", "avx2") if features.get(f)), "no AVX2: slow")
    return f"{binding.get_host_cpu_name()} ({widest})"


def _tool(name: str, find: Callable[[], str]) -> Check:
    try:
        return Check(name, State.works, find())
    except PlacewiseError as error:
        return Check(name, State.fails, error.message, error.hint or "reinstall Placewise")


def _ptxas() -> str:
    path = toolkit(DEFAULT_NVRTC).ptxas
    if path is None or not path.is_file():
        raise PlacewiseError("ptxas is not installed", hint="pip install nvidia-cuda-nvcc")
    return str(path)


def _libclang() -> Check:
    name = "source parser (libclang)"
    try:
        import clang.native
        from clang.cindex import Index

        Index.create()
    except Exception as error:
        return Check(name, State.fails, str(error), "pip install --force-reinstall libclang")
    return Check(name, State.works, str(Path(clang.native.__file__).parent))


def _compiler(version: str, use: str, hint: str) -> Check:
    name = f"CUDA compiler {version}"
    try:
        return Check(name, State.works, str(toolkit(version).nvrtc))
    except PlacewiseError:
        return Check(name, State.absent, f"for {use}", hint)


def _package(name: str, use: str, hint: str) -> Check:
    try:
        return Check(name, State.works, importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        return Check(name, State.absent, f"for {use}", hint)
