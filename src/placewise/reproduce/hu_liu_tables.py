"""Tables I to V of Hu and Liu 2015, as far as they can be recomputed from the printed figures."""

from __future__ import annotations

from dataclasses import dataclass

from placewise.model.hu_liu import memory_time, read_cycle, time_difference
from placewise.reproduce.result import Cell, Reproduction, Table

ROW_CYCLE_CLOCKS = 12.0
"""t_RAS + t_RP in memory clocks. The value is inferred: the paper prints a read cycle of 1.294 ns
and refers to a data sheet; 12 clocks give exactly that."""
MEMORY_CLOCK_MHZ = 1546.0
"""Memory clock of the M2050 (NVIDIA, Tesla M2050/M2070 board specification)."""
PARTITIONS = 6.0
PRINTED_CYCLE = 1.294
MEASURED_CYCLES = {5: 1.32, 10: 1.34, 15: 1.34, 20: 1.33}
"""Measured read cycles of Table I in ns, by transactions per request."""
SM_CLOCK_MHZ = 1150.0
"""M2050's processor clock; Table II is in cycles."""
ELEMENTS = {"97K": 97_046, "193K": 193_474}
"""Elements of Rodinia's data sets ``fvcorr.domn.097K`` and ``.193K``, which the paper names."""
WARP = 32


@dataclass(frozen=True)
class Launches:
    """A row of Tables III and IV: a kernel in which every thread makes ``requests`` requests."""

    kernel: str
    size: str
    requests: int
    transactions: int
    printed_measured: float
    printed_predicted: float
    printed_error: float
    """Error that the paper prints, in percent."""


CFD = (
    Launches("Variable_init", "97K", 5, 1, 0.02144, 0.202036, 5.6),
    Launches("Variable_init", "193K", 5, 1, 0.038242, 0.040272, 5.3),
    Launches("Compute_flux_contributions", "97K", 17, 1, 0.076597, 0.069802, 10.1),
    Launches("Compute_flux_contributions", "193K", 17, 1, 0.146076, 0.136926, 6.2),
    Launches("Time_step", "97K", 16, 1, 0.649499, 0.064755, 6.4),
    Launches("Time_step", "193K", 16, 1, 0.132312, 0.128871, 2.6),
)
FAN = (
    Launches("Fan1", "1024", 2, 32, 0.002867, 0.002588, 9.7),
    Launches("Fan2", "1024", 2, 32, 0.136716, 0.131787, 3.6),
)
STENCIL = (
    ((512, 512, 4), 0.188463, 0.162558, 13.7),
    ((1024, 512, 4), 0.346627, 0.305169, 11.9),
    ((512, 512, 8), 0.466165, 0.414159, 11.1),
)
"""Table V: (nx, ny, nz), measured, predicted, error in percent."""
STENCIL_REQUESTS = 6
"""Section VI: five reads and a write in each iteration."""
MISPRINTS = {
    ("Variable_init", "97K"): "predicted 0.202036: 0.0202036 agrees with the printed error",
    ("Time_step", "97K"): "measured 0.649499: 0.0649499 is of the size of the prediction, but the "
    "printed error then wants 0.0692",
    ("Compute_flux_contributions", "97K"): "predicted 0.069802: the printed error wants 0.0689",
}


def modelled_cycle() -> float:
    """Modelled read cycle r_c in ns."""
    return read_cycle(ROW_CYCLE_CLOCKS, PARTITIONS, MEMORY_CLOCK_MHZ)


def measured_cycle() -> float:
    """Measured read cycle in ns: the mean of Table I."""
    return sum(MEASURED_CYCLES.values()) / len(MEASURED_CYCLES)


