"""Serialization conditions as a function: how many transactions does a warp access take?

A condition says of two threads' accesses whether they must be served one after the other (Chen et
al. 2017, section 2). Over the active lanes of a warp access it is a graph, and the access takes as
many transactions as colours are needed so that no two serialized lanes share one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from placewise.errors import MachineError
from placewise.machine.msl.expression import (
    WORD_BYTES,
    KeyForm,
    Values,
    evaluate,
    key_form,
    keywords,
)
from placewise.machine.msl.tree import Binary, Expression, Floor, Keyword, Number

WARP = 32
MOST_BANKS = 1 << 16
"""Most banks of a memory. The compiled count keeps a list for each bank; no memory has as many."""
_LANES = np.arange(WARP)
_PAIRS = (1, 2)
"""Distances between lanes of a pair that is served together if the addresses of both are the
same."""
_PAIRWISE_ROWS = 4096
"""Warp accesses for each step of the pairwise path; each takes 32 × 32 × 8 bytes, so a temporary
array has 32 MB."""


@dataclass(frozen=True)
class SerialCondition:
    """A condition of an MSL file: scope (warp, block or grid) and expression.

    The scope says which threads' accesses can be serialized: :meth:`transactions` counts for each
    warp by itself, :meth:`together` for all warps of a block or grid.
    """

    scope: str
    expression: Expression
    where: str | None = field(default=None, compare=False)
    """``file:line:column``, for errors."""

    def transactions(
        self,
        addresses: NDArray[np.int64],
        mask: NDArray[np.uint32],
        *,
        element_bytes: int,
        block_bytes: int | None = None,
        banks: int | None = None,
    ) -> NDArray[np.int64]:
        """Serialized transactions of each of ``n`` warp accesses, (n,); 0 where no lane is active.

        ``addresses`` is (n, 32), non-negative bytes from an aligned origin; lanes not set in
        ``mask`` (n,) may hold anything. ``element_bytes`` is what one lane accesses: 1, 2, 4, 8 or
        16, naturally aligned.

        Where the condition speaks of words, an access of 8 or 16 bytes per lane is served by half
        or quarter warps, one after the other, each lane bringing its 2 or 4 words: without
        conflicts 2 and 4 transactions, as hardware has it (CUDA C++ Programming Guide, "Shared
        Memory"). It takes twice as many lanes at a time where lanes n and n ^ 1, or n and n ^ 2,
        have the same address throughout (an engineer of NVIDIA on its developer forum, thread
        77228, for compute capability 7; measured on 8.6 and 9.0 in thread 373160). Other conditions
        see the lane's first byte; a block holds a whole element.

        Raises MachineError where the condition uses ``blockSize`` or ``banks`` and the machine does
        not state it, ValueError for arrays of another shape or element sizes.
        """
        addresses = np.ascontiguousarray(addresses, np.int64)
        mask = np.ascontiguousarray(mask, np.uint32)
        if addresses.ndim != 2 or addresses.shape[1] != WARP or mask.shape != addresses.shape[:1]:
            raise ValueError(
                f"addresses {addresses.shape} and mask {mask.shape} must be (n, 32), (n,)"
            )
        if element_bytes not in (1, 2, 4, 8, 16):
            raise ValueError(f"a lane cannot access {element_bytes} bytes at once")
        self.check(block_bytes=block_bytes, banks=banks)
        constants = {"blockSize": block_bytes or 0, "banks": banks or 0}
        result = np.zeros(len(addresses), np.int64)
        by_words = self._speaks_of_words
        for rows, part, part_mask in _passes(addresses, mask, element_bytes, by_words):
            result[rows] += self._count(part, part_mask, element_bytes, constants)
        return result

    # Those of :meth:`transactions`, and which warps go together.
    def together(
        self,
        addresses: NDArray[np.int64],
        mask: NDArray[np.uint32],
        access: NDArray[np.int64],
        count: int,
        *,
        element_bytes: int,
        block_bytes: int | None = None,
        banks: int | None = None,
    ) -> NDArray[np.int64]:
        """(count,) serialized transactions of accesses that several warps make together: ``access``
        (n,) numbers the one that each warp access is part of, from 0 to ``count`` - 1.

        The largest number of distinct keys in one group, over all active lanes. Where the condition
        speaks of words, a wide lane brings each of its words. Raises MachineError for conditions of
        another shape, and as :meth:`transactions` does.
        """
        self.check(block_bytes=block_bytes, banks=banks)
        form = self.key_form
        if form is None:
            raise MachineError(
                f"a condition of scope {self.scope} counts distinct keys in a group only",
                where=self.where,
                hint="write key(1) != key(2) && group(1) == group(2), or the scope warp",
            )
        row, lane = np.nonzero(active_lanes(np.ascontiguousarray(mask, np.uint32)))
        at = np.asarray(addresses, np.int64)[row, lane]
        of = np.asarray(access, np.int64)[row]
        words = max(1, element_bytes // WORD_BYTES) if self._speaks_of_words else 1
        at = (at[:, None] + np.arange(words) * WORD_BYTES).reshape(-1)
        of = np.repeat(of, words)
        constants = {"blockSize": block_bytes or 0, "banks": banks or 0}
        values: Values = {**constants, **_lane_values(at, element_bytes, "1")}
        columns = [of.astype(np.float64)]
        for expression in (*form.groups, form.key):
            columns.append(np.broadcast_to(evaluate(expression, values), at.shape))
        result = np.zeros(count, np.int64)
        if len(at):
            distinct = np.unique(np.stack(columns, axis=1), axis=0)
            groups, keys = np.unique(distinct[:, :-1], axis=0, return_counts=True)
            np.maximum.at(result, groups[:, 0].astype(np.int64), keys)
        return result

    def check(self, *, block_bytes: int | None, banks: int | None) -> None:
        """Raise MachineError where the condition uses a figure that is None."""
        for keyword, value in (("blockSize", block_bytes), ("banks", banks)):
            if keyword in self._keywords and value is None:
                raise MachineError(
                    f"the serialization condition uses {keyword}, which its memory does not state",
                    where=self.where,
                    hint=f"give the memory's {keyword}, or write the figure into the condition",
                )

    def _count(
        self,
        addresses: NDArray[np.int64],
        mask: NDArray[np.uint32],
        element_bytes: int,
        constants: dict[str, int],
    ) -> NDArray[np.int64]:
        form = self.key_form
        if form is None:
            return pairwise_transactions(self.expression, addresses, mask, element_bytes, constants)
        return keyed_transactions(form, addresses, mask, element_bytes, constants)

    @cached_property
    def key_form(self) -> KeyForm | None:
        """The condition as distinct keys per group, None where it has another shape."""
        return key_form(self.expression)

    @cached_property
    def _keywords(self) -> frozenset[str]:
        return keywords(self.expression)

    @property
    def _speaks_of_words(self) -> bool:
        return not self._keywords.isdisjoint({"word1", "word2"})


def keyed_transactions(
    form: KeyForm,
    addresses: NDArray[np.int64],
    mask: NDArray[np.uint32],
    element_bytes: int,
    constants: dict[str, int],
) -> NDArray[np.int64]:
    """Largest number of distinct keys in one group, for conditions of that form.

    Lanes of one group and different keys conflict, so the graph is a union of complete
    multipartite graphs and this is its chromatic number.
    """
    # Imported here, because importing Numba takes longer than loading a machine.
    from placewise.machine import count_transactions

    key = _quotient(form.key, element_bytes, constants)
    if key is not None and not form.groups:
        distinct: NDArray[np.int64] = count_transactions.distinct_quotients(addresses, mask, key)
        return distinct
    if key is not None and len(form.groups) == 1:
        banks = _modulus(form.groups[0], form.key, constants)
        if banks is not None:
            worst: NDArray[np.int64] = count_transactions.worst_bank(addresses, mask, key, banks)
            return worst
    active = active_lanes(mask)
    values: Values = {
        **constants,
        **_lane_values(np.where(active, addresses, 0), element_bytes, "1"),
    }
    shape = addresses.shape
    keys = np.broadcast_to(evaluate(form.key, values), shape).astype(np.float64)
    groups = np.empty((*shape, len(form.groups)))
    for g, group in enumerate(form.groups):
        groups[..., g] = evaluate(group, values)
    most: NDArray[np.int64] = count_transactions.worst_group(keys, groups, mask)
    return most


def pairwise_transactions(
    expression: Expression,
    addresses: NDArray[np.int64],
    mask: NDArray[np.uint32],
    element_bytes: int,
    constants: dict[str, int],
) -> NDArray[np.int64]:
    """Colours of the conflict graph, every pair of lanes evaluated.

    Two lanes conflict where the expression holds for them in either order. Greedy colouring in the
    order of addresses is exact for cographs, which the graphs of key and group conditions are, and
    for addresses too far apart; for other graphs it is an upper bound.
    """
    # Imported here, because importing Numba takes longer than loading a machine.
    from placewise.machine import count_transactions

    result = np.empty(len(addresses), np.int64)
    bits = np.uint32(1) << np.arange(WARP, dtype=np.uint32)
    for start in range(0, len(addresses), _PAIRWISE_ROWS):
        rows = slice(start, start + _PAIRWISE_ROWS)
        active = active_lanes(mask[rows])
        part = np.where(active, addresses[rows], 0)
        order = np.argsort(part, axis=1, kind="stable")
        part, active = (np.take_along_axis(a, order, axis=1) for a in (part, active))
        values: Values = {
            **constants,
            **_lane_values(part[:, :, None], element_bytes, "1"),
            **_lane_values(part[:, None, :], element_bytes, "2"),
        }
        holds = np.broadcast_to(evaluate(expression, values), (len(part), WARP, WARP)) != 0
        holds = (holds | holds.transpose(0, 2, 1)) & active[:, :, None] & active[:, None, :]
        holds[:, np.arange(WARP), np.arange(WARP)] = False
        conflicts = (holds * bits).sum(axis=2, dtype=np.uint32)
        result[rows] = count_transactions.colours(
            conflicts, (active * bits).sum(axis=1, dtype=np.uint32)
        )
    return result


def _passes(
    addresses: NDArray[np.int64], mask: NDArray[np.uint32], element_bytes: int, by_words: bool
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint32]]]:
    """The accesses as hardware serves them: rows, and their addresses and masks in each pass. Half
    and quarter warps of words where those matter, twice as many lanes where pairs share theirs."""
    words = element_bytes // WORD_BYTES
    left = np.arange(len(addresses))
    if not by_words or words <= 1:
        yield left, addresses, mask
        return
    active = active_lanes(mask)
    for distance in _PAIRS:
        first = _LANES[_LANES & distance == 0]
        one, other = addresses[left][:, first], addresses[left][:, first + distance]
        of_one, of_other = active[left][:, first], active[left][:, first + distance]
        paired = ((one == other) | ~of_one | ~of_other).all(axis=1)
        shared, either = np.where(of_one, one, other)[paired], (of_one | of_other)[paired]
        yield from _by_words(left[paired], shared, either, words)
        left = left[~paired]
    yield from _by_words(left, addresses[left], active[left], words)


def _by_words(
    rows: NDArray[np.int64], addresses: NDArray[np.int64], active: NDArray[np.bool_], words: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint32]]]:
    """Passes of a warp's worth of words each; ``addresses`` and ``active`` (rows, lanes)."""
    if not len(rows):
        return
    at_once = WARP // words
    offsets = np.arange(words, dtype=np.int64) * WORD_BYTES
    weights = np.uint32(1) << np.arange(WARP, dtype=np.uint32)
    for start in range(0, addresses.shape[1], at_once):
        some = slice(start, start + at_once)
        bits = np.repeat(active[:, some], words, axis=1)
        yield (
            rows,
            (addresses[:, some, None] + offsets).reshape(len(rows), WARP),
            (bits * weights).sum(axis=1, dtype=np.uint32),
        )


def active_lanes(mask: NDArray[np.uint32]) -> NDArray[np.bool_]:
    """(n, 32) whether each lane is active, by the bits of ``mask`` (n,)."""
    bits: NDArray[np.uint32] = (mask[:, None] >> np.arange(WARP, dtype=np.uint32)) & np.uint32(1)
    return bits.astype(np.bool_)


def _lane_values(
    addresses: NDArray[np.int64], element_bytes: int, thread: str
) -> dict[str, NDArray[np.int64]]:
    return {
        f"address{thread}": addresses,
        f"word{thread}": addresses // WORD_BYTES,
        f"index{thread}": addresses // element_bytes,
    }


def _quotient(key: Expression, element_bytes: int, constants: dict[str, int]) -> int | None:
    """d where ``key`` is address // d, else None."""
    match key:
        case Keyword("address1"):
            return 1
        case Keyword("word1"):
            return WORD_BYTES
        case Keyword("index1"):
            return element_bytes
        case Floor(Binary("/", inner, (Number() | Keyword("blockSize" | "banks")) as divisor)):
            outer = _quotient(inner, element_bytes, constants)
            by = int(evaluate(divisor, constants))
            return outer * by if outer is not None and by > 0 else None
    return None


def _modulus(group: Expression, key: Expression, constants: dict[str, int]) -> int | None:
    """m where ``group`` is ``key % m``, else None."""
    match group:
        case Binary("%", left, (Number() | Keyword("banks" | "blockSize")) as right) if left == key:
            modulus = int(evaluate(right, constants))
            return modulus if 0 < modulus <= MOST_BANKS else None
    return None
