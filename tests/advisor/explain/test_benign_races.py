"""Arrays that threads race on without harm, and what a copy for the readers would gain."""

import numpy as np
import pytest

from placewise import advise, execute, load_case, load_machine, make_case
from placewise.advisor.explain.benign_races import benign_races
from placewise.advisor.forms.device_copy import device_copy_ns
from placewise.advisor.forms.timing import time_form
from placewise.advisor.prepare import prepare

MACHINE = load_machine("A100")


def races_of(case, machine=MACHINE):
    prepared = prepare(load_case(case), machine)
    return prepared, benign_races(prepared, time_form(prepared.kernel, prepared.case, machine))


@pytest.mark.slow
def test_the_levels_of_a_breadth_first_search_race_without_harm():
    prepared, (race,) = races_of("bfs")
    assert race.array == "levels"
    assert race.read_beside
    assert race.same_value
    source = prepared.case.source.splitlines()
    assert all("levels[" in source[line - 1] for line in race.lines)
    assert race.copy_ns == device_copy_ns(65536 * 4, MACHINE)
    assert {c.space for c in race.copies} == {"global", "readonly", "texture"}
    # Each form computes the levels that SciPy would: those of the kernel as it is.
    truth = dict(execute("bfs").execution.outputs)["levels"]
    for copy in race.copies:
        found = dict(execute(copy.case).execution.outputs)["levels"]
        assert np.array_equal(found, truth)
        assert "levels_before" in copy.case.source
    ratios = [c.ratio.ratio for c in race.copies]
    assert ratios == sorted(ratios)


@pytest.mark.slow
def test_a_copy_is_suggested_and_never_made():
    advice = advise("bfs", "A100", finalists=1)
    assert [r.array for r in advice.races] == ["levels"]
    written = [o.rewritten.case.source for o in advice.options if o.rewritten is not None]
    assert written
    assert not any("levels_before" in source for source in written)
    assert advice.to_dict()["benign_races"][0]["text"] == advice.races[0].text


def test_without_predicted_times_the_race_is_named_without_a_gain():
    _, (race,) = races_of("bfs", load_machine("K20c"))
    assert {c.ratio for c in race.copies} == {None}
    assert "from compute capability 7.0 on" in race.text


KERNELS = {
    "own elements": "x[i] = 2 * x[i] + 1;",
    "readers see the new value and depend on it": "x[i] = i ? x[i - 1] + 1 : 0;",
    "threads write different values": "if (x[i / 64] >= 0) x[i / 64] = i;",
    "an update in place": "x[i / 64] += 1;",
    "nothing is read": "x[i] = i;",
}


@pytest.mark.parametrize("body", KERNELS.values(), ids=KERNELS)
def test_other_uses_are_no_benign_races(body):
    source = f"""__global__ void k(int *x) {{
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        {body}
    }}"""
    case = make_case("k", source, [np.zeros(512, np.int32)], grid=4, block=128)
    assert races_of(case)[1] == ()
