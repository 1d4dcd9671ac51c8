"""Which texture each read names, as far as that is known before the kernel runs."""

from __future__ import annotations

from placewise.executor.ir.nodes import Node, Program, Reg
from placewise.executor.texture.texture_words import TexelRead

_UNKNOWN = TexelRead(0, 4)
"""A texture that is found only while the kernel runs; its texels are taken to have 4 bytes."""


def texture_reads(
    program: Program, by_parameter: dict[int, TexelRead]
) -> tuple[TexelRead | None, ...]:
    """Per memory site that reads a texture, what is known of that texture; None for others.

    A handle is followed from the read back to a parameter (``by_parameter``: offset of it).
    """
    defined: dict[Reg, set[Node]] = {}
    textures: list[Node] = []
    for block in program.blocks:
        for n in block.nodes:
            if n.op == "set":
                defined.setdefault(n.reg, set()).add(n.args[0])
            elif n.op in ("texture", "sample"):
                textures.append(n)
    found: list[TexelRead | None] = [None] * len(program.accesses)
    for n in textures:
        handle = n.args[0]
        seen: set[Node] = set()
        while handle.op == "get" and handle not in seen:
            seen.add(handle)
            values = defined.get(handle.reg, set())
            if len(values) != 1:
                break
            handle = next(iter(values))
        known = handle.op == "param"
        found[n.access.site] = by_parameter.get(handle.integer, _UNKNOWN) if known else _UNKNOWN
    return tuple(found)


def words_of(program: Program, reads: tuple[TexelRead | None, ...]) -> tuple[int, ...]:
    """Per site, 32-bit words of a texel where it is a plain load of linear memory, else 0."""
    fetches = {n.access.site for b in program.blocks for n in b.nodes if n.op == "texture"}
    return tuple(
        read.words if read is not None and site in fetches else 0 for site, read in enumerate(reads)
    )


def uses_sampler(program: Program, words: tuple[int, ...]) -> bool:
    """Whether some texture or surface access is more than a plain load."""
    return any(a.space == "texture" and not words[a.site] for a in program.accesses)
