"""Predicted counters of many rows beside the recorded ones: errors, and what was asked of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from benchmarks.counters.measured import KERNELS, VARIANTS
from benchmarks.counters.rows import Compared
from benchmarks.results import Figure
from placewise.memory.simulate.metrics.ncu_metrics import WARPS_ACTIVE


@dataclass(frozen=True)
class Asked:
    """What a counter's relative errors must keep below."""

    counter: str
    percentiles: tuple[tuple[int, float], ...] = ()
    """(percentile of the absolute relative errors, most that it may be)."""


EXACT = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"
L2_READS = "lts__t_sectors_op_read.sum"
LOCAL_LOADS = "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum"
DRAM_TRAFFIC = ("dram__sectors_read.sum", "dram__sectors_write.sum")
ASKED = (
    Asked("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", ((50, 0.01), (95, 0.05))),
    Asked("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum", ((50, 0.03), (95, 0.08))),
    Asked(L2_READS, ((50, 0.05), (90, 0.15))),
    Asked("lts__t_sectors_op_write.sum", ((50, 0.05), (90, 0.15))),
    Asked("dram__sectors_read.sum", ((50, 0.10),)),
    Asked("dram__sectors_write.sum", ((50, 0.10),)),
    Asked("smsp__inst_executed.sum", ((50, 0.01), (95, 0.05))),
    *(
        Asked(f"smsp__sass_thread_inst_executed_op_{c}_pred_on.sum", ((50, 0.01), (95, 0.05)))
        for c in ("fp32", "integer", "control", "memory", "conversion")
    ),
    Asked("smsp__sass_thread_inst_executed_op_misc_pred_on.sum"),
    Asked(LOCAL_LOADS),
    Asked("l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum"),
    Asked("smsp__thread_inst_executed_per_inst_executed.ratio"),
    Asked(WARPS_ACTIVE),
)
COUNTERS = (EXACT, *(a.counter for a in ASKED))
OF_CODE = f"{L2_READS} of machine code"
"""What of the predicted reads is machine code that is fetched again and again; recorded counters do
not tell it apart."""


def errors_of(rows: Sequence[Compared], counter: str) -> NDArray[np.float64]:
    """Relative errors of a counter over the rows that have it; of one that no row has, whether it
    was predicted all the same."""
    pairs = [r.counters[counter] for r in rows]
    found = [predicted / measured - 1 for measured, predicted in pairs if measured]
    return np.array(found if found else [float(predicted != 0.0) for _, predicted in pairs])


def unseen(row: Compared) -> bool:
    """Whether no constant of the model of L2 reads was fitted on a row."""
    if row.kernel == "pnpoly":
        return row.number % 4 != 0
    return row.number % VARIANTS % 2 != 0


def judge(rows: Sequence[Compared]) -> list[Figure]:
    """Figures asked beside those measured."""
    exact = np.abs(errors_of(rows, EXACT)) < 1e-9
    bound = [np.less_equal(*r.counters[WARPS_ACTIVE]) for r in rows]
    same = [r.registers[0] == r.registers[1] for r in rows]
    figures = [
        Figure("rows compared", len(rows), "", "", True),
        _figure(f"{EXACT}: rows that are exact", exact.mean(), 0.99, at_least=True),
        Figure("registers as reported: rows", float(np.mean(same)), "share", "", True),
        _figure(
            f"{WARPS_ACTIVE}: rows within the bound", float(np.mean(bound)), 1.0, at_least=True
        ),
    ]
    for asked in ASKED:
        found = np.abs(errors_of(rows, asked.counter))
        for percentile, most in asked.percentiles:
            value = float(np.percentile(found, percentile))
            figures.append(_figure(f"{asked.counter}: {_name(percentile)}", value, most))
    figures += _of_part("rows that nothing was fitted on", rows, unseen)
    figures += _of_part(
        "convolution, rows that nothing was fitted on",
        rows,
        lambda r: r.kernel == "convolution" and unseen(r),
    )
    for kernel in KERNELS:
        figures += _of_part(kernel, rows, lambda r, kernel=kernel: r.kernel == kernel)
    return figures + _of_local_memory(rows)


def _of_part(
    name: str, rows: Sequence[Compared], belongs: Callable[[Compared], bool]
) -> list[Figure]:
    """L2 reads of some of the rows."""
    part = [r for r in rows if belongs(r)]
    if not part:
        return []
    found = np.abs(errors_of(part, L2_READS))
    bounds = next(a.percentiles for a in ASKED if a.counter == L2_READS)
    return [
        _figure(f"{L2_READS}, {name}: {_name(p)}", float(np.percentile(found, p)), most)
        for p, most in bounds
    ]


def _of_local_memory(rows: Sequence[Compared]) -> list[Figure]:
    """DRAM sectors, read and written, of the rows that load from local memory."""
    found = []
    for row in rows:
        if row.has(LOCAL_LOADS):
            measured, predicted = np.sum([row.counters[c] for c in DRAM_TRAFFIC], axis=0)
            found.append(abs(predicted / measured - 1.0))
    if not found:
        return []
    about = "DRAM traffic of rows with local memory"
    return [
        Figure(f"{about}: rows", len(found), "", "", True),
        _figure(f"{about}: median of |error|", float(np.median(found)), 0.25),
        _figure(f"{about}: greatest |error|", max(found), 0.25),
    ]


def _name(percentile: int) -> str:
    return ("median" if percentile == 50 else f"{percentile}th percentile") + " of |error|"


def _figure(name: str, value: float, bound: float, *, at_least: bool = False) -> Figure:
    holds = value >= bound if at_least else value <= bound
    sign = "≥" if at_least else "≤"
    return Figure(name, float(value), "share", f"{sign} {bound:g}", bool(holds))


def error_table(rows: Sequence[Compared]) -> Table:
    """Errors of every counter, of each kernel."""
    table = Table(title="predicted over measured, less one")
    table.add_column("counter", overflow="fold")
    for column in ("kernel", "rows", "median |e|", "90th", "95th", "lowest", "highest"):
        table.add_column(column, justify="right", no_wrap=True)
    for counter in COUNTERS:
        for kernel in KERNELS:
            found = errors_of([r for r in rows if r.kernel == kernel and r.has(counter)], counter)
            if found.size:
                size = np.percentile(np.abs(found), (50, 90, 95))
                cells = [f"{100 * v:.2f} %" for v in (*size, found.min(), found.max())]
                table.add_row(counter, kernel, str(found.size), *cells)
    return table
