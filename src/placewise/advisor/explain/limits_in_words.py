"""What limits a kernel's time, and how a move changes that, in one or two sentences."""

from __future__ import annotations

from pathlib import Path

from placewise.advisor.advice import Option
from placewise.advisor.explain.why import count
from placewise.advisor.forms.timing import Timed
from placewise.model import PathTime, Prediction
from placewise.model.additive import SHARED
from placewise.model.timeline.limits import CONTENTION, LINE_CONTENTION
from placewise.model.timeline.scattered_stores import SCATTERED_STORES

LIMITS = 0.6
"""Least share of the cycles that a part takes alone where it is said to limit the kernel."""


def why_in_words(recommended: Option | None, present: Option) -> str:
    """Which part of the machine limits the present form, and how ``recommended`` changes that.

    Such as ``The load/store unit limits the kernel: it alone takes 95.4 k of 121 k cycles, most of
    them at line 8 of multiply.cu. The move leaves it 57.7 k of 67.2 k.`` Where forms have no
    predicted time, the sentences are about the slowest data path.
    """
    beside = present.timed if recommended is None else recommended.beside
    now = None if beside is None else beside.prediction
    if now is None:
        return _paths_in_words(recommended, present)
    if not now.parts:
        return ""
    limit = now.parts[0]
    name, several = _in_words(limit.path)
    name = f"{name[0].upper()}{name[1:]}"
    cycles = f"{count(limit.cycles)} of {count(now.total)} cycles{_place(limit)}"
    if limit.cycles < LIMITS * now.total:
        said = f"{name} {'take' if several else 'takes'} most, {cycles}; "
        said += "nothing is used to capacity."
    elif several:
        said = f"{name} limit the kernel: they alone take {cycles}."
    else:
        said = f"{name} limits the kernel: it alone takes {cycles}."
    form = None if recommended is None else recommended.timed
    if limit.path == "latency":
        said += _waits_in_words(beside, form)
    then = None if form is None else form.prediction
    if then is None:
        return said
    left = f"The move leaves {'them' if several else 'it'} {count(_cycles(then, limit))} of "
    left += count(then.total)
    if then.binding in (limit.path, ""):
        return f"{said} {left}."
    name, several = _in_words(then.binding)
    limits = f"{name} {'limit' if several else 'limits'}"
    return f"{said} {left}; then {limits}, at {count(then.parts[0].cycles)}."


def _waits_in_words(present: Timed | None, form: Timed | None) -> str:
    """How often a warp waits for loads in turn, now and in another form of the kernel."""
    if present is None or not present.waits:
        return ""
    times = f"{present.waits:,} times" if present.waits > 1 else "once"
    now = f" A warp waits for loads {times}" + (", one after another" if present.waits > 1 else "")
    if form is None or form.waits is None or form.waits == present.waits:
        return f"{now}."
    return f"{now}, and {form.waits:,} with the move."


def _in_words(part: str) -> tuple[str, bool]:
    """A part of a predicted time as the subject of a sentence, and whether it stands for several
    things."""
    if part in (CONTENTION, LINE_CONTENTION, SCATTERED_STORES):
        return part, True
    named = {"latency": "latency", "issue": "the issue of instructions"}
    return named.get(part, f"the {part}"), False


def _place(limit: PathTime) -> str:
    """Where in the source most of a part's cycles come from."""
    if not limit.lines:
        return ""
    file, _, line = limit.lines[0][0].rpartition(":")
    return f", most of them at line {line} of {Path(file).name}"


def _cycles(prediction: Prediction, part: PathTime) -> float:
    """Cycles that ``part`` takes in another prediction."""
    return next((p.cycles for p in prediction.parts if p.path == part.path), 0.0)


def _paths_in_words(recommended: Option | None, present: Option) -> str:
    """Which data path takes longest, and how the recommended moves change that."""
    if not present.prediction.parts:
        return ""
    limit = present.prediction.parts[0]
    said = f"{_path(limit.path)} takes longest to move the data: {count(limit.cycles)} cycles."
    if recommended is None:
        return said
    then = recommended.prediction
    left = f"The move leaves it {count(_cycles(then, limit))}"
    if then.binding in (limit.path, ""):
        return f"{said} {left}."
    return f"{said} {left}. {_path(then.binding)} takes longest then, {count(then.total)}."


def _path(name: str) -> str:
    """A data path as text. The part that all paths share is named without the word path."""
    return name if name == SHARED else f"The {name} path"
