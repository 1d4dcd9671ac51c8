"""All models of time by name, for the command line and for comparing them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from placewise.errors import CaseError
from placewise.model.base import OfCounters, TimeModel
from placewise.model.hu_liu import hu_liu_model
from placewise.model.huang_li.model import HuangLiModel, huang_li_model
from placewise.model.latency import latency_model
from placewise.model.path import path_model
from placewise.model.roofline import roofline_model
from placewise.model.sim import sim_model
from placewise.model.timeline import timeline_model


@dataclass(frozen=True)
class KnownModel:
    """How to make a model, and what evidence it needs."""

    make: Callable[[], TimeModel]
    needs_counters: bool
    """Whether it needs :attr:`Evidence.counters`, which take a traced run of their own."""


MODELS: dict[str, KnownModel] = {
    "timeline": KnownModel(timeline_model, needs_counters=False),
    "path": KnownModel(lambda: OfCounters(path_model()), needs_counters=True),
    "latency": KnownModel(lambda: OfCounters(latency_model()), needs_counters=True),
    "huang-li": KnownModel(huang_li_model, needs_counters=False),
    "sim": KnownModel(sim_model, needs_counters=False),
    "hu-liu": KnownModel(hu_liu_model, needs_counters=False),
    "roofline": KnownModel(roofline_model, needs_counters=False),
}
"""By name, the default first."""
DEFAULT = next(iter(MODELS))
_WITHOUT: dict[str, Callable[[str], TimeModel]] = {
    "no-replays": lambda name: HuangLiModel(name, count_replays=False),
    "even-queue": lambda name: HuangLiModel(name, queue="even"),
    "no-queue": lambda name: HuangLiModel(name, queue="none"),
    "latency-service": lambda name: HuangLiModel(name, service="latency"),
}
VARIANTS: dict[str, KnownModel] = {
    (name := f"huang-li:{part}"): KnownModel(partial(make, name), needs_counters=False)
    for part, make in _WITHOUT.items()
}
"""Huang and Li's model with one of its parts switched off. Instruction counting is not among these
switches, as it matters only for a target beside a sample (:mod:`placewise.reproduce.ablations`)."""


def known_model(name: str) -> KnownModel:
    """A model or variant by its name; raises CaseError where there is none."""
    found = MODELS.get(name) or VARIANTS.get(name)
    if found is None:
        raise CaseError(f"no model '{name}'", hint=f"models: {', '.join([*MODELS, *VARIANTS])}")
    return found
