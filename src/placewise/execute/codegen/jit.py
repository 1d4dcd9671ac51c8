"""LLVM IR to machine code of this computer, and machine code to a function."""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
import itertools
from typing import Any

import llvmlite.binding as llvm

from placewise.execute.codegen.processor import Processor
from placewise.kernel.disk_cache import DiskCache, key_of

CODE = DiskCache("code", files=400)
"""Machine code of this computer, by LLVM IR and computer."""
_OPTIMISATION = 2
_NAMES = itertools.count()
_MATHEMATICS = tuple(
    name + suffix
    for name in ("sin", "cos", "exp2", "log2", "tanh", "fma", "roundeven", "floor", "ceil", "trunc")
    for suffix in ("f", "")
)
"""Functions of the C mathematics library that LLVM may call where the host has no instruction."""


def function(text: str, name: str, processor: Processor) -> tuple[Any, Any]:
    """Address of a function of an LLVM module, and what must be kept as long as it is used."""
    key = key_of(processor.key, str(_OPTIMISATION), text)
    code = CODE.read(key)
    if code is None:
        code = _object_code(text, processor)
        CODE.write(key, code)
    library = llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
    for symbol, address in _mathematics().items():
        library = library.import_symbol(symbol, address)
    tracker = library.export_symbol(name).link(_linker(), f"kernel{next(_NAMES)}")
    return tracker[name], tracker


def _object_code(text: str, processor: Processor) -> bytes:
    machine = processor.machine(_OPTIMISATION)
    module = llvm.parse_assembly(text)
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    # LLVM ends the process over a module that is not valid; this raises instead.
    module.verify()
    _optimise(module, machine)
    return bytes(machine.emit_object(module))


def _optimise(module: Any, machine: Any) -> None:
    """A light pipeline: registers out of memory, helpers in place, dead code away."""
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=1))
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_sroa_pass()
    passes.add_simplify_cfg_pass()
    passes.run(module, builder)


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
