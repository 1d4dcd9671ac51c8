"""Four kernels over flat arrays that they index as matrices, as people write them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.results import Figure
from placewise import advise_layout, make_case
from placewise.advisor.layouts.layout_advice import MatrixOption
from placewise.executor import execute
from placewise.executor.check import Checker
from placewise.kernel.cases.case import Case
from placewise.kernel.cases.prepare_case import compile_case, read_case
from placewise.kernel.matrix_arrays import StoredMatrix
from placewise.kernel.view import find_matrices
from placewise.rewriter.layouts import original_matrices, rewrite_matrices
from placewise.space.array_order import row_major, transposed

FOLDER = Path(__file__).with_name("matrices")
SIZES = {
    "matrix_vector": ((1 << 16, 128), (1000, 77), (333, 40)),
    "flat_lattice": ((1 << 19, 9), (5000, 9), (777, 9)),
    "row_softmax": ((1 << 16, 64), (999, 33), (100, 128)),
    "column_filter": ((1024, 1024), (200, 77), (65, 300)),
}
"""The size that advice is asked for, then two on which the written form is tried, too."""


@dataclass(frozen=True)
class MatrixOutcome:
    """What came of one kernel on one GPU."""

    kernel: str
    machine: str
    best: str
    gain: float
    interval: tuple[float, float]
    faster: float
    wrong: int
    findings: int


def matrix_case(kernel: str, number: int) -> Case:
    """The case of size ``number`` of a kernel, with data of its own."""
    rows, columns = SIZES[kernel][number]
    rng = np.random.default_rng(number + 1)

    def array(*shape: int) -> np.ndarray:
        return rng.uniform(0.1, 1.0, shape).astype(np.float32)

    source = FOLDER / f"{kernel}.cu"
    if kernel == "column_filter":
        grid = (-(-rows // 32), -(-columns // 8))
        arguments = [array(rows, columns), array(rows, columns), np.int32(rows), np.int32(columns)]
        return make_case(kernel, source, arguments, block=(32, 8), grid=grid)
    if kernel == "matrix_vector":
        arguments = [array(rows, columns), array(columns), array(rows)]
        arguments += [np.int32(rows), np.int32(columns)]
    elif kernel == "flat_lattice":
        arguments = [array(rows, 9), array(rows, 9), np.int32(rows), np.float32(0.6)]
    else:
        arguments = [array(rows, columns), array(rows, columns), np.int32(rows), np.int32(columns)]
    return make_case(kernel, source, arguments, block=128, problem=rows)


def judge_matrices(at: tuple[str, str]) -> MatrixOutcome:
    """One kernel on one GPU."""
    kernel, machine = at
    advice = advise_layout(matrix_case(kernel, 0), machine)
    assert advice.matrices is not None
    wrong = sum(not option.proven for option in advice.matrices.options)
    findings = 0
    best = advice.matrices.best
    if best is not None:
        for number in (1, 2):
            is_right, found = _try_size(kernel, number, best)
            wrong += not is_right
            findings += found
    ratio = None if best is None else best.ratio
    return MatrixOutcome(
        kernel, machine, "" if best is None else best.text,
        1.0 if ratio is None else 1.0 / ratio.ratio,
        (1.0, 1.0) if ratio is None else (1.0 / ratio.high, 1.0 / ratio.low),
        0.0 if ratio is None or ratio.faster is None else ratio.faster,
        wrong, findings,
    )  # fmt: skip


def _try_size(kernel: str, number: int, best: MatrixOption) -> tuple[bool, int]:
    """Whether the recommended source is right on another size, and findings of the checker."""
    assert best.reordered is not None
    read = read_case(matrix_case(kernel, number))
    orders = {one.matrix.name: one.is_transposed for one in best.stored}
    stored = {
        m.name: StoredMatrix(
            m, transposed(e, e[0] + 3) if orders[m.name] else row_major(e, e[1] + 3)
        )
        for m in find_matrices(read.case)
        if m.name in orders and (e := (m.rows, m.columns))
    }
    other = rewrite_matrices(read.case, read.view, tuple(stored.values()))
    written = replace(other.case, source=best.reordered.case.source)
    truth = execute(read.kernel, read.case.launch, read.case.inputs)
    checker = Checker()
    run = execute(compile_case(written), written.launch, written.inputs, check=checker)
    outputs = dict(run.outputs)
    held = outputs | original_matrices(other, outputs)
    same = all(held[name].tobytes() == data.tobytes() for name, data in truth.outputs)
    return same, len(checker.findings)


def matrix_figures(outcomes: list[MatrixOutcome]) -> list[Figure]:
    """Gains, and whether anything that was written is wrong."""
    figures = []
    for o in outcomes:
        low, high = o.interval
        what = f"{o.machine}, {o.kernel}: {o.best or 'stays'}"
        if o.best:
            what += f" ({low:.2f}–{high:.2f}, faster with {o.faster:.2f})"
        figures.append(Figure(what, o.gain, "times as fast", "", True))
    wrong, findings = sum(o.wrong for o in outcomes), sum(o.findings for o in outcomes)
    return [
        *figures,
        Figure("matrices: other bits, two other sizes included", wrong, "forms", "0", not wrong),
        Figure("matrices: checker's findings", findings, "", "0", not findings),
    ]
