"""Accesses that a user recorded thread by thread, as the trace of a run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from placewise.errors import CaseError
from placewise.executor.slice_interpreter.trace_chunk import chunk_of_lanes
from placewise.executor.trace import Site
from placewise.kernel.cases.given_accesses import GivenAccesses
from placewise.kernel.launch import ArrayArgument, Inputs
from placewise.memory.reuse.profile import Profiler
from placewise.memory.reuse.record import turns
from placewise.memory.reuse.sampling.active import ChosenBlocks
from placewise.memory.transactions import LANE_SIZES


class GivenProfiler(Profiler):
    """A profiler of accesses that were recorded elsewhere: call :meth:`take`."""

    def take(self, given: GivenAccesses) -> None:
        """Take the accesses. What the threads of a warp do for the n-th time in one line to one
        array, loads and stores apart, is one access of the warp.

        Raises CaseError for threads, arrays and elements that the launch does not have.
        """
        launch = self._launch
        names = [a.name for a in self._inputs.arguments]
        arrays = _arrays(given, self._inputs)
        number, of_access = np.unique(_numbers(given, names), return_inverse=True)
        sizes = np.array([arrays[names[k]].data.size for k in number])
        _check(given.thread, launch.blocks * launch.threads_per_block, "thread", given.where)
        _check(given.element, sizes[of_access], "element", given.where)

        kinds = np.stack([of_access, given.write, given.line], axis=1).astype(np.int64)
        site_kinds, site = np.unique(kinds, axis=0, return_inverse=True)
        site = site.reshape(-1)
        widths = [arrays[names[k]].data.dtype.itemsize for k in number]
        sites = tuple(_site(widths[a], bool(w), int(line)) for a, w, line in site_kinds.tolist())

        block, thread = np.divmod(given.thread, launch.threads_per_block)
        warp, lane = np.divmod(thread, 32)
        step = turns(given.thread)
        turn = turns(given.thread * len(sites) + site)
        group, of_group = np.unique(
            np.stack([block, warp, site, turn], axis=1), axis=0, return_inverse=True
        )
        of_group = of_group.reshape(-1)
        first = np.full(len(group), np.iinfo(np.int64).max)
        np.minimum.at(first, of_group, step)
        mask = np.zeros((len(group), 32), np.bool_)
        mask[of_group, lane] = True
        offset = np.zeros((len(group), 32), np.int64)
        offset[of_group, lane] = given.element * np.array(widths)[of_access]

        order = np.lexsort((group[:, 2], first, group[:, 1], group[:, 0]))
        block, warp, site = (group[order, k] for k in range(3))
        chosen = ChosenBlocks(launch.blocks, self._plan.sms)
        chosen.want(np.unique(block))
        self._recorder = chosen
        self.begin(sites, tuple(names[k] for k in number))
        self.chunk(
            chunk_of_lanes(
                site=site,
                block=block,
                warp=warp,
                phase=np.zeros(len(order), np.int64),
                array=site_kinds[site, 0],
                mask=mask[order],
                offset=offset[order],
            )
        )


def _arrays(given: GivenAccesses, inputs: Inputs) -> dict[str, ArrayArgument]:
    found = {a.name: a for a in inputs.arrays}
    if not found:
        raise CaseError("the kernel has no arrays", where=given.where)
    return found


def _numbers(given: GivenAccesses, names: Sequence[str]) -> NDArray[np.int64]:
    """(n,) number of the parameter that each access goes to."""
    if given.array.dtype.kind != "U":
        number = given.array.astype(np.int64)
        _check(number, len(names), "array", given.where)
        return number
    known, of_access = np.unique(given.array, return_inverse=True)
    for name in known.tolist():
        if name not in names:
            raise CaseError(
                f"the kernel has no array '{name}'",
                where=given.where,
                hint=f"its parameters are {', '.join(names)}",
            )
    return np.array([names.index(name) for name in known.tolist()])[of_access]


def _check(
    values: NDArray[np.int64], limit: int | NDArray[np.int64], what: str, where: str
) -> None:
    bad = np.flatnonzero((values < 0) | (values >= limit))
    if len(bad):
        at = int(bad[0])
        most = int(np.broadcast_to(limit, values.shape)[at])
        raise CaseError(
            f"{what} {int(values[at])} of access {at}, but there are {most}", where=where
        )


def _site(bytes_: int, write: bool, line: int) -> Site:
    kind, opcode = ("store", "st.global") if write else ("load", "ld.global")
    lane = next(size for size in LANE_SIZES if bytes_ % size == 0)
    return Site(opcode, "global", kind, lane, 0, line or None)
