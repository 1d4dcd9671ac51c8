"""Runs single PTX instructions over arrays of operands, for tests to compare with their own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from placewise.executor import execute
from placewise.kernel.kernel import Kernel
from placewise.kernel.launch import ArrayArgument, Inputs, Launch

REGISTER = {1: "b16", 2: "b16", 4: "b32", 8: "b64"}


def kernel_from(ptx: str, entry: str = "k") -> Kernel:
    """A kernel of hand-written PTX."""
    return Kernel(name=entry, entry=entry, ptx=ptx, arch="sm_80", filename="test.ptx")


def evaluate(
    instructions: Sequence[tuple[str, type]], inputs: Sequence[np.ndarray], *, uniform: bool
) -> list[np.ndarray]:
    """Results of each instruction over the operand arrays.

    In an instruction ``{d}`` is the destination, ``{a} {b} {c} {e}`` the operands and ``{p} {q}``
    predicates to use freely. ``uniform`` gives every thread of a warp the same operands (one block
    for each element), so that the code for values common to a warp is tested too.
    """
    n = len(inputs[0])
    lines = [
        ".version 8.5",
        ".target sm_90",
        ".address_size 64",
        ".visible .entry k(",
        ",\n".join(f".param .u64 arg{i}" for i in range(len(inputs) + len(instructions))),
        ")",
        "{",
        ".reg .b32 %i, %j, %k;",
        ".reg .pred %in;",
        ".reg .b64 %at, %address;",
        "mov.u32 %i, %ctaid.x;",
    ]
    if not uniform:
        lines += [
            "mov.u32 %j, %ntid.x;",
            "mov.u32 %k, %tid.x;",
            "mad.lo.s32 %i, %i, %j, %k;",
            f"setp.ge.u32 %in, %i, {n};",
            "@%in ret;",
        ]
    for number, (name, array) in enumerate(zip("abce", inputs, strict=False)):
        size = array.dtype.itemsize
        lines += [
            f".reg .{REGISTER[size]} %{name};",
            f"ld.param.u64 %address, [arg{number}];",
            f"mul.wide.u32 %at, %i, {size};",
            "add.u64 %address, %address, %at;",
            f"ld.global.b{8 * size} %{name}, [%address];",
        ]
    for number, (text, out) in enumerate(instructions):
        size = np.dtype(out).itemsize
        names = {x: f"%{x}" for x in "abcedpq"}
        lines += [
            "{",
            f".reg .{REGISTER[size]} %d;",
            ".reg .pred %p, %q;",
            *(t.strip() + ";" for t in text.format(**names).split(";") if t.strip()),
            f"ld.param.u64 %address, [arg{len(inputs) + number}];",
            f"mul.wide.u32 %at, %i, {size};",
            "add.u64 %address, %address, %at;",
            f"st.global.b{8 * size} [%address], %d;",
            "}",
        ]
    lines += ["ret;", "}"]
    arguments = [ArrayArgument(f"in{i}", a) for i, a in enumerate(inputs)]
    arguments += [ArrayArgument(f"out{i}", np.zeros(n, t)) for i, (_, t) in enumerate(instructions)]
    launch = Launch((n, 1, 1), (32, 1, 1)) if uniform else Launch((-(-n // 64), 1, 1), (64, 1, 1))
    result = execute(kernel_from("\n".join(lines)), launch, Inputs(tuple(arguments)))
    return [result.output(f"out{i}") for i in range(len(instructions))]


def operands(dtype: type, count: int, seed: int, extra: Sequence[float | int] = ()) -> np.ndarray:
    """Random bit patterns of a type after its edge values."""
    rng = np.random.default_rng(seed)
    kind = np.dtype(dtype)
    if kind.kind == "f":
        info = np.finfo(kind)
        one = np.dtype(dtype).type(1)
        edges = [
            0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, 3.5, np.inf, -np.inf, np.nan,
            info.max, -info.max, info.tiny, -info.tiny, info.smallest_subnormal,
            -info.smallest_subnormal, 1 + info.eps, np.nextafter(one, 0 * one), *extra,
        ]  # fmt: skip
        bits = rng.integers(0, 256, count * kind.itemsize, dtype=np.uint8).view(kind)
        near = (rng.standard_normal(count) * 8).astype(kind)
        return np.concatenate([np.array(edges, kind), bits, near])
    info = np.iinfo(kind)
    edges = [0, 1, 2, 31, 32, 33, 63, 64]
    edges += [info.max, info.max - 1, info.min, info.min + 1, *extra]
    if kind.kind == "i":
        edges += [-1, -2, -31]
    small = rng.integers(0, 70, count).astype(kind)
    bits = rng.integers(0, 256, count * kind.itemsize, dtype=np.uint8).view(kind)
    return np.concatenate([np.array(edges, kind), bits, small])


def pairs(dtype: type, count: int, seed: int, arity: int = 2) -> list[np.ndarray]:
    """``arity`` operand arrays: edge values against each other, then random ones."""
    pool = operands(dtype, count, seed)
    rng = np.random.default_rng(seed + 1)
    columns = [pool[rng.integers(0, len(pool), 6 * count)] for _ in range(arity)]
    edges = pool[:16]
    grid = np.meshgrid(*[edges] * min(arity, 2), indexing="ij")
    flat = [g.ravel() for g in grid]
    while len(flat) < arity:
        flat.append(rng.permutation(flat[0]))
    return [np.concatenate([f, c]) for f, c in zip(flat, columns, strict=True)]
