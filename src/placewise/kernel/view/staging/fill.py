"""What the fill of a shared tile copies: which element of the array stands at which of its own.

``tile[r][c] = a[g]`` is a plain copy if ``g == first + dr * r + dc * c`` with numbers that all
threads of a block share. Whoever stores ``tile[r][c]`` then stores ``a[first + dr * r + dc * c]``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from placewise.kernel.launch import Launch
from placewise.kernel.view.indices.interval import Bounder, Numbers, Unbounded
from placewise.kernel.view.indices.loops import count_of, for_parts, last_rounds, loop_of
from placewise.kernel.view.indices.symbolic import AtomKind, Monomial, Poly, uniform
from placewise.kernel.view.indices.values import Values
from placewise.kernel.view.tree.around import STEPS
from placewise.kernel.view.tree.clang import ParsedKernel
from placewise.kernel.view.tree.node import Node

_MOST_STORES = 1 << 22
"""Stores of one fill, over all threads of a block, that are looked at one by one."""
_COMPARED = frozenset({"<", "<=", ">", ">="})


class StagedValues(Values):
    """Values in which a variable that a loop around the fill steps is what it is in this round.

    A barrier inside these loops keeps the threads of a block in the same round, so that a variable
    with a start and a step that they share is the same for all of them.
    """

    def __init__(self, kernel: ParsedKernel, bounder: Bounder, around: Sequence[Node]) -> None:
        self.numbers: dict[str, Numbers] = dict(bounder.values)
        super().__init__(kernel, Bounder(self.numbers))
        self.around = tuple(around)
        self.stepped: dict[int, Node] = {}
        """Loops around the fill by the variables that they step and that indices name."""

    def _variable(self, node: Node) -> Poly:
        value = super()._variable(node)
        loop = None if self.jumps else loop_of(self, node)
        if loop is None or loop not in self.around or len(value.atoms) != 1:
            return value
        atom, amount = value.atoms[0], self._amount(loop, node.target)
        if atom.kind is not AtomKind.RANGE or amount is None or not amount.uniform:
            return value
        if not all(p.uniform for p in (*atom.lower, *atom.upper)):
            return value
        key = f"round {node.target}"
        if key not in self.numbers:
            try:
                ends = self._ends(loop, value, amount)
            except Unbounded:
                return value
            # Signs are read off the first and the last round, on an axis of their own.
            axis = 3 + len(self.stepped)
            ends = tuple(e.reshape((1,) * (axis - e.ndim) + e.shape) for e in ends)
            self.numbers[key] = np.stack(np.broadcast_arrays(*ends))
            self.stepped[node.target] = loop
        return uniform(key, f"int({node.name})" if "unsigned" in node.type else node.name)

    def _ends(self, loop: Node, value: Poly, amount: Poly) -> tuple[Numbers, ...]:
        """The variable's values in the first and in the last round; raises Unbounded."""
        atom, rounds = value.atoms[0], last_rounds(self, loop)
        if len(atom.lower) == 1 and not atom.upper and rounds:
            first = self.bounder.evaluate(atom.lower[0])
            return first, first + self.bounder.evaluate(amount) * self.bounder.evaluate(rounds[0])
        return self.bounder.lowest(value), self.bounder.highest(value)

    def _amount(self, loop: Node, variable: int) -> Poly | None:
        """What the loop's step adds to a variable; None where it does something else."""
        parts = for_parts(loop, self.kernel.text)
        if parts is None or parts.step is None:
            return None
        for node in parts.step.walk():
            if node.children and node.children[0].bare().target == variable:
                if node.operator in STEPS:
                    return Poly.constant(STEPS[node.operator])
                if node.operator == "+=":
                    return self.value(node.children[1])
                if node.operator == "-=":
                    return -self.value(node.children[1])
        return None


@dataclass(frozen=True)
class Affine:
    """A sum of a first number and a multiple of each index of a tile, with numbers that all threads
    of a block share."""

    first: Poly
    strides: tuple[Poly, ...]

    def at(self, indices: Sequence[Poly]) -> Poly:
        """The sum at some indices."""
        total = self.first
        for stride, index in zip(self.strides, indices, strict=True):
            total = total + stride * index
        return total


