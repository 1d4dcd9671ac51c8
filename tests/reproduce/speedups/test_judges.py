"""Gains of placements and their optimum, beside every legal placement judged one by one."""

import pytest

from placewise.advisor.forms.legal_placements import legal_placements
from placewise.advisor.prepare import prepare
from placewise.machine import load_machine
from placewise.reproduce.speedups.judges import FormTimes, PathTimes, judge_of
from placewise.space import Placement


@pytest.fixture(scope="module")
def on_kepler(gather_case):
    return prepare(gather_case, load_machine("K20c"))


@pytest.fixture(scope="module")
def on_ampere(gather_case):
    return prepare(gather_case, load_machine("A100"))


def without_hints(prepared):
    machine, present = prepared.machine, prepared.legality.present
    return [
        p
        for p in legal_placements(prepared.legality)
        if not any(machine.space(to).is_cache_hint for _, _, to in p.moved(present))
    ]


@pytest.mark.slow
def test_the_optimum_of_the_path_model_is_the_best_of_all(on_kepler):
    judge = judge_of(on_kepler, 3)
    assert isinstance(judge, PathTimes)
    found = judge.optimum(())
    gains = {p: judge.gain(p) for p in legal_placements(on_kepler.legality) if p.chunk is None}
    assert found.complete
    assert found.gain == pytest.approx(max(gains.values()))
    assert judge.gain(found.placement) == pytest.approx(found.gain)
    assert judge.gain(on_kepler.legality.present) == pytest.approx(1.0)


@pytest.mark.slow
def test_the_optimum_of_written_forms_is_the_best_of_all(on_ampere):
    judge = judge_of(on_ampere, 3, exhaustive=400)
    assert isinstance(judge, FormTimes)
    found = judge.optimum(())
    everything = without_hints(on_ampere)
    assert found.complete
    assert found.legal == len(everything)
    gains = [judge.gain(p) for p in everything]
    assert found.gain == max(g for g in gains if g is not None) >= 1.0
    assert judge.gain(on_ampere.legality.present) == 1.0


def test_where_not_all_are_judged_the_given_ones_are_and_it_says_so(on_ampere):
    moved = Placement.of({**dict(on_ampere.legality.present), "table": "constant"})
    found = judge_of(on_ampere, 3).optimum((moved,))
    assert found.judged == 3
    assert not found.complete
    alone = judge_of(on_ampere, 3).gain(moved)
    assert alone is not None
    assert found.gain >= alone


def test_a_form_that_differs_gains_nothing(on_ampere, monkeypatch):
    from placewise.advisor.advice import Verification
    from placewise.reproduce.speedups import judges

    monkeypatch.setattr(judges, "verify", lambda *_: Verification(False, "differs", ()))
    judge = judge_of(on_ampere, 3)
    moved = Placement.of({**dict(on_ampere.legality.present), "table": "constant"})
    assert judge.gain(moved) is None
    assert judge.optimum((moved,)).gain == 1.0
