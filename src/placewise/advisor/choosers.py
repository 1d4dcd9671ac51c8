"""Ways to choose the recommended placement: by Placewise's predicted times, or by one of the
methods that Chen et al. 2017 compare (section 5.1)."""

from __future__ import annotations

from enum import StrEnum

from placewise.advisor.advice import Option
from placewise.advisor.explain.access_facts import access_facts
from placewise.advisor.explain.gain import gain_in_words
from placewise.advisor.forms.legal_placements import legal_placements
from placewise.advisor.prepare import Prepared
from placewise.choose import search
from placewise.errors import CaseError
from placewise.model import path_model
from placewise.model.jang import rule_based
from placewise.space import Placement

MOST_FORMS = 400
"""Most legal placements that the search for the offline optimum writes, runs and times. Each takes
about a second."""


class Chooser(StrEnum):
    """Which method chooses the recommended placement."""

    TIMELINE = "timeline"
    """The finalists of the path model by the predicted time of each form's own machine code."""
    PORPLE = "porple"
    """The path model as Chen et al. 2017 print it: its best placement, whatever the times say."""
    RULES = "rules"
    """The rules after Jang et al. 2011, which look at the kernel alone."""
    OPTIMUM = "optimum"
    """Every legal placement written out and timed: the offline optimum of section 5.1."""


_NAMES = {
    Chooser.PORPLE: "PORPLE's path model",
    Chooser.RULES: "the rules",
    Chooser.OPTIMUM: "an offline search",
}


def chosen_placements(chooser: Chooser, prepared: Prepared) -> list[Placement]:
    """The placements to write out for a chooser other than the timeline: one, or all legal ones.

    Raises CaseError where the optimum is asked for among more than :data:`MOST_FORMS`.
    """
    match chooser:
        case Chooser.PORPLE:
            found = search(
                prepared.profile, prepared.legality, prepared.machine, path_model(), limit=1
            )
            return [found[0].placement]
        case Chooser.RULES:
            return [placement_by_rules(prepared)]
        case _:
            forms = []
            for placement in legal_placements(prepared.legality):
                forms.append(placement)
                if len(forms) > MOST_FORMS:
                    raise CaseError(
                        f"more than {MOST_FORMS} legal placements: writing and timing them all "
                        "takes too long",
                        where="--chooser optimum",
                        hint="use --chooser timeline, or a kernel of fewer arrays",
                    )
            return forms


def placement_by_rules(prepared: Prepared) -> Placement:
    """The placement that the rules choose. An array stays where it is if the space that the rules
    choose is not legal for it, or is already full of earlier arrays."""
    legality, machine = prepared.legality, prepared.machine
    facts = access_facts(prepared)
    spaces = dict(legality.present.spaces)
    for array in legality.arrays:
        way = rule_based(facts[array]).way
        for space in (s.name for s in machine.spaces if s.way is way and s.hint is None):
            moved = Placement.of({**spaces, array: space})
            if space in legality.spaces(array) and legality.fits(moved) is None:
                spaces[array] = space
                break
    return Placement.of(spaces)


def best_by(chooser: Chooser, options: list[Option]) -> Option | None:
    """The option that the chooser recommends among those written out for it: the only one, or the
    fastest; None where that was not proven to compute the same bits, or is not faster."""
    proven = [o for o in options if o.proven]
    if chooser is not Chooser.OPTIMUM:
        return proven[0] if proven else None
    best = min(proven, key=lambda o: (o.rerun is None, o.ratio), default=None)
    return best if best is not None and best.ratio < 1.0 else None


def verdict_by(chooser: Chooser, chosen: list[Option], best: Option | None, present: Option) -> str:
    """The chooser's answer in words, with its predicted gain."""
    name = _NAMES[chooser]
    if best is not None:
        moves = best.placement.instruction(present.placement)
        among = f" of {len(chosen) + 1} forms" if chooser is Chooser.OPTIMUM else ""
        return (
            f"{moves}, the choice of {name}{among}: predicted {gain_in_words(best)}. The "
            "rewritten kernel was compiled and run on these inputs; its outputs are bit-identical."
        )
    if not chosen:
        return f"Keep it as it is: the choice of {name}."
    if chooser is Chooser.OPTIMUM:
        return f"Keep it as it is: none of {len(chosen)} other forms is predicted to be faster."
    moves = chosen[0].placement.describe(present.placement)
    found = chosen[0].verification
    why = "it was not written out" if found is None else found.detail
    return f"Keep it as it is: the choice of {name} is to move {moves}, but {why}."
