"""Others' latency curves of real GPUs, read by the probe, beside vendors' and mt4g's figures."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchmarks.results import Figure
from placewise.probe.infer.curve import plateaus, read_latency_curve

WITHIN = 0.05
KB = 1024


@dataclass(frozen=True)
class Known:
    """What is known of a level: capacity in bytes, latencies in cycles, each with its source."""

    level: str
    bytes: float
    bytes_from: str
    cycles: tuple[tuple[float, str], ...] = ()


KNOWN = {
    "v100": (
        Known("L1", 128 * KB, "NVIDIA", ((30.1, "mt4g"),)),
        Known("L2", 6144 * KB, "NVIDIA", ((214.5, "mt4g"),)),
    ),
    "a100_40": (
        Known(
            "L1",
            160 * KB,
            "NVIDIA, 192 KB less 32 KB of shared memory, our reading; mt4g: 172 KB",
            ((35.0, "mt4g, read-only loads"),),
        ),
        Known("L2", 20480 * KB, "NVIDIA, one of two partitions", ((221.0, "mt4g"),)),
    ),
    "h100_pcie": (
        Known("L1", 238848, "mt4g, SXM5", ((34.9, "mt4g, SXM5, read-only loads"),)),
        Known(
            "L2",
            25600 * KB,
            "mt4g, one of two partitions",
            (
                (219.3, "mt4g's summary, SXM5: loads of 1 KB"),
                (237.8, "the same of an H100 NVL"),
                (276.0, "mt4g's raw chases of 224 to 241 KB, SXM5: L1 misses, median"),
                (269.0, "the same of an H100 NVL"),
            ),
        ),
        Known("L2, both partitions", 51200 * KB, "NVIDIA"),
    ),
    "l40": (
        Known("L1", 96 * KB, "NVIDIA, 128 KB less 32 KB of shared memory, our reading"),
        Known("L2", 98304 * KB, "NVIDIA", ((279.0, "Alpay and Basaran 2026, mean over all SMs"),)),
    ),
}
"""The 32 KB are inferred, not recorded. mt4g's H100s are not the curve's board. Its latency of
plain loads from the A100's L1, 68 cycles, is not believed: its read-only loads hit the same cache.

mt4g gives two latencies of an H100's L2. Its summary is of 256 words in a row, that is eight lines
in few slices of L2, loaded past L1; its raw chases of arrays a little larger than L1 go to as many
lines as a curve does, and miss L1 as a curve's loads do. Of the L40 neither NVIDIA nor mt4g say a
latency, nor of the H100's far partition."""


def published(folder: Path) -> list[Figure]:
    """Capacities and latencies from the curves in ``folder``."""
    figures = []
    for name, levels in KNOWN.items():
        found = plateaus(read_latency_curve(folder / f"gpu-latency_{name}.txt"))
        for plateau, known in zip(found, levels, strict=False):
            capacity = plateau.capacity_bytes or 0.0
            figures.append(
                Figure(
                    f"{name} {known.level} capacity",
                    capacity / KB,
                    "KB",
                    f"{known.bytes / KB:.5g} within 5 % ({known.bytes_from})",
                    abs(capacity / known.bytes - 1) <= WITHIN,
                )
            )
            figures.append(_latency(f"{name} {known.level} latency", plateau.cycles, known))
        figures.append(
            Figure(
                f"{name} levels",
                len(found) - 1,
                "",
                str(len(levels)),
                len(found) - 1 == len(levels),
            )
        )
    return figures


def _latency(name: str, found: float, known: Known) -> Figure:
    """Holds within 5 % of one of the figures; all are named, the one that is met as such."""
    if not known.cycles:
        return Figure(name, found, "clk", "shown only: none is known", True)
    texts = []
    met = False
    for cycles, source in known.cycles:
        near = abs(found / cycles - 1) <= WITHIN
        met |= near
        texts.append(f"{cycles} ({source}){'' if near else ': missed'}")
    return Figure(name, found, "clk", f"within 5 % of {' or '.join(texts)}", met)
