"""NVIDIA's compilers as wheels: where they are, what each can do, and a thin interface to them."""

from placewise.kernel.toolchain.assembler import Assembly, assemble
from placewise.kernel.toolchain.disassembler import (
    disassemble,
    disassemble_code,
    is_disassembled,
    keep_disassembled,
)
from placewise.kernel.toolchain.nvcc import nvcc_version
from placewise.kernel.toolchain.nvrtc_library import (
    Compilation,
    CompilerCrashError,
    NvrtcLibrary,
    nvrtc_library,
)
from placewise.kernel.toolchain.ptxas_log import Spills, spills_of
from placewise.kernel.toolchain.wheels import (
    DEFAULT_NVRTC,
    Target,
    Toolkit,
    install_command,
    toolkit,
)

__all__ = [
    "DEFAULT_NVRTC",
    "Assembly",
    "Compilation",
    "CompilerCrashError",
    "NvrtcLibrary",
    "Spills",
    "Target",
    "Toolkit",
    "assemble",
    "disassemble",
    "disassemble_code",
    "install_command",
    "is_disassembled",
    "keep_disassembled",
    "nvcc_version",
    "nvrtc_library",
    "spills_of",
    "toolkit",
]
