"""Kernels that users pass to the runtime, from any library: how to compile them and make a case of
a launch."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from placewise.disk_cache import key_of
from placewise.kernel.cases.case import Case, CompileOptions
from placewise.kernel.cases.make_case import make_case
from placewise.kernel.frontends.numba_kernel import numba_kernel
from placewise.kernel.frontends.nvrtc import compile_kernel
from placewise.kernel.kernel import Kernel
from placewise.kernel.launch import Launch
from placewise.kernel.source_name import text_name
from placewise.kernel.toolchain import DEFAULT_NVRTC
from placewise.runtime.devices.place import Snapshot

_NUMBER = re.compile(r"(?<=B)\d+v\d+(?=B)")
"""The number of a function in Numba's mangled names."""


class Original(Protocol):
    """A kernel as the user passes it."""

    @property
    def name(self) -> str:
        """Name of the kernel in messages."""

    def compile(self, arguments: Sequence[Any], arch: str) -> Kernel:
        """Compile the kernel for arguments of these types; raises PlacewiseErrors of its front
        end."""

    def case(self, launch: Launch, before: Snapshot) -> Case:
        """The launch as a case for the advisor."""

    def identity(self, kernel: Kernel) -> str:
        """Text that identifies source and options; ``kernel`` is the kernel that they compile
        to."""


@dataclass(frozen=True)
class CudaSource:
    """A kernel in CUDA C++: source text, kernel name and compiler options."""

    name: str
    """Name of the kernel in the source, or a template instance."""
    source: str
    path: Path | None = None
    options: CompileOptions = field(default_factory=CompileOptions)

    @property
    def filename(self) -> str:
        """File name in messages; includes are relative to it."""
        return str(self.path) if self.path else text_name(self.name)

    def compile(self, _arguments: Sequence[Any], arch: str) -> Kernel:
        """Compile for ``arch``."""
        options = replace(self.options, arch=arch)
        return compile_kernel(self.source, self.filename, self.name, options)

    def case(self, launch: Launch, before: Snapshot) -> Case:
        """The launch with these arguments."""
        made = make_case(
            self.name,
            self.source,
            before,
            block=launch.block,
            grid=launch.grid,
            shared_bytes=launch.shared_bytes,
            nvrtc=self.options.nvrtc,
        )
        return replace(made, options=self.options, path=self.path)

    def identity(self, kernel: Kernel) -> str:
        """Text made of source, options and the PTX, which also depends on the included files."""
        return key_of(self.source, self.name, repr(self.options), _code(kernel))


@dataclass(frozen=True, eq=False)
class NumbaFunction:
    """A kernel of Numba: the object that ``@cuda.jit`` returned, or its Python function."""

    function: Any

    @property
    def name(self) -> str:
        """Name of the Python function."""
        return str(getattr(self.function, "py_func", self.function).__name__)

    def compile(self, arguments: Sequence[Any], arch: str) -> Kernel:
        """Compile for the types of ``arguments``."""
        return numba_kernel(self.function, arguments, arch=arch)

    def case(self, launch: Launch, before: Snapshot) -> Case:
        """The launch with these arguments."""
        return make_case(
            self.name,
            self.function,
            before,
            block=launch.block,
            grid=launch.grid,
            shared_bytes=launch.shared_bytes,
            nvrtc=DEFAULT_NVRTC,
        )

    def identity(self, kernel: Kernel) -> str:
        """The PTX, since the function's text does not contain the globals that it uses."""
        return key_of(self.name, _code(kernel))


def _code(kernel: Kernel) -> str:
    """PTX without file names and line numbers, which do not affect results, and without the numbers
    that Numba gives to functions in the order of compilation."""
    lines = kernel.ptx.splitlines()
    kept = (line for line in lines if not line.lstrip().startswith((".loc", ".file", "//")))
    text, _, _ = "\n".join(kept).partition("\t.section")
    return _NUMBER.sub("", text)
