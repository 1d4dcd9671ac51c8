"""``NAME = VALUE from SOURCE;`` lines of an MSL file: kinds of value, units, and reading them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from placewise.errors import MachineError
from placewise.machine.msl.located import located, nearest
from placewise.machine.msl.tree import Extent, LimitEntry, Quantity, Special, Word, Words

CLOCKS = {"kHz": Decimal("0.001"), "MHz": Decimal(1), "GHz": Decimal(1000)}
"""Units of a clock, in MHz."""
BYTES = {"B": 1, "KB": 1024, "MB": 1024**2, "GB": 1024**3}
"""Units of a size; binary, as MSL's sizes are."""
BANDWIDTHS = {"MB/s": Decimal("0.001"), "GB/s": Decimal(1), "TB/s": Decimal(1000)}
"""Units of a bandwidth, in GB/s; decimal, as vendors state them."""
BYTES_PER_CYCLE = {"B/clk": 1, "KB/clk": 1024}
LANES_PER_CYCLE = {"lanes/clk": 1}
CYCLES = {"clk": 1}
TIMES = {"ns": 1, "us": 1000}
"""Units of a time, in nanoseconds."""
HIGHEST_BIT = 62
"""Highest address bit: the largest that a signed 64-bit word holds."""


@dataclass(frozen=True)
class Kind:
    """How one setting is written and where it goes."""

    field: str
    """Field of the dataclass that the settings make."""
    read: Callable[[LimitEntry, Kind, str], Any]
    example: str
    default: Any = None
    """None for a setting that may stay unknown."""
    words: tuple[str, ...] = ()
    """What a word may be."""
    repeats: bool = False
    """The setting may be given several times: its value is the tuple of all."""


def read_settings(
    entries: tuple[LimitEntry, ...],
    kinds: Mapping[str, Kind],
    what: str,
    cite: Callable[[LimitEntry], str | None],
    filename: str,
) -> tuple[dict[str, Any], tuple[tuple[str, str], ...]]:
    """Values by name (None where written ``?``), and (name, source) of those with a source.

    ``what`` a setting is called in messages. Raises MachineError for an unknown or repeated name,
    a value of the wrong kind or an unknown unit.
    """
    values: dict[str, Any] = {}
    sources: list[tuple[str, str]] = []
    for entry in entries:
        kind = kinds.get(entry.name)
        if kind is None:
            raise located(
                filename, entry.at, f"unknown {what} '{entry.name}'", nearest(entry.name, kinds)
            )
        if entry.name in values and not kind.repeats:
            raise located(filename, entry.at, f"{what} '{entry.name}' is given twice")
        unknown = isinstance(entry.value, Special)
        value = None if unknown else kind.read(entry, kind, filename)
        if kind.repeats:
            value = values.get(entry.name, ()) + (() if unknown else (value,))
        values[entry.name] = value
        source = cite(entry)
        if source is not None:
            sources.append((entry.name, source))
    return values, tuple(sources)


def version(entry: LimitEntry, kind: Kind, filename: str) -> tuple[int, int]:
    """``8.6`` as (8, 6)."""
    match entry.value:
        case Quantity(value, None) if "." in str(value):
            major, minor = str(value).split(".")
            return int(major), int(minor)
    raise wrong(entry, kind, filename)


def count(entry: LimitEntry, kind: Kind, filename: str) -> int:
    """A whole number of at least 1."""
    match entry.value:
        case Quantity(value, None) if value == int(value) and value > 0:
            return int(value)
    raise wrong(entry, kind, filename)


def extent(entry: LimitEntry, kind: Kind, filename: str) -> tuple[int, ...]:
    """``<x y z>``."""
    match entry.value:
        case Extent(values, None) if len(values) == 3 and all(
            v == int(v) and v > 0 for v in values
        ):
            return tuple(int(v) for v in values)
    raise wrong(entry, kind, filename)


def pair(entry: LimitEntry, kind: Kind, filename: str) -> tuple[int, ...]:
    """``<x y>``."""
    match entry.value:
        case Extent(values, None) if len(values) == 2 and all(
            v == int(v) and v > 0 for v in values
        ):
            return tuple(int(v) for v in values)
    raise wrong(entry, kind, filename)


def shares(entry: LimitEntry, kind: Kind, filename: str) -> tuple[float, ...]:
    """``<a b …>``: parts of a whole, made to add up to 1."""
    match entry.value:
        case Extent(values, None) if sum(values) > 0:
            return tuple(float(v / sum(values)) for v in values)
    raise wrong(entry, kind, filename)


def share(entry: LimitEntry, kind: Kind, filename: str) -> float:
    """A number from 0 to 1."""
    match entry.value:
        case Quantity(value, None) if 0 <= value <= 1:
            return float(value)
    raise wrong(entry, kind, filename)


