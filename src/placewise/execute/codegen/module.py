"""A whole LLVM module for one program, and its machine code."""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
from dataclasses import dataclass
from typing import Any

import llvmlite.binding as llvm

from placewise.execute.codegen import atomics, lanewise, loads, stores, support, warpops
from placewise.execute.codegen.driver import driver
from placewise.execute.codegen.state import Options, State
from placewise.execute.codegen.warp import warp_function
from placewise.execute.ir import Program
from placewise.execute.uniform import Flow

_ATTRIBUTES = (
    'attributes #0 = { nounwind "prefer-vector-width"="512" "min-legal-vector-width"="512" }'
)
_METADATA = """
!0 = !{}
!1 = !{!"branch_weights", i32 2000, i32 1}
!2 = !{!"branch_weights", i32 1, i32 2000}
"""


@functools.cache
def _host() -> tuple[Any, frozenset[str]]:
    """Target machine and CPU features of this computer."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    for library in ("m", "c"):
        path = ctypes.util.find_library(library)
        if path:
            llvm.load_library_permanently(path)
    features = llvm.get_host_cpu_features()
    target = llvm.Target.from_default_triple()
    machine = target.create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=features.flatten(), opt=2, reloc="static", jit=True
    )
    return machine, frozenset(name for name, on in features.items() if on)


def llvm_text(program: Program, flow: Flow, options: Options) -> tuple[str, State]:
    """LLVM IR of the program, and what made its warp function."""
    _, features = _host()
    declarations: set[str] = set()
    body, state = warp_function(program, flow, options, declarations)
    needs = state.needs
    parts = [support.fault_function(), support.fuel_function()]
    if options.traced:
        parts.append(support.trace_functions())
        parts += [support.record_halves(step) for step in sorted(needs.record_steps)]
        declarations.add("declare i32 @llvm.cttz.i32(i32, i1)")
    for kind in sorted(needs.scalar_loads, key=lambda k: k.name):
        parts.append(loads.scalar_load(kind, declarations))
    for kind in sorted(needs.vector_loads, key=lambda k: k.name):
        if kind.memory == "local":
            parts.append(lanewise.local_access(kind, declarations))
        else:
            parts.append(loads.vector_load(kind, declarations, large=options.large))
    for kind in sorted(needs.stores, key=lambda k: k.name):
        if kind.memory == "local":
            parts.append(lanewise.local_access(kind, declarations))
        else:
            parts.append(stores.vector_store(kind, declarations, large=options.large))
    for name, a in sorted(needs.atomics.items()):
        parts.append(
            atomics.atomic_helper(
                a,
                declarations,
                traced=a.space in options.traced,
                parallel=name.endswith(".p"),
            )
        )
    for bits in sorted(needs.matches):
        parts.append(warpops.match_helper(declarations, bits))
    if needs.permute:
        parts.append(warpops.permute(declarations, avx512="avx512f" in features))
    parts += state.rounded.values()
    parts.append(body)
    parts.append(
        driver(
            declarations,
            barriers=bool(program.barriers()),
            named=not program.has_plain_barriers(),
            shared=program.shared_bytes > 0 or any(x.space == "shared" for x in program.accesses),
            traced=bool(options.traced),
        )
    )
    text = "\n".join([*sorted(declarations), *parts, _ATTRIBUTES, _METADATA])
    return text, state


@dataclass(frozen=True, eq=False)
class Compiled:
    """Machine code of a program."""

    run: Any
    """C function ``(context, pointer to int64 block numbers, count) -> blocks finished``."""
    frame_bytes: int
    counted_sites: frozenset[int]
    """Sites with execution counters of their own; the others run as often as their block."""
    keep: tuple[Any, ...]
    """What must outlive ``run``."""


def compile_program(program: Program, flow: Flow, options: Options) -> Compiled:
    """Compile a program for this computer."""
    text, state = llvm_text(program, flow, options)
    machine, _ = _host()
    module = llvm.parse_assembly(text)
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    # LLVM ends the process over a module that is not valid; this raises instead.
    module.verify()
    _optimise(module, machine)
    engine = llvm.create_mcjit_compiler(module, _fresh_machine())
    engine.finalize_object()
    signature = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
    run = signature(engine.get_function_address("run"))
    return Compiled(run, state.frame.bytes, frozenset(state.counted_sites), (engine,))


def _fresh_machine() -> Any:
    """An engine takes its target machine over, so each gets its own."""
    features = llvm.get_host_cpu_features()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=features.flatten(), opt=2, reloc="static", jit=True
    )


def _optimise(module: Any, machine: Any) -> None:
    """A light pipeline: registers out of memory, helpers in place, dead code away."""
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=1))
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_sroa_pass()
    passes.add_simplify_cfg_pass()
    passes.run(module, builder)
