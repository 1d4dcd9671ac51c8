"""What an option gains, in words."""

from __future__ import annotations

from placewise.advisor.advice import Option
from placewise.model import Ratio


def gain_in_words(judged: Option | Ratio) -> str:
    """The gain as text, such as ``1.31 times as fast (1.22–1.41), 97% likely to be faster``. Where
    the form was not timed it is a gain in memory time. The text says so, and it says where the
    probability is not known."""
    ratio = judged.judged if isinstance(judged, Option) else judged
    untimed = isinstance(judged, Option) and judged.rerun is None
    what = " in memory time" if untimed else ""
    words = f"{speedup(ratio.ratio)} times as fast{what}"
    if ratio.faster is None:
        return f"{words}, with unknown probability"
    return f"{words} ({speedup_range(ratio)}), {chance(ratio.faster)} likely to be faster"


def gain_of(ratio: Ratio) -> str:
    """The gain of a timed form as text, such as ``2.31 times as fast (2.02–2.61), 97% likely to be
    faster``; without the probability where it is not known."""
    words = f"{speedup(ratio.ratio)} times as fast ({speedup_range(ratio)})"
    return words if ratio.faster is None else f"{words}, {chance(ratio.faster)} likely to be faster"


def chance(probability: float) -> str:
    """A probability as text in per cent. Below 1 % it is ``under 1%`` and near 100 % ``over 99%``,
    since too few pairs of forms were measured to say it more precisely."""
    if probability > 0.99:
        return "over 99%"
    return "under 1%" if probability < 0.01 else f"{probability:.0%}"


def speedup_range(judged: Option | Ratio) -> str:
    """The 80 % interval of the gain as text, such as ``1.22–1.41``."""
    return f"{speedup(judged.high)}–{speedup(judged.low)}"


def speedup(ratio: float) -> str:
    """A ratio of times as a gain, such as ``1.31``; ``∞`` for a form that takes no time at all."""
    return f"{1 / ratio:.2f}" if ratio > 0.0 else "∞"
