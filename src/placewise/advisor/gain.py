"""What an option gains, in words."""

from __future__ import annotations

from placewise.advisor.advice import Option


def gain_in_words(option: Option) -> str:
    """``1.31 times as fast (1.22–1.41), faster with 97 %``; of memory time alone where no form was
    timed. Where the probability is not known, it says so."""
    what = " in memory time" if option.rerun is None else ""
    words = f"{speedup(option.ratio)} times as fast{what}"
    faster = option.judged.faster
    if faster is None:
        return f"{words}, with what probability is not known"
    return f"{words} ({speedup_range(option)}), faster with {chance(faster)}"


def chance(probability: float) -> str:
    """A probability in per cent; pairs that were measured are too few to tell 0 and 100 %."""
    if probability > 0.99:
        return "over 99%"
    return "under 1%" if probability < 0.01 else f"{probability:.0%}"


def speedup_range(option: Option) -> str:
    """Interval of the gain, ``1.22–1.41``."""
    return f"{speedup(option.high)}–{speedup(option.low)}"


def speedup(ratio: float) -> str:
    """A ratio of times as a gain, ``1.31``; ``∞`` where the form takes no time at all."""
    return f"{1 / ratio:.2f}" if ratio > 0.0 else "∞"
