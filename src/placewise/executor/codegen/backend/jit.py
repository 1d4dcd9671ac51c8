"""LLVM IR to machine code of this computer, and machine code to a function."""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
import itertools
from typing import Any

import llvmlite.binding as llvm

from placewise.disk_cache import DiskCache, key_of
from placewise.executor.codegen.backend.llvm_code import object_code
from placewise.executor.codegen.backend.processor import Processor

CODE = DiskCache("code", files=400)
"""Cache of object code, by LLVM IR and processor."""
QUICK, OPTIMISED = 0, 2
"""LLVM's levels for code that is wanted at once, and for code that runs long."""
_NAMES = itertools.count()
_MATHEMATICS = tuple(
    name + suffix
    for name in ("sin", "cos", "exp2", "log2", "tanh", "fma", "roundeven", "floor", "ceil", "trunc")
    for suffix in ("f", "")
)
"""Functions of the C mathematics library that LLVM may call where the host has no instruction."""


def code_key(text: str, processor: Processor, optimisation: int) -> str:
    """Name of a module's code in :data:`CODE`."""
    return key_of(processor.key, str(optimisation), text)


def stored(text: str, processor: Processor, optimisation: int) -> bytes | None:
    """Object code of a module if it is on disk, else None."""
    return CODE.read(code_key(text, processor, optimisation))


def made(text: str, processor: Processor, optimisation: int) -> bytes:
    """Compile a module now, and keep its object code on disk."""
    code = object_code(text, processor.name, processor.features, optimisation)
    CODE.write(code_key(text, processor, optimisation), code)
    return code


def linked(code: bytes, name: str) -> tuple[int, Any]:
    """Address of a function of object code, and what must be kept as long as it is used."""
    library = llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
    for symbol, address in _mathematics().items():
        library = library.import_symbol(symbol, address)
    tracker = library.export_symbol(name).link(_linker(), f"kernel{next(_NAMES)}")
    return tracker[name], tracker


@functools.cache
def _linker() -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.create_lljit_compiler()


@functools.cache
def _mathematics() -> dict[str, int]:
    """Addresses of the C library's mathematical functions, as far as it has them."""
    found: dict[str, int] = {}
    library = ctypes.CDLL(ctypes.util.find_library("m") or None)
    for name in _MATHEMATICS:
        symbol = getattr(library, name, None)
        address = ctypes.cast(symbol, ctypes.c_void_p).value if symbol is not None else None
        if address:
            found[name] = address
    return found
