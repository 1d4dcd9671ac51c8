"""Other choosers than the predicted times: what each recommends, and what it asks for."""

import pytest

from placewise.advisor import advise, prepare
from placewise.advisor.choosers import Chooser, chosen_placements, placement_by_rules
from placewise.advisor.forms.legal_placements import legal_placements
from placewise.cli.commands.advise import ChooserName
from placewise.errors import CaseError
from placewise.machine import load_machine
from placewise.memory import counters
from placewise.model import path_model


@pytest.fixture(scope="module")
def prepared(gather_case):
    return prepare(gather_case, load_machine("A100"))


def test_the_command_knows_every_chooser():
    assert [c.value for c in Chooser] == [c.value for c in ChooserName]


def test_porples_choice_is_the_path_models_best(gather_case, prepared):
    (chosen,) = chosen_placements(Chooser.PORPLE, prepared)
    machine = prepared.machine

    def time(placement):
        return path_model().predict(counters(prepared.profile, machine, placement), machine).total

    legal = prepared.legality
    placements = [p for p in legal_placements(legal) if p.chunk is None]
    without_hints = [
        p for p in placements if all(machine.space(s).hint is None for _, s in p.spaces)
    ]
    assert time(chosen) == pytest.approx(min(map(time, without_hints)))
    advice = advise(gather_case, "A100", chooser=Chooser.PORPLE)
    assert advice.recommended is not None
    assert advice.recommended.placement == chosen
    assert "the choice of PORPLE's path model" in advice.verdict


def test_the_rules_choose_by_the_kernel_alone(gather_case, prepared):
    chosen = placement_by_rules(prepared)
    # A loop reads the block's own indices again and again, and the table where they say.
    assert dict(chosen.spaces) == {"table": "texture", "index": "shared", "out": "global"}
    advice = advise(gather_case, "A100", chooser=Chooser.RULES)
    assert advice.recommended is not None
    assert advice.recommended.placement == chosen
    assert "the choice of the rules: predicted" in advice.verdict


@pytest.mark.slow
def test_the_optimum_is_the_fastest_of_all_forms(gather_case, prepared):
    advice = advise(gather_case, "A100", chooser=Chooser.OPTIMUM)
    written = [o for o in advice.options if o.verification is not None]
    assert len(written) == len(list(legal_placements(prepared.legality))) - 1
    fastest = min((o for o in written if o.proven), key=lambda o: o.ratio)
    assert (advice.recommended is None) == (fastest.ratio >= 1.0)
    assert advice.recommended in (None, fastest)


def test_too_many_forms_are_refused(prepared, monkeypatch):
    monkeypatch.setattr("placewise.advisor.choosers.MOST_FORMS", 3)
    with pytest.raises(CaseError, match="more than 3 legal placements"):
        chosen_placements(Chooser.OPTIMUM, prepared)
