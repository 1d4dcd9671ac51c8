"""From PTX to machine code that runs, kept for the next launch of the same kernel."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

from placewise.executor.codegen.module import Compiled, compile_program, driver_for
from placewise.executor.codegen.state import Options
from placewise.executor.ir.nodes import Access, Program
from placewise.executor.ir.verify import verify
from placewise.executor.lower_ptx import lower_ptx
from placewise.executor.lower_sass import lower_machine_code
from placewise.executor.passes import cfg, uniform
from placewise.executor.passes.register_webs import split_webs
from placewise.executor.passes.uniform import WarpShape
from placewise.executor.passes.unused_values import drop_unused
from placewise.executor.texture.texture_sites import texture_reads, uses_sampler, words_of
from placewise.executor.texture.texture_words import TexelRead
from placewise.executor.trace import Site
from placewise.kernel.kernel import Kernel
from placewise.kernel.ptx import Module, parse_ptx

_ORDERED = frozenset({"exch", "cas", "inc", "dec"})
"""Atomics after which the content of memory depends on the order of blocks."""


@dataclass(frozen=True, eq=False)
class Translation:
    """A kernel as a program, and its code."""

    program: Program
    compiled: Compiled
    run: Any
    """C function ``(context, pointer to int64 block numbers, count) -> blocks finished``."""
    sites: tuple[Site, ...]
    samples: bool
    """Whether some texture or surface access is more than a plain load."""
    gives_way: bool
    """Whether warps or blocks wait for each other outside of barriers."""
    calls_host: bool
    """Whether the kernel prints or has assertions."""

    @functools.cached_property
    def block_places(self) -> tuple[tuple[int, ...], ...]:
        """Where the instructions of each block come from."""
        return tuple(tuple(block.places) for block in self.program.blocks)


@functools.lru_cache(maxsize=64)
def parsed(kernel: Kernel) -> Module:
    """The kernel's PTX, parsed."""
    bodies = not kernel.machine_code
    return parse_ptx(kernel.ptx, kernel.entry, kernel.filename, bodies=bodies)


@functools.lru_cache(maxsize=64)
def lowered(kernel: Kernel, first_window: int) -> Program:
    """:func:`lower`, kept for the next launch of the same kernel."""
    return lower(kernel, first_window)


def lower(kernel: Kernel, first_window: int) -> Program:
    """The kernel in the warp IR, its module's variables in windows from ``first_window`` on.

    Raises UnsupportedError for what is not covered.
    """
    module = parsed(kernel)
    if kernel.machine_code:
        program = verify(lower_machine_code(kernel, module, first_window), "lowering machine code")
        program = verify(drop_unused(program), "drop_unused")
        program = verify(split_webs(program), "split_webs")
    else:
        program = lower_ptx(module, kernel.entry, kernel.filename, first_window)
        program = verify(program, "lowering PTX")
    return verify(cfg.prepare(program), "prepare")


def blocks_may_run_together(program: Program) -> bool:
    """Whether results are the same whatever the order of blocks.

    Not with global atomics whose old value is used, or that do not commute exactly, nor where
    device code allocates memory, prints, or waits for other warps.
    """
    if program.waiting:
        return False
    if _has(program, "heap", "host"):
        return False
    return not any(
        a.kind == "atomic"
        and a.space != "shared"
        and (a.operation in _ORDERED or a.operation.startswith("f") or a.result_used)
        for a in program.accesses
    )


def _has(program: Program, *operations: str) -> bool:
    return any(n.op in operations for b in program.blocks for n in b.nodes)


@functools.lru_cache(maxsize=64)
def translate(
    kernel: Kernel,
    first_window: int,
    shape: WarpShape,
    traced: frozenset[str],
    parallel: bool,
    large: bool,
    textures: tuple[tuple[int, TexelRead], ...],
    checked: frozenset[int] | None = None,
) -> Translation:
    """Compile ``kernel`` for a shape of warps; ``textures`` by parameter offset, ``checked`` the
    sites before which a checker is asked (None: there is none)."""
    program = lowered(kernel, first_window)
    flow = uniform.analyse(program, shape)
    reads = texture_reads(program, dict(textures))
    words = words_of(program, reads)
    options = Options(traced, parallel, large, words, checked)
    compiled = compile_program(program, flow, options)
    sites = sites_of(program, parsed(kernel), reads)
    gives_way = bool(flow.gives_way)
    run = driver_for(program, gives_way=gives_way, traced=bool(traced))
    samples = uses_sampler(program, words)
    return Translation(program, compiled, run, sites, samples, gives_way, _has(program, "host"))


def sites_of(
    program: Program, module: Module, reads: tuple[TexelRead | None, ...]
) -> tuple[Site, ...]:
    """The program's memory instructions as the trace names them."""
    return tuple(
        Site(
            opcode=a.opcode,
            space=a.space,
            kind=a.kind,
            lane_bytes=_lane_bytes(a, reads[a.site]),
            ptx_line=a.place.line,
            source_line=a.place.source[1] if a.place.source else None,
            source_file=module.files.get(a.place.source[0]) if a.place.source else None,
        )
        for a in program.accesses
    )


def _lane_bytes(access: Access, read: TexelRead | None) -> int:
    """Bytes that one lane moves, of a texture one texel."""
    return read.bytes if read is not None else access.bits // 8 * access.count
