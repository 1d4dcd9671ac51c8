"""Proof: the rewritten kernel, compiled and executed on the same inputs, computes the same bits."""

from __future__ import annotations

from dataclasses import replace

from placewise.advisor.advice import Verification
from placewise.errors import PlacewiseError
from placewise.executor import Execution, execute
from placewise.executor.compare import OutputCheck, compare
from placewise.kernel.cases.case import Case, Language
from placewise.kernel.cases.prepare_case import compile_case
from placewise.kernel.kernel import Kernel
from placewise.rewriter import Rewritten

UNCONTRACTED = "--fmad=false"
"""NVRTC's option: each multiplication and each addition rounds by itself."""


def verify(
    rewritten: Rewritten, original: Case, truth: Execution, kernel: Kernel | None = None
) -> Verification:
    """Compile ``rewritten`` (unless ``kernel`` is the compiled form) and run it; compare every
    array that both have with ``truth``, the run of ``original``.

    Errors of compilation or execution are findings here, not failures: they come back as detail.
    Where outputs differ, the original is run once more, to tell a race from a wrong rewrite. Then
    both are compiled without fused multiply-adds, since the compiler may fuse different operations
    in each, and compared again.
    """
    try:
        run = _run(rewritten.case, kernel)
    except PlacewiseError as error:
        return Verification(False, f"failed: {error.message}", ())
    outputs = dict(run.outputs)
    compared = tuple(name for name, _ in truth.outputs if name in outputs)
    missing = sorted({name for name, _ in truth.outputs} & truth.written - set(compared))
    if missing:
        return Verification(False, f"written array {missing[0]} is gone", compared)
    check = _first_unlike(truth, run, compared)
    if check is None:
        unseen = sorted(truth.written - set(compared))
        beside = f" ({', '.join(unseen)} not compared)" if unseen else ""
        return Verification(True, f"bit-identical{beside}", compared)
    if _first_unlike(truth, _run(original), compared) is not None:
        detail = "not provable: the kernel has a race, two runs of the original differ"
        return Verification(False, detail, compared)
    if check.max_ulp is not None and _same_uncontracted(rewritten.case, original, compared):
        detail = f"bit-identical under {UNCONTRACTED}; without it other multiply-adds are fused"
        return Verification(True, detail, compared)
    distance = "" if check.max_ulp is None else f" by at most {check.max_ulp} ulp"
    detail = f"{check.array} differs in {check.different} of {check.elements} elements{distance}"
    return Verification(False, detail, compared)


def uncontracted(case: Case) -> Case:
    """The case, to be compiled without fused multiply-adds."""
    flags = (*case.options.flags, UNCONTRACTED)
    return replace(case, options=replace(case.options, flags=flags))


def _same_uncontracted(rewritten: Case, original: Case, arrays: tuple[str, ...]) -> bool:
    """Whether both compute the same bits when compiled without fused multiply-adds."""
    if original.language is not Language.CUDA:
        return False
    try:
        expected, found = (_run(uncontracted(c)) for c in (original, rewritten))
    except PlacewiseError:
        return False
    return _first_unlike(expected, found, arrays) is None


def _run(case: Case, kernel: Kernel | None = None) -> Execution:
    return execute(kernel or compile_case(case), case.launch, case.inputs, with_buffers=True)


def _first_unlike(
    expected: Execution, found: Execution, arrays: tuple[str, ...]
) -> OutputCheck | None:
    checks = (compare(name, expected.output(name), found.output(name)) for name in arrays)
    return next((check for check in checks if not check.identical), None)
