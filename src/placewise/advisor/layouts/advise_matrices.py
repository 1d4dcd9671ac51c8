"""Advice on arrays that the kernel indexes as matrices: row by row, or column by column."""

from __future__ import annotations

from collections.abc import Sequence

from placewise.advisor.layouts.layout_advice import MatrixAdvice, MatrixOption
from placewise.advisor.layouts.layout_trial import Trial, fastest_first, recommended
from placewise.advisor.layouts.verify_layout import verify_matrices
from placewise.choose.matrix_orders import MatrixUse, matrix_uses, order_candidates
from placewise.errors import PlacewiseError
from placewise.executor import Execution
from placewise.kernel.cases.prepare_case import compile_case
from placewise.kernel.matrix_arrays import MatrixArray, StoredMatrix
from placewise.memory.fields import FieldRecorder
from placewise.rewriter.layouts import Reordered, rewrite_matrices
from placewise.space.array_order import stored_elements
from placewise.space.layout import Field, Record


def advise_matrices(trial: Trial, matrices: Sequence[MatrixArray]) -> MatrixAdvice:
    """Try the orders in which the traced accesses to ``matrices`` move fewer sectors."""
    uses, truth = _uses(trial, matrices)
    candidates = order_candidates(uses)
    options = []
    for done, stored in enumerate(candidates):
        trial.progress(f"trying {_text(stored)}", done, len(candidates))
        options.append(_option(trial, stored, truth))
    ranked = fastest_first(options)
    best = recommended(ranked, trial.demand, lambda o: (len(o.stored),))
    conversion = None
    if best is not None:
        sizes = [(s, s.matrix.parameter.element_bytes) for s in best.stored]
        old = sum(s.matrix.rows * s.matrix.columns * size for s, size in sizes)
        new = sum(stored_elements(s.extents, s.order) * size for s, size in sizes)
        conversion = trial.conversion(best, old, new)
    return MatrixAdvice(uses, trial.present, ranked, best, conversion)


def _uses(trial: Trial, matrices: Sequence[MatrixArray]) -> tuple[tuple[MatrixUse, ...], Execution]:
    """What accesses move in each order, and the traced run. One run is traced for each element
    size; the last is returned."""
    found: list[MatrixUse] = []
    sizes = {m.parameter.element_bytes for m in matrices}
    for size in sorted(sizes):
        mine = [m for m in matrices if m.parameter.element_bytes == size]
        # The recorder expects structs: each element is given as a struct of one field.
        align = size & -size
        record = Record("element", (Field("element", size, align),), align)
        names = tuple(dict.fromkeys(m.name for m in mine))
        recorder = FieldRecorder(record, names, trial.case.launch)
        truth = trial.trace(recorder)
        found += matrix_uses(mine, recorder.accesses())
    return tuple(found), truth


def _option(trial: Trial, stored: tuple[StoredMatrix, ...], truth: Execution) -> MatrixOption:
    """Write, compile, prove and time one set of orders."""
    reordered: Reordered | None = None
    kinds = dict.fromkeys(s.kind for s in stored)
    named = _text(stored), " and ".join(kinds)
    try:
        reordered = rewrite_matrices(trial.case, trial.view, stored)
        kernel = compile_case(reordered.case)
    except PlacewiseError as error:
        return MatrixOption(*named, False, error.message, None, None, stored, reordered)
    proof = verify_matrices(reordered, trial.case, truth, kernel)
    timed, ratio = trial.time(reordered.case, kernel) if proof.identical else (None, None)
    return MatrixOption(*named, proof.identical, proof.detail, timed, ratio, stored, reordered)


def _text(stored: Sequence[StoredMatrix]) -> str:
    return ", ".join(one.describe() for one in stored)
