"""The functions of :mod:`placewise`: a case and a machine in, a result out.

Wherever a case is asked for, a :class:`placewise.Case`, the name of a bundled case, or the path of
a case file will do; for a machine, a :class:`placewise.Machine`, the name of a known GPU, or the
path of an MSL file. Results are frozen dataclasses: ``to_dict()`` gives what the command's
``--json`` prints, ``to_dataframe()`` a table (it needs pandas). Every error that a user can mend is
a :class:`placewise.PlacewiseError`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from placewise.advisor import advise
from placewise.advisor.advice import Verification
from placewise.advisor.forms.agnostic import write_placement as write_proven
from placewise.advisor.forms.own.own_arrays import PADDED, own_spaces, write_own
from placewise.advisor.forms.verify import verify as compare_with
from placewise.advisor.lint_rules import lint_launch
from placewise.advisor.predictions.calibrate import Calibration, calibrate
from placewise.advisor.predictions.predicted_counters import predict_counters
from placewise.advisor.predictions.predicted_time import (
    TimePrediction,
    TimeReport,
    predict_time,
    predict_times,
    targeted,
)
from placewise.cases import load_case
from placewise.executor import DEFAULT_LIMIT
from placewise.executor import execute as execute_launch
from placewise.executor.check import Checker
from placewise.executor.run_case import CaseRun, run_case
from placewise.kernel.cases.case import Case, Language
from placewise.kernel.cases.prepare_case import compile_case, named_case, read_case
from placewise.machine import Machine, load_machine
from placewise.report.findings.lint_report import LintReport
from placewise.rewriter import Rewritten
from placewise.rewriter import rewrite as write_placement
from placewise.space import Placement

__all__ = [
    "Calibration",
    "LintReport",
    "TimePrediction",
    "TimeReport",
    "advise",
    "calibrate",
    "execute",
    "lint",
    "predict_counters",
    "predict_time",
    "predict_times",
    "rewrite",
    "verify",
]


def execute(
    case: Case | str | Path,
    *,
    machine: Machine | str | Path | None = None,
    arch: str | None = None,
    check: bool = False,
    nvrtc: str | None = None,
    threads: int | None = None,
    instruction_limit: int = DEFAULT_LIMIT,
) -> CaseRun:
    """Run ``case`` on the CPU: its outputs, and counts by source line.

    It is compiled for ``arch`` (such as ``"sm_86"``), else for ``machine``, else as the case says.
    With ``check`` the run looks for accesses out of bounds, uninitialised reads, races and barrier
    mistakes and collects them; without it the first access out of bounds is raised. ``nvrtc``
    replaces the case's compiler version, ``threads`` limits the cores, and a warp that executes
    more than ``instruction_limit`` instructions is taken to be endless.

    Raises CaseError, CompileError, UnsupportedError, MachineError and ExecutionError.
    """
    return run_case(
        case,
        machine=machine,
        arch=arch,
        nvrtc=nvrtc,
        checker=Checker() if check else None,
        threads=threads,
        instruction_limit=instruction_limit,
    )


def lint(
    case: Case | str | Path, machine: Machine | str | Path, *, nvrtc: str | None = None
) -> LintReport:
    """Find what a launch does badly with its memories, and what mending it would save.

    The rules are those of :class:`placewise.advisor.lint.Rule`: uncoalesced accesses, partly used
    sectors, redundant loads, bank conflicts, divergent constant loads, spills, dropped cache hints
    and occupancy that a few registers cost.

    Raises PlacewiseError subclasses for bad input, as :func:`predict_counters` does.
    """
    counters = predict_counters(case, machine, nvrtc=nvrtc)
    return LintReport(lint_launch(counters), counters)


def rewrite(
    case: Case | str | Path,
    placement: Placement | Mapping[str, str],
    machine: Machine | str | Path,
) -> Rewritten:
    """Write ``case``'s kernel with arrays elsewhere, such as ``{"x": "texture"}``.

    ``placement`` maps arrays to names of the machine's memory spaces; other arrays stay where they
    are. Arrays that the source declares itself move alone: constant and shared ones to global
    memory, arrays of each thread to shared memory. ``"padded"`` leaves a shared array where it is,
    in longer rows or with an element left out after every 32, so that fewer lanes meet in the same
    bank. The result holds the new source, its launch and inputs, and the host code that it needs.
    PTX and Numba kernels are run first, to see which load reads which array; their new source is
    PTX, in which loads alone change. Raises UnsupportedError, naming array and reason, where the
    source cannot be written so, CaseError for arrays and spaces that there are not, or that do not
    go together.
    """
    machine = load_machine(machine)
    case = targeted(load_case(case), machine)
    chosen = placement if isinstance(placement, Placement) else Placement.of(placement)
    if case.language is not Language.CUDA:
        return write_proven(case, machine, dict(chosen.spaces)).rewritten
    read = read_case(case)
    present = {use.name: use.present for use in read.view.arrays}
    own = own_spaces(read.case, read.view, machine, chosen.arrays)
    # Write nothing of the source's own arrays that stay where they are.
    given = replace(chosen, spaces=tuple((a, to) for a, to in chosen if own.get(a) != to))
    moves = {
        array: to
        for array, to in given
        if to == PADDED or machine.space(to).way is not present.get(array)
    }
    moves |= dict.fromkeys(chosen.padded, PADDED)
    written = write_own(read.case, read.view, machine, moves)
    return written or write_placement(read.case, given, machine, read.view)


def verify(rewritten: Rewritten, case: Case | str | Path) -> Verification:
    """Whether ``rewritten`` computes the same bits as ``case`` on the case's inputs.

    Both are compiled for the target of the rewritten kernel and executed on the CPU. Differences
    and errors of the rewritten kernel are told in the result, not raised.
    """
    case = load_case(case)
    options = replace(case.options, arch=rewritten.case.options.arch)
    original = named_case(replace(case, options=options))
    truth = execute_launch(compile_case(original), original.launch, original.inputs)
    return compare_with(rewritten, original, truth)
