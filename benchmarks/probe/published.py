"""Others' latency curves of real GPUs, read by the probe, beside vendors' and mt4g's figures."""

from __future__ import annotations

from pathlib import Path

from benchmarks.results import Figure
from placewise.probe.curve import plateaus, read_latency_curve

WITHIN = 0.05
KB = 1024
KNOWN = {
    "v100": [
        ("L1", 128 * KB, "NVIDIA", 30.1, "mt4g"),
        ("L2", 6144 * KB, "NVIDIA", 214.5, "mt4g"),
    ],
    "a100_40": [
        (
            "L1",
            160 * KB,
            "NVIDIA, 192 KB less 32 KB of shared memory, our reading; mt4g: 172 KB",
            35.0,
            "mt4g, read-only loads",
        ),
        ("L2", 20480 * KB, "NVIDIA, one of two partitions", 221.0, "mt4g"),
    ],
    "h100_pcie": [
        ("L1", 238848, "mt4g, SXM5", 34.9, "mt4g, SXM5, read-only loads"),
        ("L2", 25600 * KB, "mt4g, one of two partitions", 219.3, "mt4g, SXM5"),
        ("L2, both partitions", 51200 * KB, "NVIDIA", None, ""),
    ],
    "l40": [
        ("L1", 96 * KB, "NVIDIA, 128 KB less 32 KB of shared memory, our reading", None, ""),
        ("L2", 98304 * KB, "NVIDIA", None, ""),
    ],
}
"""The 32 KB are inferred, not recorded. mt4g's H100 is not the curve's board. Its latency of
plain loads from the A100's L1, 68 cycles, is not believed: its read-only loads hit the same cache.
No latencies of the L40 and of the H100's far partition are known: those are shown, not judged."""


def published(folder: Path) -> list[Figure]:
    """Capacities and latencies from the curves in ``folder``."""
    figures = []
    for name, levels in KNOWN.items():
        found = plateaus(read_latency_curve(folder / f"gpu-latency_{name}.txt"))
        for plateau, (level, size, size_from, cycles, cycles_from) in zip(
            found, levels, strict=False
        ):
            capacity = plateau.capacity_bytes or 0.0
            figures.append(
                Figure(
                    f"{name} {level} capacity",
                    capacity / KB,
                    "KB",
                    f"{size / KB:.5g} within 5 % ({size_from})",
                    abs(capacity / size - 1) <= WITHIN,
                )
            )
            asked = (
                f"{cycles} within 5 % ({cycles_from})" if cycles else "shown only: none is known"
            )
            figures.append(
                Figure(
                    f"{name} {level} latency",
                    plateau.cycles,
                    "clk",
                    asked,
                    cycles is None or abs(plateau.cycles / cycles - 1) <= WITHIN,
                )
            )
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
