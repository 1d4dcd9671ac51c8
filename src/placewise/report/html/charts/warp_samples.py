"""Accesses of single warps, lane by lane, recorded in one block of the launch."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from placewise.executor.trace import Site
from placewise.machine import Machine
from placewise.memory.simulate.launch import SimulatedLaunch
from placewise.memory.simulate.metrics.traffic import Banked, banked_transactions
from placewise.report.html.charts.sm_accesses import SmAccesses

MOST_SITES = 60
"""Most instructions with samples, those with the most transactions in the launch."""
_BANK_BYTES = 4


def warp_samples(run: SimulatedLaunch, seen: SmAccesses) -> list[dict[str, Any]]:
    """Samples of accesses (:class:`placewise.schemas.page.WarpSample`) in the block in the middle
    of the launch: for each instruction its first access, and the one with the most transactions."""
    weight = {s.site.ptx_line: s.sectors + s.wavefronts for s in run.traffic.sites}
    order = sorted(
        (n for n, kept in seen.kept.items() if kept),
        key=lambda n: -weight.get(seen.sites[n].ptx_line, 0.0),
    )
    return [s for n in order[:MOST_SITES] for s in _of_site(seen, n, run)]


def _of_site(seen: SmAccesses, number: int, run: SimulatedLaunch) -> list[dict[str, Any]]:
    """The first access of an instruction, and the one with the most transactions if it has more."""
    site, kept = seen.sites[number], seen.kept[number]
    counts = [_transactions(site, offsets, mask, run) for offsets, mask, *_ in kept]
    most = int(np.argmax(counts))
    chosen = [("first", 0)] if counts[most] == counts[0] else [("most", most), ("first", 0)]
    documents = []
    for why, at in chosen:
        offsets, mask, array, block, warp = kept[at]
        documents.append(
            {
                "opcode": site.opcode,
                "place": site.ptx_line,
                "file": site.source_file,
                "line": site.source_line,
                "kind": site.kind,
                "space": site.space,
                "array": seen.arrays[array] if array >= 0 else None,
                "lane_bytes": site.lane_bytes,
                "block": block,
                "warp": warp,
                "offsets": [
                    int(offset) if mask >> lane & 1 else None
                    for lane, offset in enumerate(offsets.tolist())
                ],
                "transactions": counts[at],
                "sector_bytes": _BANK_BYTES if _is_banked(site) else run.traffic.sector_bytes,
                "chosen": why,
            }
        )
    return documents


def _is_banked(site: Site) -> bool:
    return site.space in ("shared", "constant")


def _transactions(site: Site, offsets: NDArray[np.int64], mask: int, run: SimulatedLaunch) -> int:
    """Wavefronts of an access to shared or constant memory, else the sectors that it touches."""
    if _is_banked(site) and (memory := _memory(run.machine, site.space)) is not None:
        what = Banked(memory, site.lane_bytes, site.kind == "atomic")
        masks = np.array([mask], np.uint32)
        return int(banked_transactions(what, offsets[None, :], masks)[0])
    lanes = (int(o) for lane, o in enumerate(offsets.tolist()) if mask >> lane & 1)
    return len(_sectors(lanes, site.lane_bytes, run.traffic.sector_bytes))


def _sectors(lanes: Iterable[int], lane_bytes: int, sector_bytes: int) -> set[int]:
    return {
        sector
        for first in lanes
        for sector in range(
            first // sector_bytes, (first + max(1, lane_bytes) - 1) // sector_bytes + 1
        )
    }


def _memory(machine: Machine, space: str) -> Any:
    """The memory that serves a space first; None where the machine has no such space."""
    return next((machine.levels(s.name)[0] for s in machine.spaces if s.name == space), None)
