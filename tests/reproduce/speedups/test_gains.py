"""Gains of three choosers are worked out once for what they depend on."""

from dataclasses import replace

import pytest

from placewise.disk_cache import DiskCache
from placewise.machine import load_machine
from placewise.reproduce.speedups import gains
from placewise.reproduce.speedups.gains import gains_of


@pytest.fixture
def cache(tmp_path):
    return DiskCache("speedups", files=10, place=tmp_path)


@pytest.mark.slow
def test_all_three_choices_are_judged_by_one_model(gather_case, cache):
    found = gains_of(gather_case, load_machine("K20c"), 4, cache=cache)
    assert found.model == "path"
    assert found.complete
    assert found.present_ms is None
    assert found.optimum >= max(found.porple, found.rules, 1.0) - 1e-9
    # The rules look at the kernel alone: a table that is indexed through data, many times over.
    assert "table" in found.rules_moves


@pytest.mark.slow
def test_what_is_known_is_not_worked_out_again(gather_case, cache, monkeypatch):
    machine = load_machine("K20c")
    found = gains_of(gather_case, machine, 4, cache=cache)
    monkeypatch.setattr(gains, "_work_out", lambda *_: pytest.fail("worked out again"))
    assert gains_of(gather_case, machine, 4, cache=cache) == found


def test_other_inputs_machines_and_limits_are_others(gather_case):
    def key(case=gather_case, machine="K20c", most=4, exhaustive=0):
        return gains._key(case, load_machine(machine), most, exhaustive)

    first, *others = gather_case.inputs.arguments
    changed = replace(first, data=first.data + 1)
    inputs = replace(gather_case.inputs, arguments=(changed, *others))
    count = replace(others[-1], value=type(others[-1].value)(7))
    shorter = replace(gather_case.inputs, arguments=(first, *others[:-1], count))
    keys = {
        key(),
        key(machine="C1060"),
        key(most=5),
        key(exhaustive=5),
        key(replace(gather_case, inputs=inputs)),
        key(replace(gather_case, inputs=shorter)),
        key(replace(gather_case, source=gather_case.source + "\n")),
    }
    assert len(keys) == 7
    assert key() in keys
