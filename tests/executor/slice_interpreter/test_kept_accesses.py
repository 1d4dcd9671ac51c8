"""Which accesses of a trace are kept."""

from collections import Counter

import numpy as np

from placewise.executor.slice_interpreter.kept_accesses import RECORDED, Accesses, KeptAccesses

WARPS = 4
OFTEN, SELDOM = 0, 1


def _access(site: int, step: int) -> Accesses:
    mask, offset = np.ones((WARPS, 32), np.bool_), np.zeros((WARPS, 32), np.int64)
    return Accesses(site, step, np.arange(WARPS), mask, np.zeros(WARPS, np.int64), offset)


def _kept(executions: int, **options) -> Counter[int]:
    """How often each instruction is kept of a loop's ``executions`` and one store after it."""
    kept = KeptAccesses(np.ones(WARPS, np.bool_), few=0, **options)
    for step in range(executions):
        if kept.wants(OFTEN):
            kept.add(_access(OFTEN, step))
    kept.add(_access(SELDOM, executions))
    found = kept.first()
    steps = [a.step for a in found if a.site == OFTEN]
    assert steps == list(range(len(steps))), "the first ones"
    return Counter(a.site for a in found)


def test_executions_of_each_instruction_are_limited():
    assert _kept(RECORDED + 5, whole=False) == {OFTEN: RECORDED, SELDOM: 1}
    assert _kept(RECORDED + 5, whole=True) == {OFTEN: RECORDED + 5, SELDOM: 1}


def test_fewer_are_kept_where_they_are_many_but_some_of_each_instruction():
    found = _kept(RECORDED, whole=False, most=WARPS * 100)
    assert found == {OFTEN: RECORDED // 16, SELDOM: 1}
    assert _kept(RECORDED, whole=True, most=WARPS * 100)[OFTEN] == RECORDED
    # One of each instruction stays, however few may be kept.
    assert _kept(RECORDED, whole=False, most=1) == {OFTEN: 1, SELDOM: 1}