def cfd_time(launch: Launches, cycle_ns: float) -> float:
    """Time of one launch over all elements of its data set, in ms."""
    warps = -(-ELEMENTS[launch.size] // WARP)
    return memory_time(cycle_ns, launch.transactions, warps, launch.requests) / 1e6


def hu_liu_tables() -> Reproduction:
    """Recompute Tables I to V, paper beside program."""
    modelled, measured = modelled_cycle(), measured_cycle()
    errors = [abs(cfd_time(c, measured) / _mended(c) - 1.0) * 100.0 for c in CFD]
    tables = (_cycle_table(modelled, measured), _difference_table(modelled, measured),
              _requests_table(), _cfd_table(modelled, measured), _stencil_table())  # fmt: skip
    verdict = (
        f"The read cycle follows as {modelled:.3f} ns (printed {PRINTED_CYCLE}). The predicted "
        f"times of CFD come out within {max(errors):.1f} % with the measured cycle of Table I, not "
        f"the modelled one, and in milliseconds; Gaussian elimination and the stencil cannot be "
        "recomputed from what is printed."
    )
    return Reproduction(
        "hu-liu",
        "Hu and Liu 2015, Tables I to V",
        tables,
        verdict,
        missing=(
            "t_RAS and t_RP are not printed (12 clocks in all are inferred from 1.294 ns)",
            "Table II: requests per warp and the clock of its cycles are not printed; what they "
            "would have to be is derived",
            "Table IV: numbers of warps are not printed (CFD: elements of Rodinia's data sets of "
            "that name, one thread each); of Fan1 and Fan2 neither blocks nor launches are",
            "Table V: warps, iterations and transactions per request are not printed",
        ),
        figures={
            "read cycle, ns": modelled,
            "mean measured read cycle, ns": measured,
            "largest deviation of CFD's predictions, %": max(errors),
        },
    )


def _mended(launch: Launches) -> float:
    """The printed prediction with a misplaced decimal point corrected."""
    value = launch.printed_predicted
    return value / 10 if value > 5 * launch.printed_measured else value


def _cycle_table(modelled: float, measured: float) -> Table:
    error = 100.0 * (measured - modelled) / measured
    return Table(
        "Table I: read cycle of one transaction, M2050",
        ("", "paper", "program"),
        (
            ("modelled r_c, ns", PRINTED_CYCLE, round(modelled, 4)),
            ("measured r_c, ns (mean of four)", 1.3325, round(measured, 4)),
            ("error, %", 2.9, round(error, 1)),
        ),
        (f"r_c = {ROW_CYCLE_CLOCKS:.0f} clocks / (6 partitions · {MEMORY_CLOCK_MHZ:.0f} MHz)",),
    )


def _difference_table(modelled: float, measured: float) -> Table:
    one, other = (15.0, 64 * 256 / WARP), (10.0, 64 * 512 / WARP)
    printed = 391_680.0
    per_request = time_difference(modelled, one, other, 1.0) * SM_CLOCK_MHZ / 1e3
    requests = printed / per_request
    actual = 1_584_332 - 1_203_170
    return Table(
        "Table II: a strided kernel, 64 × 256 threads and stride 15 against 64 × 512 and 10",
        ("", "paper", "program"),
        (
            ("measured variation, cycles", 381_162, actual),
            ("modelled variation, cycles", printed, None),
            ("error, %", 2.8, round(100 * (printed - actual) / actual, 1)),
            ("Δ(stride · warps)", None, other[0] * other[1] - one[0] * one[1]),
            ("requests per warp that the modelled variation implies", None, round(requests, 1)),
            ("the same with the measured r_c", None, round(requests * modelled / measured, 1)),
        ),
        (
            f"cycles taken to be of the processor clock, {SM_CLOCK_MHZ:.0f} MHz; requests per warp "
            "are not printed, so the variation itself cannot be recomputed. 100 requests and the "
            "measured r_c rounded to 1.53 cycles give 391,680 exactly",
        ),
    )


def _requests_table() -> Table:
    return Table(
        "Table III: requests of a thread, transactions of a request (input of Table IV)",
        ("kernel", "requests", "transactions"),
        tuple((c.kernel, c.requests, c.transactions) for c in (*CFD[::2], *FAN)),
        ("taken over: Rodinia's kernels themselves are not part of this program",),
    )


def _cfd_table(modelled: float, measured: float) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for c in CFD:
        own, own_modelled = cfd_time(c, measured), cfd_time(c, modelled)
        deviation = 100.0 * (own / _mended(c) - 1.0)
        rows.append(
            (c.kernel, c.size, c.printed_measured, c.printed_predicted, f"{c.printed_error} %",
             round(own, 6), round(own_modelled, 6), f"{deviation:+.1f} %")
        )  # fmt: skip
    for f in FAN:
        rows.append(
            (f.kernel, f.size, f.printed_measured, f.printed_predicted, f"{f.printed_error} %",
             None, None, None)
        )  # fmt: skip
    return Table(
        "Table IV: times of CFD and Gaussian elimination",
        ("kernel", "size", "measured", "predicted", "error", "program, r_c of Table I",
         "program, r_c modelled", "against predicted"),
        tuple(rows),
        (
            "the paper heads its columns with seconds; the figures are milliseconds",
            *(f"{kernel}, {size}: {text}" for (kernel, size), text in MISPRINTS.items()),
            "Fan1, Fan2: not recomputed, their warps are not printed",
            "program: requests × warps × r_c, in ms, one thread for each element of Rodinia's data "
            f"sets ({', '.join(f'{k}: {v:,}' for k, v in ELEMENTS.items())})",
        ),
    )  # fmt: skip


def _stencil_table() -> Table:
    rows = []
    base = STENCIL[0][2]
    cycle = measured_cycle()
    for shape, actual, predicted, error in STENCIL:
        nx, ny, nz = shape
        iterations = nx * ny * (nz - 2) / (512 * 512 * 2)
        recomputed = 100.0 * (actual - predicted) / actual
        rows.append(
            (f"{nx} × {ny} × {nz}", actual, predicted, f"{error} %", f"{recomputed:.1f} %",
             f"{predicted / base:.2f}", f"{iterations:.2f}",
             round(memory_time(cycle, 1, nx * ny / WARP, STENCIL_REQUESTS * (nz - 2)) / 1e6, 4))
        )  # fmt: skip
    return Table(
        "Table V: stencil",
        ("size", "measured", "predicted", "error", "error, program", "predicted over the first",
         "nx · ny · (nz − 2) over the first", "program, coalesced"),
        tuple(rows),
        (
            "program, coalesced: 6 requests in each of the text's nz − 2 iterations, a transaction "
            "each, r_c of Table I. The printed predictions are 1.05 to 1.24 times as long, and do "
            "not grow with nx · ny · (nz − 2): transactions per request are not printed",
        ),
    )  # fmt: skip
