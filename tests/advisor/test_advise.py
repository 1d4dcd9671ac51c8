import sys

import numpy as np
import pytest

from placewise.advisor import FINALISTS, advise, legal_placements, prepare, verify
from placewise.errors import CaseError, UnsupportedError
from placewise.kernel.cases.make_case import make_case
from placewise.machine import load_machine
from placewise.rewriter import rewrite
from placewise.space import Placement


def test_options_are_ranked_and_the_finalists_are_proven(gather_advice):
    ratios = [o.ratio for o in gather_advice.options]
    assert ratios == sorted(ratios)
    assert gather_advice.options[0].proven
    assert sum(o.proven for o in gather_advice.options) == FINALISTS
    assert all(o.low <= o.ratio <= o.high for o in gather_advice.options)
    assert gather_advice.present.ratio == 1.0


def test_a_recommendation_is_proven_and_gains_beyond_the_uncertainty(gather_advice):
    best = gather_advice.recommended
    if best is None:
        assert "Keep it" in gather_advice.verdict
    else:
        assert best.proven
        assert best.ratio < 1.0


def test_a_measured_time_scales_every_prediction(gather_advice):
    for option in gather_advice.options:
        assert option.predicted_ms == pytest.approx(2.0 * option.ratio)
    assert gather_advice.present.predicted_ms == 2.0


def test_what_is_written_stays_in_memory_that_can_be_written(gather_advice):
    reasons = {(i.array, i.space): i.reason for i in gather_advice.illegal}
    for space in ("readonly", "texture", "constant"):
        assert "writes" in reasons["out", space]
    assert "64 KB" in reasons["index", "constant"]
    assert ("table", "constant") not in reasons
    assert ("table", "shared") not in reasons


def test_requests_are_the_warp_accesses_of_the_launch(gather_advice):
    warps = -(-20_000 // 128) * 4
    # The last block's warps beyond n do nothing.
    active = warps - (warps * 32 - 20_000) // 32
    facts = {f.array: f for f in gather_advice.arrays}
    assert facts["out"].service.requests == active
    assert facts["table"].service.requests == 8 * active
    assert facts["table"].heaviest_line == 6


@pytest.mark.slow
def test_every_legal_placement_computes_the_same(gather_case):
    prepared = prepare(gather_case, load_machine("K20c"))
    placements = list(legal_placements(prepared.legality))
    assert len(placements) > 10
    for placement in placements:
        written = rewrite(prepared.case, placement, prepared.machine, prepared.view)
        assert verify(written, prepared.case, prepared.execution).identical, placement


def test_a_rewrite_that_computes_something_else_is_found_out(gather_case):
    from dataclasses import replace

    prepared = prepare(gather_case, load_machine("K20c"))
    placement = Placement.of({"table": "texture", "index": "global", "out": "global"})
    good = rewrite(prepared.case, placement, prepared.machine, prepared.view)
    for wrong, detail in (("7 * k + 1", "differs in"), ("7 * q", "does not compile")):
        source = good.case.source.replace("7 * k", wrong)
        bad = replace(good, case=replace(good.case, source=source))
        found = verify(bad, prepared.case, prepared.execution)
        assert not found.identical
        assert detail in found.detail


def test_where_spaces_share_caches_and_path_nothing_is_moved(gather_case):
    advice = advise(gather_case, "A100", finalists=1)
    ratios = {o.placement["table"]: o.ratio for o in advice.options if len(o.reasons) == 1}
    assert ratios.get("texture", 1.0) == pytest.approx(1.0)
    assert ratios.get("readonly", 1.0) == pytest.approx(1.0)


def test_a_block_that_no_machine_can_launch_is_refused():
    case = make_case(
        "k", "__global__ void k(float *a) { a[0] = 1; }", [np.zeros(4, np.float32)],
        block=2000, grid=1,
    )  # fmt: skip
    with pytest.raises(CaseError, match="2000 threads") as caught:
        advise(case, "A100")
    assert caught.value.where == "k: launch.block"


def test_loads_that_the_compiler_makes_read_only_are_so_at_present():
    source = """
    __global__ void add(const float *__restrict__ x, float *y, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) y[i] += x[i];
    }
    """
    n = 4096
    arguments = [np.ones(n, np.float32), np.ones(n, np.float32), np.int32(n)]
    case = make_case("add", source, arguments, block=256, problem=n)
    advice = advise(case, "K20c", finalists=20)
    assert advice.present.placement["x"] == "readonly"
    assert advice.present.placement["y"] == "global"
    assert ("x", "global") in {(i.array, i.space) for i in advice.illegal}
    written = [o for o in advice.options if o.verification is not None]
    assert written
    assert all(o.proven for o in written)
    # The paper's C1060 has no read-only cache to go through.
    assert advise(case, "C1060", finalists=0).present.placement["x"] == "global"


def test_host_code_is_left_out_and_said_to_be():
    source = """
    #include <cstdio>
    __global__ void one(float *a) { a[threadIdx.x] = 1; }
    int main() { one<<<1, 32>>>(nullptr); std::printf("done"); }
    """
    case = make_case("one", source, [np.zeros(32, np.float32)], block=32, grid=1)
    advice = advise(case, "A100", finalists=1)
    assert any("main" in note for note in advice.notes)


def test_a_placement_that_cannot_be_written_leaves_the_advice_standing(gather_case, monkeypatch):
    def refuse(*_):
        raise UnsupportedError("no way to write this")

    # Other modules export functions of the module's name.
    monkeypatch.setattr(sys.modules["placewise.advisor.forms.write_form"], "rewrite", refuse)
    advice = advise(gather_case, "K20c")
    assert advice.recommended is None
    assert "cannot be written: no way" in advice.options[0].verification.detail
    assert "Keep it as it is" in advice.verdict


@pytest.mark.parametrize("machine", ["K20c", "A100"])
def test_a_kernel_without_memory_accesses_stays_as_it_is(machine):
    source = "__global__ void nothing(const float *a, float *b) {}"
    arrays = [np.ones(64, np.float32), np.zeros(64, np.float32)]
    advice = advise(make_case("nothing", source, arrays, grid=2, block=32), machine)
    assert advice.recommended is None
    assert advice.options == ()


def test_several_processes_find_the_same(gather_case, gather_advice):
    found = advise(gather_case, "K20c", measured_ms=2.0, workers=3)
    one, other = found.to_dict(), gather_advice.to_dict()
    timings = ("seconds", "run")
    assert {k: v for k, v in one.items() if k not in timings} == {
        k: v for k, v in other.items() if k not in timings
    }
    written = [o.rewritten.case.inputs for o in found.options if o.proven]
    assert written
    # Arrays are not copied from process to process.
    own = {id(a.data) for a in gather_case.inputs.arrays}
    for inputs in written:
        assert own & {id(a.data) for a in inputs.arrays}