def positive(entry: LimitEntry, kind: Kind, filename: str) -> float:
    """A number above 0."""
    match entry.value:
        case Quantity(value, None) if value > 0:
            return float(value)
    raise wrong(entry, kind, filename)


def word(entry: LimitEntry, kind: Kind, filename: str) -> str:
    """One of ``kind.words``."""
    match entry.value:
        case Word(text) if text in kind.words:
            return text
        case Word(text):
            raise located(
                filename, entry.at, f"{entry.name} cannot be '{text}'", nearest(text, kind.words)
            )
    raise wrong(entry, kind, filename)


def name(entry: LimitEntry, kind: Kind, filename: str) -> str:
    """Any one word."""
    match entry.value:
        case Word(text):
            return text
    raise wrong(entry, kind, filename)


def names(entry: LimitEntry, kind: Kind, filename: str) -> tuple[str, ...]:
    """``<FFMA FADD …>``, each once."""
    match entry.value:
        case Words(texts) if len(set(texts)) == len(texts):
            return texts
    raise wrong(entry, kind, filename)


def counts(entry: LimitEntry, kind: Kind, filename: str) -> tuple[int, ...]:
    """A whole number of at least 1, or ``<17 8 8>``: one for each."""
    match entry.value:
        case Quantity(value, None) if value == int(value) and value > 0:
            return (int(value),)
        case Extent(values, None) if all(v == int(v) and v > 0 for v in values):
            return tuple(int(v) for v in values)
    raise wrong(entry, kind, filename)


def bits(entry: LimitEntry, kind: Kind, filename: str) -> tuple[int, ...]:
    """``<6 7 15>``: numbers of address bits, ascending."""
    match entry.value:
        case Extent(values, None) if all(v == int(v) and v <= HIGHEST_BIT for v in values):
            found = tuple(int(v) for v in values)
            if list(found) == sorted(set(found)):
                return found
    raise wrong(entry, kind, filename)


def parity(entry: LimitEntry, kind: Kind, filename: str) -> int:
    """``<6 15>`` as the mask of these address bits."""
    return sum(1 << bit for bit in bits(entry, kind, filename))


def megahertz(entry: LimitEntry, kind: Kind, filename: str) -> float:
    """A clock, in MHz."""
    return float(_in_unit(entry, kind, filename, CLOCKS))


def size(entry: LimitEntry, kind: Kind, filename: str) -> int:
    """A size, in bytes."""
    value = _in_unit(entry, kind, filename, BYTES)
    if value != int(value):
        raise wrong(entry, kind, filename)
    return int(value)


def sizes(entry: LimitEntry, kind: Kind, filename: str) -> tuple[int, ...]:
    """``<0 8 16> KB``, in bytes, ascending."""
    match entry.value:
        case Extent(values, str(unit)) if unit in BYTES:
            found = tuple(int(v * BYTES[unit]) for v in values)
            if list(found) == sorted(set(found)):
                return found
    raise wrong(entry, kind, filename)


def bandwidth(entry: LimitEntry, kind: Kind, filename: str) -> float:
    """A bandwidth, in GB/s."""
    return float(_in_unit(entry, kind, filename, BANDWIDTHS))


def bytes_per_cycle(entry: LimitEntry, kind: Kind, filename: str) -> float:
    """A bandwidth, in bytes per cycle."""
    return float(_in_unit(entry, kind, filename, BYTES_PER_CYCLE))


def lanes_per_cycle(entry: LimitEntry, kind: Kind, filename: str) -> float:
    """Threads' instructions per cycle."""
    return float(_in_unit(entry, kind, filename, LANES_PER_CYCLE))


def cycles(entry: LimitEntry, kind: Kind, filename: str) -> float:
    """A time in cycles; may be 0."""
    match entry.value:
        case Quantity(value, "clk") if value == 0:
            return 0.0
    return float(_in_unit(entry, kind, filename, CYCLES))


def nanoseconds(entry: LimitEntry, kind: Kind, filename: str) -> float:
    """A time, in nanoseconds."""
    return float(_in_unit(entry, kind, filename, TIMES))


def wrong(entry: LimitEntry, kind: Kind, filename: str) -> MachineError:
    """The error for a value of the wrong kind."""
    return located(filename, entry.at, f"{entry.name} should look like: {kind.example}")


def _in_unit(
    entry: LimitEntry, kind: Kind, filename: str, units: Mapping[str, Decimal | int]
) -> Decimal:
    match entry.value:
        case Quantity(value, str(unit)) if unit not in units:
            raise located(
                filename, entry.at, f"unknown unit '{unit}' of {entry.name}", nearest(unit, units)
            )
        case Quantity(value, str(unit)) if value > 0:
            return value * units[unit]
    raise wrong(entry, kind, filename)