def affine_of(value: Poly, at: Sequence[Poly]) -> Affine | None:
    """``value`` as a sum of a first number and a multiple of each of ``at``; None where it is no
    such sum."""
    strides = []
    for axis, index in enumerate(at):
        stride = _stride(value, index, [o for n, o in enumerate(at) if n != axis])
        if stride is None:
            return None
        strides.append(stride)
    first = value
    for stride, index in zip(strides, at, strict=True):
        first = first - stride * index
    return Affine(first, tuple(strides)) if first.uniform else None


def _stride(element: Poly, index: Poly, others: Sequence[Poly]) -> Poly | None:
    """What ``element`` gains per step of ``index``, read off a varying part of ``index`` that the
    other indices lack. An index that does not vary has no such part: its stride is 0."""
    parts = _varying_parts(index)
    if not parts:
        return Poly()
    elsewhere = {part for other in others for part in _varying_parts(other)}
    for part, by in parts.items():
        number = by.value
        if number is None or part in elsewhere:
            continue
        gained = _varying_parts(element).get(part, Poly())
        if all(c % number == 0 for _, c in gained.terms):
            return Poly.of({m: c // number for m, c in gained.terms})
    return None


def _varying_parts(poly: Poly) -> dict[Monomial, Poly]:
    """The polynomial's factors that are the same for all threads, by the product of those that
    differ from thread to thread."""
    found: dict[Monomial, Poly] = {}
    for monomial, coefficient in poly.terms:
        part = tuple(a for a in monomial if not a.uniform)
        if part:
            shared = tuple(a for a in monomial if a.uniform)
            found[part] = found.get(part, Poly()) + Poly.of({shared: coefficient})
    return found


def filled_elements(
    values: Values, at: Sequence[Poly], loops: Sequence[Node], shape: Sequence[int], launch: Launch
) -> NDArray[np.bool_] | None:
    """Which elements of a tile of ``shape`` the threads of a block fill together at each run of its
    fill, which ``loops`` repeat, outermost first. None where that cannot be told, or may differ
    from block to block or from run to run."""
    known = _of_threads(values, launch)
    stored: NDArray[np.bool_] = np.ones((1, 1, 1), np.bool_)
    try:
        for loop in loops:
            rounds = _rounds(values, loop, known)
            if rounds is None:
                return None
            key, values_of_rounds, happens = rounds
            known[key] = values_of_rounds
            stored = stored & happens
            if stored.size > _MOST_STORES:
                return None
        places = [Bounder(known).evaluate(p) for p in at]
    except (KeyError, Unbounded):
        return None
    whole = np.broadcast_arrays(stored, *places)
    chosen = [np.asarray(p)[whole[0]] for p in whole[1:]]
    inside = np.logical_and.reduce([(p >= 0) & (p < n) for p, n in zip(chosen, shape, strict=True)])
    filled = np.zeros(tuple(shape), np.bool_)
    filled[tuple(p[inside] for p in chosen)] = True
    return filled


def _of_threads(values: Values, launch: Launch) -> dict[str, Numbers]:
    """What differs between the threads of a block, on three axes, and what the whole launch
    shares."""
    x, y, z = launch.block
    threads = np.indices((z, y, x), np.int64)
    known: dict[str, Numbers] = {f"threadIdx.{a}": threads[2 - n] for n, a in enumerate("xyz")}
    for key, numbers in values.bounder.values.items():
        if not key.startswith(("blockIdx.", "round ")):
            known[key] = numbers
    return known


def _rounds(
    values: Values, loop: Node, known: Mapping[str, Numbers]
) -> tuple[str, Numbers, NDArray[np.bool_]] | None:
    """(key of the loop's variable, its value by round and thread, whether the thread gets there);
    rounds are on a new first axis. None for a loop whose condition says more than one limit."""
    count = count_of(values, loop)
    if count is None or count.stepping.stride is None or len(count.stepping.limits) != 1:
        return None
    condition = count.parts.condition
    if condition is None or condition.bare().operator not in _COMPARED:
        return None
    threads, direction, stride = Bounder(known), count.stepping.direction, count.stepping.stride
    first, limit = threads.evaluate(count.first), threads.evaluate(count.stepping.limits[0])
    span = int(((limit - first) * direction).max())
    axes = max(first.ndim, limit.ndim, max(n.ndim for n in known.values()))
    trips = span // stride + 1
    if trips > _MOST_STORES:
        return None
    rounds = np.arange(max(trips, 0), dtype=np.int64).reshape(-1, *(1,) * axes)
    value = first + rounds * (stride * direction)
    happens = (limit - value) * direction >= 0
    return f"loop {count.variable} {id(loop)}", value, happens
