"""Intervals of times where the clock of the SMs is not known: they cover the possible clocks and
the model's own error."""

from __future__ import annotations

from dataclasses import replace
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from placewise.machine.at_clock import at_clock
from placewise.machine.clocks import clock_range
from placewise.machine.machine import Machine
from placewise.model.base import ClockTime, Evidence, Prediction, TimeModel
from placewise.model.domain import features_of, measured_domain, scattered_stores

_OF_DOMAIN = "timeline"
"""The model that the domain of measured launches belongs to."""
STEPS = 200
"""Number of equally probable clocks, and of errors, from which an interval is computed."""
TAIL = 0.1
"""Probability of a time below an 80 % interval, and of one above it."""


def predict_clocked(
    model: TimeModel, evidence: Evidence, machine: Machine, like: Prediction | None = None
) -> Prediction:
    """``model``'s prediction at the clock that ``machine`` is assumed to run at, its time scaled by
    the factor of the machine's calibration, with an interval that covers both the possible clocks
    and the model's own error. The prediction also has each of the two separately.

    ``like`` is this function's answer for another form of the launch on the same machine. The clock
    is then taken to change the time as much as that form's, which spares predicting it at every
    clock.

    Raises what the model does.
    """
    clocks = clock_range(machine)
    if clocks is None:
        return model.predict(evidence, machine)
    found = model.predict(evidence, at_clock(machine, clocks.assumed))
    if not found.absolute or found.nanoseconds is None or min(found.uncertainty) <= 0.0:
        return found
    found = _scaled(found, machine.limits.time_factor or 1.0)
    found, band = _judged(found, evidence)
    if clocks.is_known:
        return replace(
            found,
            uncertainty=(found.total * band[0], found.total * band[1]),
            model_error=band,
        )
    assumed = found.nanoseconds or 0.0
    if like is not None and like.at_clocks and like.nanoseconds:
        longer = assumed / like.nanoseconds
        times = [replace(one, nanoseconds=one.nanoseconds * longer) for one in like.at_clocks]
    else:
        times = [
            ClockTime(clock, _at(clock, clocks.assumed, found, model, evidence, machine))
            for clock in (clocks.high, clocks.low)
        ]
    fast, slow = (one.nanoseconds for one in times)
    low, high = interval(assumed, (fast, slow), band)
    cycles = clocks.assumed * 1e-3
    return replace(
        found,
        uncertainty=(low * cycles, high * cycles),
        model_error=band,
        at_clocks=tuple(times),
    )


def _at(
    clock: float,
    assumed: float,
    found: Prediction,
    model: TimeModel,
    evidence: Evidence,
    machine: Machine,
) -> float:
    """Nanoseconds at ``clock`` MHz, where ``found`` is the prediction at ``assumed`` MHz."""
    if clock != assumed:
        found = model.predict(evidence, at_clock(machine, clock))
        found = _scaled(found, machine.limits.time_factor or 1.0)
    return found.nanoseconds or 0.0


def _judged(found: Prediction, evidence: Evidence) -> tuple[Prediction, tuple[float, float]]:
    """``found`` with notes on how its launch differs from those that the model was found right
    for, and the bounds of measured over predicted time, which are wider for such a launch."""
    low, high = (bound / found.total for bound in found.uncertainty)
    if found.model != _OF_DOMAIN or evidence.run is None:
        return found, (low, high)
    domain = measured_domain()
    scattered = scattered_stores(evidence.run)
    news = (*((scattered,) if scattered else ()), *domain.news(features_of(evidence.run)))
    if not news:
        return replace(found, unlike=()), (low, high)
    note = "unlike the launches that the model was found right for, so its range is wider: "
    more = f" and {len(news) - 1} more" if len(news) > 1 else ""
    found = replace(found, unlike=news, notes=(*found.notes, note + news[0] + more))
    return found, (low**domain.wider, high**domain.wider)


def interval(
    assumed: float, by_clock: tuple[float, float], model_error: tuple[float, float]
) -> tuple[float, float]:
    """Interval of 80 % of a time.

    ``assumed`` is the time at the clock that is assumed, ``by_clock`` are the times at the highest
    and at the lowest clock. The assumptions: half of all launches run at the assumed clock; for the
    others the logarithm of the time is uniform between the two times ``by_clock``. ``model_error``
    are the bounds of the central 80 % of measured over predicted time, whose logarithm is normal on
    either side of 0, each side with its own width. Clock and error are independent. The result is
    in the unit of the times.
    """
    steps = (np.arange(STEPS) + 0.5) / STEPS
    fast, slow = np.log(by_clock)
    clocks = np.concatenate([np.full(STEPS, np.log(assumed)), fast + (slow - fast) * steps])
    sizes = _normal_quantiles(steps) / _normal_quantiles(np.array([1.0 - TAIL]))
    below, above = np.log(model_error)
    errors = np.where(sizes < 0.0, -sizes * below, sizes * above)
    low, high = np.quantile(np.add.outer(clocks, errors), (TAIL, 1.0 - TAIL))
    return float(np.exp(low)), float(np.exp(high))


def _normal_quantiles(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """(n,) quantiles of the standard normal distribution."""
    return np.array([NormalDist().inv_cdf(share) for share in shares.tolist()])


def _scaled(prediction: Prediction, factor: float) -> Prediction:
    """``prediction`` with all its cycles times ``factor``."""
    if factor == 1.0:
        return prediction
    low, high = prediction.uncertainty
    return replace(
        prediction,
        total=prediction.total * factor,
        uncertainty=(low * factor, high * factor),
        parts=tuple(
            replace(
                part,
                cycles=part.cycles * factor,
                terms=tuple(replace(term, cycles=term.cycles * factor) for term in part.terms),
                lines=tuple((line, cycles * factor) for line, cycles in part.lines),
            )
            for part in prediction.parts
        ),
    )
