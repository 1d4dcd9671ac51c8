"""The kernels that users hand over, whatever library they are of: source, case, own launch."""

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
from placewise.kernel.toolchain import DEFAULT_NVRTC
from placewise.runtime.devices.place import Snapshot

_NUMBER = re.compile(r"(?<=B)\d+v\d+(?=B)")
"""In Numba's mangled names."""


class Original(Protocol):
    """A kernel as its user has it."""

    @property
    def name(self) -> str:
        """For messages."""

    def compile(self, arguments: Sequence[Any], arch: str) -> Kernel:
        """The kernel for arguments of these types; raises what its front end raises."""

    def case(self, launch: Launch, before: Snapshot) -> Case:
        """The launch as a case for the advisor."""

    def identity(self, kernel: Kernel) -> str:
        """Text that is the same for the same source and options; ``kernel`` is what they made."""


@dataclass(frozen=True)
class CudaSource:
    """CUDA C++: text, kernel and compiler options."""

    name: str
    """Kernel name as in the source, or a template instance."""
    source: str
    path: Path | None = None
    options: CompileOptions = field(default_factory=CompileOptions)

    @property
    def filename(self) -> str:
        """For messages and includes relative to it."""
        return str(self.path) if self.path else "kernel.cu"

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
        """Source, options, and the PTX, which shows what was included."""
        return key_of(self.source, self.name, repr(self.options), _code(kernel))


@dataclass(frozen=True, eq=False)
class NumbaFunction:
    """What ``@cuda.jit`` returned, or its Python function."""

    function: Any

    @property
    def name(self) -> str:
        """The Python function's."""
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
        """The PTX: the function's text does not tell the globals that it uses."""
        return key_of(self.name, _code(kernel))


def _code(kernel: Kernel) -> str:
    """PTX without the names of files and the lines in them, which no result depends on, and without
    the numbers that Numba gives to functions in the order in which it compiles them."""
    lines = kernel.ptx.splitlines()
    kept = (line for line in lines if not line.lstrip().startswith((".loc", ".file", "//")))
    text, _, _ = "\n".join(kept).partition("\t.section")
    return _NUMBER.sub("", text)
