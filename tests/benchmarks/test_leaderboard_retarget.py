"""Retarget beside rerun in the leaderboard: the same pairs, errors by hand."""

from benchmarks.leaderboard import retarget_figures
from benchmarks.path_ratio.pairs import Pair


def pair(how, predicted, *, block_x=32, measured=0.8):
    return Pair("A100", block_x, 4, 1, 1, "staged", how, predicted, predicted, measured)


def test_pairs_that_have_both_are_compared():
    pairs = [
        pair("rerun", 0.4),
        pair("retarget", 0.6),
        pair("rerun", 0.8, block_x=64),
        pair("retarget", 1.0, block_x=64),
        pair("rerun", 3.0, block_x=128),
    ]
    found = {figure.figure.split("), ")[1]: figure.value for figure in retarget_figures(pairs)}
    assert {name: round(value, 6) for name, value in found.items()} == {
        "rerun: ratio to the plain form": 0.25,
        "retarget: ratio to the plain form": 0.25,
        "'no change': ratio to the plain form": 0.25,
    }
    assert all("(2 pairs)" in figure.figure for figure in retarget_figures(pairs))
