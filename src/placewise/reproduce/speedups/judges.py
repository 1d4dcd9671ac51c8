"""Predicts the gain of a placement over the present one, by the model that Placewise has for the
machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from placewise.advisor.forms.legal_placements import legal_placements
from placewise.advisor.forms.timing import Timed, is_timed, ratio_of_times, time_form
from placewise.advisor.forms.verify import verify
from placewise.advisor.forms.write_form import write_form
from placewise.advisor.prepare import Prepared
from placewise.choose import combinations
from placewise.choose.branch_bound import branch_and_bound
from placewise.choose.table import CostTable
from placewise.errors import UnsupportedError
from placewise.model import path_model
from placewise.space import Placement


@dataclass(frozen=True)
class Optimum:
    """The result of a search through the legal placements."""

    placement: Placement
    gain: float
    """How many times as fast as the present form."""
    judged: int
    """Number of placements that were predicted, or ruled out by a bound."""
    legal: int
    """Number of legal placements. If not all were predicted, combinations that do not fit together
    are counted, too."""

    @property
    def complete(self) -> bool:
        """Whether no legal placement is better under the model."""
        return self.judged >= self.legal


class Judge(Protocol):
    """Judges the placements of one prepared kernel."""

    @property
    def name(self) -> str:
        """Name of the model: ``timeline`` or ``path``."""

    @property
    def present_ms(self) -> float | None:
        """Predicted time of the kernel as it is; None where the model has no times."""

    def gain(self, placement: Placement) -> float | None:
        """How many times as fast as the present form; None where it was not proven."""

    def optimum(self, first: Iterable[Placement]) -> Optimum:
        """The best of the legal placements; those in ``first`` are always compared."""


def judge_of(prepared: Prepared, most: int, exhaustive: int = 0) -> Judge:
    """The default model where forms can be timed from machine code, else the path model.

    At most ``most`` forms are written and timed, but all of a kernel that has at most
    ``exhaustive``.
    """
    if is_timed(prepared.machine):
        return FormTimes(prepared, most, exhaustive)
    return PathTimes(prepared)


class PathTimes:
    """Gains by the path model from the full profile."""

    name = "path"
    present_ms = None

    def __init__(self, prepared: Prepared) -> None:
        legality, machine = prepared.legality, prepared.machine
        self._table = CostTable(prepared.profile, legality, machine, path_model(joint=True))
        self._table.prepare()
        self._present = float(self._table.times(np.array([self._table.present]))[0])

    def gain(self, placement: Placement) -> float:
        """How many times as fast as the present form; raises ValueError for a placement in tiles
        by chunks, which the path model does not rank."""
        table = self._table
        spaces = dict(placement)
        row = [table.options[n].index(spaces[a]) for n, a in enumerate(table.arrays)]
        return self._over(float(table.times(np.array([row]))[0]))

    def optimum(self, first: Iterable[Placement]) -> Optimum:
        """The best placement, by branch and bound; it is complete unless branch and bound gave
        up."""
        found = branch_and_bound(self._table)
        legal = combinations(self._table.legality)
        placement = self._table.placement(found.choice)
        best, gain = placement, self._over(found.time)
        for other in first:
            if self.gain(other) > gain:
                best, gain = other, self.gain(other)
        return Optimum(best, gain, legal if found.exact else found.branches, legal)

    def _over(self, time: float) -> float:
        return self._present / time if time else 1.0


class FormTimes:
    """Gains by the default model, from the machine code of each form. Forms that do not compute the
    same bits have no gain."""

    name = "timeline"

    def __init__(self, prepared: Prepared, most: int, exhaustive: int = 0) -> None:
        self._prepared = prepared
        self._most = most
        self._exhaustive = max(most, exhaustive)
        self._present = time_form(prepared.kernel, prepared.case, prepared.machine)
        self._whole: Timed | None = self._present if self._present.whole else None
        self._known: dict[Placement, float | None] = {prepared.legality.present: 1.0}
        self.present_ms = self._present.ms

    def gain(self, placement: Placement) -> float | None:
        """How many times as fast as the present form; None where the form cannot be written or
        timed, or is not proven to compute the same."""
        if placement not in self._known:
            self._known[placement] = self._gain(placement)
        return self._known[placement]

    def optimum(self, first: Iterable[Placement]) -> Optimum:
        """The best of all legal placements without cache hints, if there are few enough. Otherwise
        the best of ``first``, the path model's best of all, all moves of one array, the gaining
        ones combined, and the neighbours of the best, until the limit is reached."""
        everything = self._without_hints()
        complete = len(everything) <= self._exhaustive
        if complete:
            for placement in everything:
                self.gain(placement)
            legal = len(everything)
        else:
            legality = self._prepared.legality
            legal = combinations(legality) + len(legality.chunked)
            for placement in self._guided(list(first)):
                if len(self._known) >= self._most:
                    break
                self.gain(placement)
        gain, best = max(
            ((g, p) for p, g in self._known.items() if g is not None), key=lambda pair: pair[0]
        )
        return Optimum(best, gain, legal if complete else len(self._known), legal)

    def _without_hints(self) -> list[Placement]:
        """Legal placements without cache hints: all of them or, if there are too many to time them
        all, some more than that."""
        found: list[Placement] = []
        machine, present = self._prepared.machine, self._prepared.legality.present
        for placement in legal_placements(self._prepared.legality):
            moved = placement.moved(present)
            if not any(machine.space(to).is_cache_hint for _, _, to in moved):
                found.append(placement)
            if len(found) > self._exhaustive:
                break
        return found

    def _guided(self, first: list[Placement]) -> Iterator[Placement]:
        """The most promising placements, if there are too many to predict all. Later ones depend on
        the gains of earlier ones."""
        legality = self._prepared.legality
        yield from first
        yield PathTimes(self._prepared).optimum(()).placement
        singles = list(_neighbours(legality.present, self._prepared))
        yield from singles
        yield from legality.chunked
        best_of: dict[str, tuple[float, str]] = {}
        for placement in singles:
            ((array, _, space),) = placement.moved(legality.present)
            gain = self.gain(placement) or 0.0
            if gain > max(1.0, best_of.get(array, (1.0, ""))[0]):
                best_of[array] = gain, space
        together = dict(legality.present)
        for array, (_, space) in sorted(best_of.items(), key=lambda item: -item[1][0]):
            if legality.fits(Placement.of({**together, array: space})) is None:
                together[array] = space
        yield Placement.of(together)
        while True:
            plain = {p: g for p, g in self._known.items() if g is not None and p.chunk is None}
            best = max(plain, key=plain.__getitem__)
            fresh = [p for p in _neighbours(best, self._prepared) if p not in self._known]
            if not fresh:
                return
            yield from fresh

    def _gain(self, placement: Placement) -> float | None:
        prepared = self._prepared
        try:
            form = write_form(prepared, placement.moved_part(prepared.legality.present))
        except UnsupportedError:
            return None
        if form.kernel is None:
            return None
        case = form.rewritten.case
        if not verify(form.rewritten, prepared.case, prepared.execution, form.kernel).identical:
            return None
        present = self._present
        windowed = case.launch.window is not None
        timed = time_form(form.kernel, case, prepared.machine, whole=windowed, like=present)
        if timed.prediction is not None and timed.whole and not present.whole:
            if self._whole is None:
                self._whole = time_form(
                    prepared.kernel, prepared.case, prepared.machine, whole=True, like=present
                )
            present = self._whole
        ratio = ratio_of_times(timed, present)
        return 1.0 / ratio.ratio if ratio is not None and ratio.ratio else None


def _neighbours(placement: Placement, prepared: Prepared) -> Iterator[Placement]:
    """Every fitting placement that differs in one array, cache hints left out."""
    legality = prepared.legality
    for array, now in placement:
        for space in legality.searched(array):
            moved = Placement.of({**dict(placement), array: space})
            if space != now and legality.fits(moved) is None:
                yield moved
