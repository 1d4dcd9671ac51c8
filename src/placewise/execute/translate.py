"""From PTX to machine code that runs, kept for the next launch of the same kernel."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from placewise.errors import UnsupportedError
from placewise.execute import cfg, uniform
from placewise.execute.codegen.module import Compiled, compile_program
from placewise.execute.codegen.state import Options
from placewise.execute.ir import Node, Program, Reg
from placewise.execute.lower_ptx import lower_ptx
from placewise.execute.trace import Site
from placewise.execute.uniform import WarpShape
from placewise.kernel.kernel import Kernel
from placewise.kernel.ptx import Module, parse_ptx

_ORDERED = frozenset({"exch", "cas", "inc", "dec"})
"""Atomics whose final memory depends on the order in which blocks come."""


@dataclass(frozen=True, eq=False)
class Translation:
    """A kernel as a program, and its code."""

    program: Program
    compiled: Compiled
    sites: tuple[Site, ...]


@functools.lru_cache(maxsize=64)
def parsed(kernel: Kernel) -> Module:
    """The kernel's PTX, parsed."""
    return parse_ptx(kernel.ptx, kernel.entry, kernel.filename)


@functools.lru_cache(maxsize=64)
def lowered(kernel: Kernel, first_window: int) -> Program:
    """The kernel in the warp IR, its module's variables in windows from ``first_window`` on.

    Raises UnsupportedError for what is not covered.
    """
    program = lower_ptx(parsed(kernel), kernel.entry, kernel.filename, first_window)
    return cfg.prepare(program)


def blocks_may_run_together(program: Program) -> bool:
    """Whether results are the same whatever the order of blocks.

    Not with global atomics whose old value is used, or that do not commute exactly.
    """
    return not any(
        a.kind == "atomic"
        and a.space != "shared"
        and (a.operation in _ORDERED or a.operation.startswith("fadd") or a.result_used)
        for a in program.accesses
    )


@functools.lru_cache(maxsize=64)
def translate(
    kernel: Kernel,
    first_window: int,
    shape: WarpShape,
    traced: frozenset[str],
    parallel: bool,
    large: bool,
    texture_channels: tuple[tuple[int, int], ...],
) -> Translation:
    """Compile ``kernel`` for a shape of warps; ``texture_channels`` by parameter offset."""
    program = lowered(kernel, first_window)
    flow = uniform.analyse(program, shape)
    channels = _channels_of_sites(program, dict(texture_channels), kernel)
    options = Options(traced, parallel, large, channels)
    compiled = compile_program(program, flow, options)
    return Translation(program, compiled, sites_of(program, parsed(kernel), channels))


def sites_of(program: Program, module: Module, channels: tuple[int, ...]) -> tuple[Site, ...]:
    """The program's memory instructions as the trace names them."""
    return tuple(
        Site(
            opcode=a.opcode,
            space=a.space,
            kind=a.kind,
            lane_bytes=a.bits // 8 * (channels[a.site] or a.count),
            ptx_line=a.place.line,
            source_line=a.place.source[1] if a.place.source else None,
            source_file=module.files.get(a.place.source[0]) if a.place.source else None,
        )
        for a in program.accesses
    )


def _channels_of_sites(
    program: Program, by_parameter: dict[int, int], kernel: Kernel
) -> tuple[int, ...]:
    """Channels of the texture that each site reads, found by following its handle."""
    defined: dict[Reg, set[Node]] = {}
    textures: list[Node] = []
    for block in program.blocks:
        for n in block.nodes:
            if n.op == "set":
                assert isinstance(n.attr, Reg)
                defined.setdefault(n.attr, set()).add(n.args[0])
            elif n.op == "texture":
                textures.append(n)
    channels = [0] * len(program.accesses)
    common = set(by_parameter.values())
    for n in textures:
        site = getattr(n.attr, "site", 0)
        handle = n.args[0]
        seen: set[Node] = set()
        while handle.op == "get" and handle not in seen:
            seen.add(handle)
            values = defined.get(handle.attr, set()) if isinstance(handle.attr, Reg) else set()
            if len(values) != 1:
                break
            handle = next(iter(values))
        if handle.op == "param" and handle.attr in by_parameter:
            channels[site] = by_parameter[handle.attr]
        elif len(common) == 1:
            channels[site] = next(iter(common))
        else:
            line = program.accesses[site].place.line
            raise UnsupportedError(
                "a texture read whose texture is not a texture argument of the kernel"
                if not common
                else "a texture read that may be of textures with different elements",
                where=f"{kernel.filename} (PTX line {line})",
            )
    return tuple(channels)
