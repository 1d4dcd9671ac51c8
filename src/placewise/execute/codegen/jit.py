"""LLVM IR to machine code of this computer, and machine code to a function."""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
import itertools
from typing import Any

import llvmlite.binding as llvm

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


@functools.cache
def host() -> tuple[Any, frozenset[str], str]:
    """Target machine, CPU features, and a text that names both and LLVM's version."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features()
    flat, cpu = features.flatten(), llvm.get_host_cpu_name()
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=cpu, features=flat, opt=_OPTIMISATION, reloc="static", jit=True
    )
    known = f"{llvm.llvm_version_info} {machine.triple} {cpu} {flat} {_OPTIMISATION}"
    return machine, frozenset(name for name, on in features.items() if on), known


def function(text: str, name: str) -> tuple[Any, Any]:
    """Address of a function of an LLVM module, and what must be kept as long as it is used."""
    _, _, known = host()
    key = key_of(known, text)
    code = CODE.read(key)
    if code is None:
        code = _object_code(text)
        CODE.write(key, code)
    library = llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
    for symbol, address in _mathematics().items():
        library = library.import_symbol(symbol, address)
    tracker = library.export_symbol(name).link(_linker(), f"kernel{next(_NAMES)}")
    return tracker[name], tracker


def _object_code(text: str) -> bytes:
    machine, _, _ = host()
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
    host()
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
