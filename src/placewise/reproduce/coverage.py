"""Every table and figure of the five papers: the command that recomputes it, or why it cannot be
recomputed."""

from __future__ import annotations

from placewise.reproduce.result import Cell, Reproduction, Table

PLOT = "a plot: the paper's text does not have its numbers"
NO_GPU = "measured on GPUs that are not available"
AS_TEXT = "no numbers"
ENTRIES: tuple[tuple[str, str, str | None, str], ...] = (
    ("Chen et al. 2017", "Figs. 1, 2, 5, 6: structure, syntax, code", None, AS_TEXT),
    ("Chen et al. 2017", "Fig. 3: serialization conditions", None,
     "not readable in the copy that was used"),
    ("Chen et al. 2017", "Fig. 4: memory specification of the M2075", "machine show M2075", ""),
    ("Chen et al. 2017", "Table 1: benchmarks", "cases --by paper", ""),
    ("Chen et al. 2017", "Tables 2, 3, 5", "porple-speedups",
     "as far as predicted times can stand for measured ones"),
    ("Chen et al. 2017", "Table 4: placements chosen", "porple-table4", ""),
    ("Chen et al. 2017", "Figs. 7 to 10: speedups on K20c, M2075, C1060", "porple-speedups",
     "predicted on current GPUs; machine code of these is not read"),
    ("Chen et al. 2017", "Figs. 11 to 14: overheads, inputs, invocations", "porple-speedups",
     "as far as they can be counted; " + NO_GPU),
    ("Huang and Li 2017", "Table I: similarity of events", "huang-li-events",
     "on other recordings: the paper's are not public"),
    ("Huang and Li 2017", "Tables II and III: notation", None, AS_TEXT),
    ("Huang and Li 2017", "Fig. 1, 3: structure", None, AS_TEXT),
    ("Huang and Li 2017", "Fig. 2 and section III-B: addressing", "huang-li-addressing", ""),
    ("Huang and Li 2017", "Section III-C2: row latencies and address bits of the K80",
     "machine show K80", "found again from a simulated device by the probe's tests"),
    ("Huang and Li 2017", "Fig. 4: inter-arrival times, c_a 1.11, 2.22, 1.72", "huang-li",
     "c_a on a K80; the paper's are of GPGPU-Sim's Tesla C2050 and inputs that it does not name"),
    ("Huang and Li 2017", "Table IV: placement tests", "huang-li",
     "every pair predicted; their times on a K80 are not public"),
    ("Huang and Li 2017", "Fig. 5: normalized predictions, mean error 9.9 %", "huang-li-ablations",
     "on measured times of another kernel and other GPUs"),
    ("Huang and Li 2017", "Fig. 6: ranks of five placements of neuralnet", "huang-li",
     "the program's ranks; the paper's are a plot"),
    ("Huang and Li 2017", "Figs. 7 to 9: ablations", "huang-li-ablations",
     "the text's improvements beside those on other measured times"),
    ("Hu and Liu 2015", "Figs. 1 to 3: structure", None, AS_TEXT),
    ("Hu and Liu 2015", "Tables I to V", "hu-liu", ""),
    ("Hu and Liu 2015", "Fig. 4: latency over warps", "hu-liu",
     "its slopes are Table I; the points themselves are a plot"),
    ("Hu and Liu 2015", "Fig. 5: throughput and time over strides", None, PLOT),
    ("Mei et al. 2014", "Memory spaces, P-chase, structure", None, AS_TEXT),
    ("Mei et al. 2014", "Fermi's L1, texture L1, latencies, TLBs", "mei", ""),
    ("Mei et al. 2014", "Bank conflicts of Fermi and Kepler", "mei",
     "conflicts; their latencies are plots"),
    ("Mei et al. 2014", "Global access latencies by pattern", None, PLOT),
    ("Mei et al. 2014", "Kepler's read-only data cache", None, "named, its structure not printed"),
    ("Peng et al. 2016", "Figs. 1 and 2: hierarchy, layouts", None, AS_TEXT),
    ("Peng et al. 2016", "Table I: Fermi's latencies", "peng-layouts", "they are the costs' input"),
    ("Peng et al. 2016", "Table II: caches of the GPUs", "machine show M2050, machine show K20c",
     ""),
    ("Peng et al. 2016", "Table III: benchmarks and layouts", "peng-layouts", ""),
    ("Peng et al. 2016", "Tables IV and V: static and dynamic costs", "peng-layouts",
     "the speedups in them were " + NO_GPU),
)  # fmt: skip
"""(paper, table or figure, command that recomputes it or None, remark on how far it does or why it
cannot)."""


def coverage() -> Reproduction:
    """A table with one row for each table or figure of the papers."""
    rows: list[tuple[Cell, ...]] = [
        (paper, what, f"reproduce {by}" if by and " " not in by else by or "–",
         f"cannot be recomputed: {why}" if by is None and why != AS_TEXT else why)
        for paper, what, by, why in ENTRIES
    ]  # fmt: skip
    missing = [e for e in ENTRIES if e[2] is None and e[3] != AS_TEXT]
    holding = [e for e in ENTRIES if e[3] != AS_TEXT]
    return Reproduction(
        "coverage",
        "Chen et al., Huang and Li, Hu and Liu, Mei et al., Peng et al.: every table and figure",
        (
            Table(
                "What the papers print, and what recomputes it",
                ("paper", "table or figure", "command", "remark"),
                tuple(rows),
            ),
        ),
        f"Of {len(holding)} entries with numbers {len(holding) - len(missing)} are recomputed, at "
        f"least in part; {len(missing)} are not.",
        figures={"entries with numbers": len(holding), "not recomputed": len(missing)},
    )
