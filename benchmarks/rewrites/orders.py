"""Random programs whose matrices are stored column by column, judged like their placements."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from benchmarks.rewrites.judge import (
    Failure,
    Original,
    Report,
    executed,
    findings,
    judge,
    plain,
)
from benchmarks.rewrites.program import described
from placewise.errors import CompileError, PlacewiseError, UnsupportedError
from placewise.executor.check import Checker
from placewise.kernel.cases.case import Case
from placewise.kernel.cases.prepare_case import compile_case
from placewise.kernel.matrix_arrays import MatrixArray, StoredMatrix
from placewise.kernel.view import find_matrices
from placewise.rewriter.layouts import Reordered, original_matrices, rewrite_matrices
from placewise.space.array_order import transposed

Orders = tuple[StoredMatrix, ...]


def judged(seed: int, most: int) -> Report:
    """Forms of the program of a seed: at most ``most`` of its placements, and each order of its
    matrices."""
    report, known = judge(seed, most)
    if known is not None:
        report.failures += judge_orders(known, report)
    return report


def judge_orders(known: Original, report: Report) -> list[Failure]:
    """Each matrix of a program stored column by column, alone and all together, on all inputs."""
    failures = []
    for stored in _orders(known):
        found = _judge(known, stored, report)
        if found is not None:
            failures.append(found)
    return failures


def _orders(known: Original) -> Iterator[Orders]:
    found = find_matrices(known.case(0))
    for matrix in found:
        yield (_transposed(matrix),)
    by_name = {matrix.name: matrix for matrix in found}
    if len(by_name) > 1:
        yield tuple(map(_transposed, by_name.values()))


def _transposed(matrix: MatrixArray) -> StoredMatrix:
    return StoredMatrix(matrix, transposed((matrix.rows, matrix.columns), matrix.rows + 3))


def _judge(known: Original, stored: Orders, report: Report) -> Failure | None:
    names = tuple((one.matrix.name, "transposed") for one in stored)

    def failure(kind: str, detail: str) -> Failure:
        return Failure(kind, detail, described(known.program, names, None))

    view = known.prepared.view
    try:
        written = rewrite_matrices(known.case(0), view, stored)
    except UnsupportedError as error:
        report.refused[plain(error.message)] += 1
        return None
    report.forms += 1
    source = written.case.source
    try:
        kernel = compile_case(written.case)
    except CompileError as error:
        return failure("does not compile", f"{error.message}\n{source}")
    for number in range(len(known.cases)):
        other = written if number == 0 else _stored_like(stored, known, number)
        if other is None:
            report.counts["bound"] += 1
            continue
        case = replace(other.case, source=source)
        checker = Checker()
        try:
            run = executed(kernel, case, checker)
        except PlacewiseError as error:
            return failure("fails", f"on input {number}: {error.message}\n{source}")
        if number and any(f.kind == "trap" for f in checker.findings):
            report.counts["bound"] += 1
            continue
        bad = findings(checker)
        if bad:
            return failure("unclean", f"on input {number}: {bad[0]}\n{source}")
        outputs = dict(run.outputs)
        held = outputs | original_matrices(other, outputs)
        unlike = [n for n, b in known.runs[number].items() if n in held and held[n].tobytes() != b]
        if unlike:
            kind = "other bits" if number == 0 else "other bits on another input"
            return failure(kind, f"{', '.join(unlike)}\n{source}")
        report.counts["same"] += 1
    return None


def _stored_like(stored: Orders, known: Original, number: int) -> Reordered | None:
    """Another input with the same matrices in the same order; None where its arrays hold no whole
    number of rows."""
    case: Case = known.case(number)
    found = {(m.name, m.columns_text): m for m in find_matrices(case)}
    wanted = [(one.matrix.name, one.matrix.columns_text) for one in stored]
    if not all(key in found for key in wanted):
        return None
    return rewrite_matrices(
        case, known.prepared.view, tuple(_transposed(found[key]) for key in wanted)
    )
