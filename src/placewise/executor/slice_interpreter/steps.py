"""Functions that compute the nodes of a basic block for all lanes at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from placewise.errors import UnsupportedError
from placewise.executor.device_memory.device import Device
from placewise.executor.ir.nodes import Node
from placewise.executor.slice_interpreter.across_lanes import ACROSS
from placewise.executor.slice_interpreter.active_warps import ActiveWarps, Registers
from placewise.executor.slice_interpreter.lane_loops import count_active
from placewise.executor.slice_interpreter.operations import DTYPES, Lanes, constant, operation


class State(Protocol):
    """The interpreter's state, which steps read and change."""

    device: Device
    warps: ActiveWarps
    specials: dict[str, Lanes]
    regs: Registers
    values: dict[Node, Any]
    """Values of the basic block that is being executed."""
    guards: NDArray[np.int64]
    block_of_warp: NDArray[np.int64]

    def value(self, n: Node) -> Lanes:
        """Value of a node of the basic block that is being executed."""


Call = Callable[[State, NDArray[np.bool_]], None]
"""Computes a node for the lanes of the active warps; the mask (warps, 32) tells which of them are
active."""


@dataclass(frozen=True)
class Step:
    """One node of a block, ready to be computed."""

    node: Node
    call: Call
    last: tuple[Node, ...] = ()
    """Nodes whose values no later step of the block uses. Those of many warps are freed at once, so
    that the next value gets memory that is still in the caches."""


def count_of(n: Node) -> Call:
    """The step that counts the lanes in which a guard holds."""
    number = n.integer

    def call(run: State, mask: NDArray[np.bool_]) -> None:
        held = mask & run.value(n.args[0])
        warps, took_part = np.zeros(len(run.guards), np.int64), np.zeros(len(mask), np.bool_)
        blocks = run.warps.of(run.block_of_warp)
        count_active(held, blocks, took_part, warps, run.guards[:, number])

    return call


def call_of(n: Node) -> Call:
    """The step that computes a node other than a memory access.

    Raises UnsupportedError for an operation that is not covered.
    """
    if n.op == "const":
        fixed = constant(n.type, n.integer)
        return lambda run, _: run.values.__setitem__(n, fixed)
    if n.op == "get":
        return _get(n)
    if n.op == "set":
        return _set(n)
    if n.op == "special":
        dtype, name = DTYPES[n.type], str(n.attr)
        return lambda run, _: run.values.__setitem__(
            n, run.warps.of(run.specials[name]).astype(dtype, copy=False)
        )
    if n.op == "param":
        return _param(n)
    if n.op == "part":
        number = n.integer
        return lambda run, _: run.values.__setitem__(n, run.value(n.args[0])[number])
    across = ACROSS.get(n.op)
    if across is not None:
        return lambda run, mask: run.values.__setitem__(
            n, across(n, mask, *(run.value(a) for a in n.args))
        )
    function = operation(n)
    if function is None:
        raise UnsupportedError(
            f"the result of '{n.op}' (an operation of the warp IR) decides a path or an address"
        )
    wanted = np.dtype(DTYPES[n.type])
    if len(n.args) == 2:
        first, second = n.args

        def compute_two(run: State, _: NDArray[np.bool_]) -> None:
            value = function(run.values[first], run.values[second])
            run.values[n] = value if value.dtype == wanted else value.astype(wanted)

        return compute_two
    args = n.args

    def compute(run: State, _: NDArray[np.bool_]) -> None:
        value = function(*[run.values[a] for a in args])
        run.values[n] = value if value.dtype == wanted else value.astype(wanted)

    return compute


def _get(n: Node) -> Call:
    reg = n.reg
    return lambda run, _: run.values.__setitem__(n, run.regs.read(reg))


def _set(n: Node) -> Call:
    reg = n.reg
    return lambda run, mask: run.regs.write(reg, run.value(n.args[0]), mask)


def _param(n: Node) -> Call:
    start = n.integer
    dtype = np.dtype(DTYPES[n.type])

    def call(run: State, _: NDArray[np.bool_]) -> None:
        raw = run.device.parameters[start : start + dtype.itemsize].tobytes()
        run.values[n] = np.frombuffer(raw.ljust(dtype.itemsize, b"\0"), dtype).reshape(1, 1)

    return call
