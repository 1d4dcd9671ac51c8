"""A whole LLVM module for one program, and its machine code."""

from __future__ import annotations

import ctypes
import functools
from dataclasses import replace
from typing import Any

from placewise.executor.codegen import host_call, support
from placewise.executor.codegen.accesses import (
    atomics,
    heap,
    lanewise,
    loads,
    stores,
    texture_reader,
)
from placewise.executor.codegen.backend import jit
from placewise.executor.codegen.backend.background_jit import BetterCode
from placewise.executor.codegen.backend.processor import this_processor
from placewise.executor.codegen.control.cooperative_driver import waiting_driver
from placewise.executor.codegen.control.driver import driver
from placewise.executor.codegen.control.warp import warp_function
from placewise.executor.codegen.loops import loop_patterns
from placewise.executor.codegen.state import Options, State
from placewise.executor.codegen.tracing import records, several_arrays
from placewise.executor.codegen.values import matrix, warpops
from placewise.executor.ir.nodes import Program
from placewise.executor.passes.uniform import Flow

_ATTRIBUTES = (
    'attributes #0 = { nounwind "prefer-vector-width"="512" "min-legal-vector-width"="512" }'
)
_METADATA = """
!0 = !{}
!1 = !{!"branch_weights", i32 2000, i32 1}
!2 = !{!"branch_weights", i32 1, i32 2000}
"""


def llvm_text(program: Program, flow: Flow, options: Options) -> tuple[str, State]:
    """LLVM IR of the program, and the state of the emitter that wrote its warp function."""
    declarations: set[str] = set()
    body, state = warp_function(program, flow, options, declarations)
    needs = state.needs
    checked = options.checked is not None
    parts = [support.fault_function(checked=checked), support.fuel_function()]
    if options.traced:
        parts.append(records.functions(declarations, options.processor, large=options.large))
        parts.append(several_arrays.function(declarations))
    for kind in sorted(needs.scalar_loads, key=lambda k: k.name):
        parts.append(loads.scalar_load(kind, declarations))
    for kind in sorted(needs.vector_loads, key=lambda k: k.name):
        if kind.memory == "local":
            parts.append(lanewise.local_access(kind, declarations))
        else:
            parts.append(loads.vector_load(kind, declarations, options))
    for kind in sorted(needs.general, key=lambda k: k.name):
        whole = loads.vector_load if kind.action == "load" else stores.vector_store
        parts.append(whole(kind, declarations, options, patterned=False))
    for check in sorted(needs.checks, key=lambda c: c.name):
        parts.append(loop_patterns.check_function(check, declarations))
    for kind in sorted(needs.scattered, key=lambda k: k.name):
        by = loads.any_load if kind.action == "load" else stores.any_store
        parts.append(by(kind, declarations, options.processor))
    for kind in sorted(needs.stores, key=lambda k: k.name):
        if kind.memory == "local":
            parts.append(lanewise.local_access(kind, declarations))
        else:
            parts.append(stores.vector_store(kind, declarations, options))
    for name, a in sorted(needs.atomics.items()):
        parts.append(
            atomics.atomic_helper(
                a,
                declarations,
                traced=a.space in options.traced,
                parallel=name.endswith(".p"),
            )
        )
    parts += [warpops.reduce_helper(declarations, op) for op in sorted(needs.group_reductions)]
    for reader in sorted(needs.readers, key=lambda r: r.name):
        parts.append(texture_reader.reader_function(reader, declarations))
    if needs.host:
        parts.append(host_call.host_function())
    for bits in sorted(needs.matches):
        parts.append(warpops.match_helper(declarations, bits))
    if needs.permute:
        parts.append(warpops.permute(declarations, avx512=options.processor.avx512))
    parts += heap.functions(needs.heap, declarations)
    for product in sorted(needs.products, key=matrix.name_of):
        parts.append(matrix.function(product, declarations))
    parts += state.rounded.values()
    parts.append(body)
    text = "\n".join([*sorted(declarations), *parts, _ATTRIBUTES, _METADATA])
    return text, state


