"""Whether a launch is like those whose times were measured and compared with predictions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from importlib import resources

from placewise.kernel.binary.machine_code import machine_code
from placewise.kernel.binary.sass.classes import group_of
from placewise.memory.occupancy import WARP_SIZE
from placewise.memory.simulate.launch import SimulatedLaunch

_FILE = "domain.json"
SHARES = {
    "fp32": "single-precision arithmetic",
    "fp64": "double-precision arithmetic",
    "fp16": "half-precision arithmetic",
    "tensor": "tensor cores' instructions",
    "special function": "special functions",
    "integer": "integer arithmetic",
    "conversion": "conversions",
    "warp exchange": "exchanges within a warp",
    "global": "accesses to global memory",
    "global atomic": "atomics in global memory",
    "shared": "accesses to shared memory",
    "shared atomic": "atomics in shared memory",
    "local": "accesses to local memory",
    "texture": "texture fetches",
    "surface": "surface accesses",
    "synchronisation": "barriers and fences",
}
"""Groups of instructions, in words. A launch is unlike the measured ones if their share is
higher."""
OTHERS = {
    "code": "bytes of code",
    "lanes": "of a warp's lanes active",
    "occupancy": "of an SM's warps resident",
    "blocks": "blocks for each SM",
}
LEAST = ("lanes", "occupancy", "blocks")
"""Features of which a value below the measured ones is new; of the others, a value above them."""
SLACK = 1.1
"""A feature is new where it exceeds its bound by more than this factor."""
SCATTERED = 16
"""Sectors that a warp stores to at once from which on its stores are scattered; side by side, 32
words of 4 bytes are 4 sectors."""
SCATTERED_TIMES = "0.7 to 1.4"
"""Measured over predicted times of launches with scattered stores: the transposes with strided
stores and the sums by columns of ``benchmarks/breadth``, and pieces of memory on an H100; nine
GPUs."""
SMALL = 0.02
"""A share of instructions is new only where it also exceeds its bound by more than this."""


@dataclass(frozen=True)
class Domain:
    """The range of features of the launches whose times were measured."""

    bounds: tuple[tuple[str, float], ...]
    """(feature, greatest measured value; for features in :data:`LEAST` the least)."""
    launches: int
    made_from: str
    """Which measurements, and the command that made the bounds from them."""
    wider: float
    """Factor by which the interval of a launch beyond the bounds must be wider (in logarithms) to
    hold as large a share of measured times."""

    def news(self, features: Mapping[str, float]) -> tuple[str, ...]:
        """Features of a launch that lie beyond the bounds, in words; empty where it is like the
        measured launches."""
        bounds = dict(self.bounds)
        found = []
        for name, value in features.items():
            bound = bounds.get(name)
            if bound is None:
                continue
            if name in LEAST:
                if value * SLACK < bound:
                    found.append(_least(name, value, bound))
            elif name in SHARES:
                if value > max(SLACK * bound, bound + SMALL):
                    found.append(
                        f"{value:.0%} of instructions are {SHARES[name]} (measured: at most "
                        f"{bound:.0%})"
                    )
            elif value > SLACK * bound:
                found.append(f"{value:,.0f} {OTHERS[name]} (measured: at most {bound:,.0f})")
        return tuple(found)


def features_of(run: SimulatedLaunch) -> dict[str, float]:
    """Features of a launch from its machine code: the share of each group of instructions among
    those that warps execute, bytes of code, active lanes and resident warps as shares, blocks for
    each SM. Empty for a launch known from its PTX alone."""
    if not run.from_machine_code or not run.execution.warp_instructions:
        return {}
    code = machine_code(run.kernel).instructions
    groups = {i.offset: group_of(i) for i in code}
    counts = run.execution.instruction_counts()
    total = sum(count.warps for count in counts)
    shares = dict.fromkeys(SHARES, 0.0)
    for count in counts:
        name = groups.get(count.place)
        if name in shares:
            shares[name] += count.warps / total
    return {
        **shares,
        "code": float(max((i.offset for i in code), default=0)),
        "lanes": sum(count.threads for count in counts) / (WARP_SIZE * total),
        "occupancy": run.occupancy.fraction,
        "blocks": run.launch.blocks / run.machine.processor.sms,
    }


def scattered_stores(run: SimulatedLaunch) -> str | None:
    """What is known of launches whose lanes store far apart, in words; None where less than half
    of the launch's sectors are such stores. What they cost is fitted on few published times."""
    sites = [s for s in run.traffic.sites if s.site.space in ("global", "generic") and s.requests]
    scattered = [s for s in sites if s.site.kind == "store" and s.sectors >= SCATTERED * s.requests]
    sectors = sum(s.sectors for s in scattered)
    if not scattered or 2 * sectors < sum(s.sectors for s in sites):
        return None
    each = sectors / sum(s.requests for s in scattered)
    return (
        f"warps store to {each:.0f} sectors at once, and the published times of such launches "
        f"are {SCATTERED_TIMES} times the predicted ones"
    )


def span(launches: Iterable[Mapping[str, float]], *, made_from: str, wider: float) -> Domain:
    """The domain of measured launches, given by their features."""
    found = [dict(features) for features in launches if features]
    names = list(found[0]) if found else []
    bounds = tuple(
        (name, (min if name in LEAST else max)(features[name] for features in found))
        for name in names
    )
    return Domain(bounds, len(found), made_from, wider)


@cache
def measured_domain() -> Domain:
    """The stored domain of the timeline model."""
    stored = json.loads(resources.files("placewise.model").joinpath(_FILE).read_text())
    return Domain(**{**stored, "bounds": tuple(stored["bounds"].items())})


def as_stored(domain: Domain) -> dict[str, object]:
    """The domain as the package's data file keeps it."""
    return {**asdict(domain), "bounds": dict(domain.bounds)}


def _least(name: str, value: float, bound: float) -> str:
    if name == "blocks":
        return f"{value:.2g} {OTHERS[name]} (measured: at least {bound:.2g})"
    return f"{value:.0%} {OTHERS[name]} (measured: at least {bound:.0%})"
