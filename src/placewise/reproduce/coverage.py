"""Every table and figure of the five papers: the command that prints it beside the program's
figures, or why none can."""

from __future__ import annotations

from typing import NamedTuple

from placewise.reproduce.result import Cell, Reproduction, Table

NO_GPU = "it was measured on GPUs that are not available"
AS_TEXT = "no numbers"
CHEN = "Chen et al. 2017"
HUANG = "Huang and Li 2017"
HU = "Hu and Liu 2015"
MEI = "Mei et al. 2014"
PENG = "Peng et al. 2016"


class Entry(NamedTuple):
    """A table or figure of a paper."""

    paper: str
    number: str
    """``Fig. 4`` or ``Table II``, for example; Mei et al.'s have titles instead."""
    holds: str
    """What it shows."""
    command: str | None
    """Command that prints it beside the program's figures; None where none can."""
    remark: str = ""
    """How far it does, or why none can."""


ENTRIES = (
    Entry(CHEN, "Fig. 1", "structure of PORPLE", None, AS_TEXT),
    Entry(CHEN, "Fig. 2", "syntax of MSL", None, AS_TEXT),
    Entry(CHEN, "Fig. 3", "serialization conditions", None,
          "it is missing in the copy that was used; conditions of Fig. 4 and of the text stand"),
    Entry(CHEN, "Fig. 4", "memories of the M2075", "reproduce machines"),
    Entry(CHEN, "Fig. 5", "code for each memory", None, AS_TEXT),
    Entry(CHEN, "Fig. 6", "placement-agnostic code", None, AS_TEXT),
    Entry(CHEN, "Fig. 7", "speedups of regular kernels, K20c", "reproduce porple-speedups",
          "means that the text prints, beside predicted gains; the bars are a plot"),
    Entry(CHEN, "Fig. 8", "speedups of irregular kernels, K20c", "reproduce porple-speedups",
          "means that the text prints, beside predicted gains; the bars are a plot"),
    Entry(CHEN, "Fig. 9", "speedups of irregular kernels, M2075", "reproduce porple-speedups",
          "the lead over the rules that the text prints; the bars are a plot"),
    Entry(CHEN, "Fig. 10", "speedups of irregular kernels, C1060", "reproduce porple-speedups",
          "the lead over the rules that the text prints; the bars are a plot"),
    Entry(CHEN, "Fig. 11", "share of the overhead", "reproduce porple-speedups",
          "of predicted times on GPUs that have them; the mean that the text prints"),
    Entry(CHEN, "Fig. 12", "six inputs of particlefilter", "reproduce porple-speedups",
          "means that the text prints, beside predicted gains on inputs of ours"),
    Entry(CHEN, "Fig. 13", "six inputs of spmv", "reproduce porple-speedups",
          "means that the text prints, beside predicted gains on matrices of ours"),
    Entry(CHEN, "Fig. 14", "speedups over numbers of launches", "reproduce porple-speedups",
          "of predicted times, with printed and measured overheads; the bars are a plot"),
    Entry(CHEN, "Table 1", "benchmarks", "cases --by paper", "names, no numbers"),
    Entry(CHEN, "Table 2", "machines", "reproduce machines", "names, no numbers"),
    Entry(CHEN, "Table 3", "latencies of three GPUs", "reproduce machines"),
    Entry(CHEN, "Table 4", "placements chosen", "reproduce porple-table4"),
    Entry(CHEN, "Table 5", "seconds of overhead", "reproduce porple-speedups",
          "measured on the computer that runs the command"),
    Entry(HUANG, "Fig. 1", "memories of a Kepler GPU", None, AS_TEXT),
    Entry(HUANG, "Fig. 2", "instructions of an address", "reproduce huang-li-addressing",
          "Kepler's own code cannot be disassembled here: counts are of later GPUs"),
    Entry(HUANG, "Fig. 3", "queue of a memory bank", None, AS_TEXT),
    Entry(HUANG, "Fig. 4", "times between arrivals, c_a", "reproduce huang-li",
          "c_a and quantiles; the paper's curves are a plot, its c_a of GPGPU-Sim's C2050"),
    Entry(HUANG, "Fig. 5", "predicted over measured times", "reproduce huang-li-ablations",
          "mean error 9.9 %, beside that on measured times of another kernel and other GPUs"),
    Entry(HUANG, "Fig. 6", "ranks of five placements", "reproduce huang-li",
          "the program's ranks; the paper's are a plot"),
    Entry(HUANG, "Fig. 7", "worth of counting instructions", "reproduce huang-li-ablations",
          "improvements that the text prints, beside those on other measured times"),
    Entry(HUANG, "Fig. 8", "worth of the queue, with counting", "reproduce huang-li-ablations",
          "improvements that the text prints, beside those on other measured times"),
    Entry(HUANG, "Fig. 9", "worth of the queue alone", "reproduce huang-li-ablations",
          "improvements that the text prints, beside those on other measured times"),
    Entry(HUANG, "Table I", "similarity of events and time", "reproduce huang-li-events",
          "on other recordings: the paper's are not public"),
    Entry(HUANG, "Table II", "parameters of the model", None, AS_TEXT),
    Entry(HUANG, "Table III", "notation of the queue", None, AS_TEXT),
    Entry(HUANG, "Table IV", "placement tests", "reproduce huang-li",
          "every pair predicted, and numbers of tests; their times on a K80 are not public"),
    Entry(HUANG, "Section III-C2", "row latencies and address bits", "reproduce machines",
          "the probe's tests find them again on a simulated device"),
    Entry(HU, "Fig. 1", "GPU and CUDA", None, AS_TEXT),
    Entry(HU, "Fig. 2", "synthesis of transactions", None, AS_TEXT),
    Entry(HU, "Fig. 3", "pipeline of five stages", None, AS_TEXT),
    Entry(HU, "Fig. 4", "latency over warps", "reproduce hu-liu",
          "its slopes, which Table I has; the points are a plot"),
    Entry(HU, "Fig. 5", "throughput and time over strides", "reproduce hu-liu",
          "the two points that Table II has; the others are a plot"),
    Entry(HU, "Table I", "read cycle", "reproduce hu-liu"),
    Entry(HU, "Table II", "strided kernel", "reproduce hu-liu"),
    Entry(HU, "Table III", "requests and transactions", "reproduce hu-liu",
          "counted in kernels of ours; two of Rodinia's have none"),
    Entry(HU, "Table IV", "times of CFD and Gaussian elimination", "reproduce hu-liu",
          "all but Fan2, whose printed time no number of its warps gives"),
    Entry(HU, "Table V", "times of a stencil", "reproduce hu-liu",
          "errors; the times need transactions that are not printed"),
    Entry(MEI, "GPU architecture", "block diagram", None, AS_TEXT),
    Entry(MEI, "GPU Various Memory Spaces", "what memories there are", None, AS_TEXT),
    Entry(MEI, "CPU cache addressing", "structure", None, AS_TEXT),
    Entry(MEI, "Memory access process", "P-chase and its flowchart", None, AS_TEXT),
    Entry(MEI, "Kepler Texture L1 Cache", "lines of 32 and of 128 B", "reproduce mei",
          "the two older methods on a simulated device with the printed cache"),
    Entry(MEI, "2-way Bank Conflict", "stride of two", "reproduce mei"),
    Entry(MEI, "Bank Conflict Latency of Fermi", "latency over strides", "reproduce mei",
          "conflicts; the latencies are a plot"),
    Entry(MEI, "Latency of Kepler Shared Memory", "latency over strides", "reproduce mei",
          "conflicts; the latencies are a plot"),
    Entry(MEI, "Global Memory Access Latencies", "latency of each pattern", "reproduce mei",
          "order and differences that the talk names; the latencies themselves are a plot"),
    Entry(MEI, "Global Memory Access Patterns", "six patterns", "reproduce mei"),
    Entry(MEI, "Fermi L1 Data Cache", "16 KB, 48 KB, hot way", "reproduce mei"),
    Entry(MEI, "TLB Structure", "16 and 65 entries, unequal sets", "reproduce mei"),
    Entry(MEI, "Texture Memory Access Latency", "latencies of both GPUs", "reproduce mei"),
    Entry(MEI, "Read-only data cache", "structure, in the summary", "reproduce mei",
          "the talk names it and prints no figure of it"),
    Entry(PENG, "Fig. 1", "memory hierarchy", None, AS_TEXT),
    Entry(PENG, "Fig. 2", "layouts in memory", None, AS_TEXT),
    Entry(PENG, "Table I", "Fermi's latencies", "reproduce machines"),
    Entry(PENG, "Table II", "attributes of the GPUs", "reproduce machines"),
    Entry(PENG, "Table III", "benchmarks and layouts", "reproduce peng-layouts", "names"),
    Entry(PENG, "Table IV", "costs and speedups, Fermi", "reproduce peng-layouts",
          "the speedups cannot be recomputed: " + NO_GPU),
    Entry(PENG, "Table V", "costs and speedups, Kepler", "reproduce peng-layouts",
          "the speedups cannot be recomputed: " + NO_GPU),
)  # fmt: skip
"""All tables and figures, those without numbers among them."""


def coverage() -> Reproduction:
    """A table with one row for each table or figure of the papers."""
    rows: list[tuple[Cell, ...]] = []
    for entry in ENTRIES:
        remark = entry.remark
        if entry.command is None and remark != AS_TEXT:
            remark = f"cannot be recomputed, because {remark}"
        rows.append((entry.paper, entry.number, entry.holds, entry.command or "–", remark))
    holding = [e for e in ENTRIES if e.remark != AS_TEXT]
    missing = [e for e in holding if e.command is None]
    return Reproduction(
        "coverage",
        "Chen et al., Huang and Li, Hu and Liu, Mei et al., Peng et al.: every table and figure",
        (
            Table(
                "What the papers print, and the command that prints it beside the program's",
                ("paper", "table or figure", "what it holds", "command", "remark"),
                tuple(rows),
            ),
        ),
        f"Of {len(holding)} tables and figures with numbers or names, {len(holding) - len(missing)}"
        f" have a command, some for a part only; {len(missing)} cannot be recomputed.",
        figures={
            "tables and figures with numbers or names": float(len(holding)),
            "not recomputed": float(len(missing)),
        },
    )