class Compiled:
    """Machine code of a program, which may get better while it is in use."""

    def __init__(
        self, code: bytes, state: State, better: BetterCode | None, *, patience: float = 0.0
    ) -> None:
        self.frame_bytes = state.frame.bytes
        self.counted_sites = frozenset(state.counted_sites)
        """Sites with execution counters of their own; the others run as often as their block."""
        self._better = better
        self._patience = patience
        self._ran = 0.0
        self._kept: list[Any] = []
        self.warp = 0
        """Address of the function that runs a warp."""
        self._use(code)

    def _use(self, code: bytes) -> None:
        self.warp, kept = jit.linked(code, "warp")
        self._kept.append(kept)

    @property
    def optimised(self) -> bool:
        """Whether the code is the optimised one, so that no better code will come."""
        return self._better is None

    def improve(self, seconds: float) -> bool:
        """Note that the code has run for so many seconds; returns whether better code is used from
        now on."""
        better = self._better
        if better is None:
            return False
        self._ran += seconds
        if self._ran > self._patience:
            better.start()
        code = better.take()
        if code is None:
            return False
        self._use(code)
        self._better = None
        return True


_LONG = 0.1
"""Least seconds that a kernel runs before it is optimised: about as long as the quick compilation
takes."""
_OPTIMISING = 9e-12
"""Seconds that optimising takes, by the square of the characters of LLVM IR: unrolled convolutions
of 0.27 to 1.8 million characters took 8.7 to 9.9, on a Zen 4 core."""


def _patience(characters: int) -> float:
    """Seconds that a kernel of so much LLVM IR runs before it is optimised: what that takes, so
    that the time spent on it is at most twice what it could have been (as in renting skis)."""
    return max(_LONG, _OPTIMISING * characters**2)


def compile_program(
    program: Program, flow: Flow, options: Options, *, quick_first: bool = True
) -> Compiled:
    """Compile a program for this computer: quickly at first, unless better code is on disk or
    ``quick_first`` is not wanted."""
    text, state = llvm_text(program, flow, options)
    processor = options.processor
    code = jit.stored(text, processor, jit.OPTIMISED)
    if code is None and not quick_first:
        code = jit.made(text, processor, jit.OPTIMISED)
    if code is not None:
        return Compiled(code, state, None)
    quick, state = llvm_text(program, flow, replace(options, quick=True))
    code = jit.stored(quick, processor, jit.QUICK) or jit.made(quick, processor, jit.QUICK)
    return Compiled(code, state, BetterCode(text, processor), patience=_patience(len(text)))


@functools.cache
def compiled_driver(*, barriers: bool, named: bool, shared: bool, traced: bool) -> tuple[Any, Any]:
    """C function ``(context, pointer to int64 block numbers, count) -> blocks finished``, and what
    must outlive it."""
    text = driver(barriers=barriers, named=named, shared=shared, traced=traced)
    return _entry([text, support.fault_function() if named else "", _ATTRIBUTES, _METADATA])


def _entry(parts: list[str]) -> tuple[Any, Any]:
    text, processor = "\n".join(parts), this_processor()
    code = jit.stored(text, processor, jit.OPTIMISED) or jit.made(text, processor, jit.OPTIMISED)
    address, keep = jit.linked(code, "run")
    signature = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
    return signature(address), keep


@functools.cache
def compiled_waiting_driver(*, shared: bool, traced: bool) -> tuple[Any, Any]:
    """The compiled driver and its object for programs whose warps wait for each other."""
    text = waiting_driver(shared=shared, traced=traced)
    return _entry([text, support.fault_function(), _ATTRIBUTES, _METADATA])


def driver_for(program: Program, *, gives_way: bool, traced: bool) -> Any:
    """The compiled loop over blocks and warps that ``program`` needs."""
    shared = program.shared_bytes > 0 or any(a.space == "shared" for a in program.accesses)
    if gives_way:
        return compiled_waiting_driver(shared=shared, traced=traced)[0]
    return compiled_driver(
        barriers=bool(program.barriers()),
        named=not program.has_plain_barriers(),
        shared=shared,
        traced=traced,
    )[0]
