"""Settings to run: all of few, and of many every pair."""

from itertools import combinations, product

from placewise.advisor.forms.agnostic_settings import MOST_SETTINGS, covering_settings

SPACES = dict.fromkeys("abcdefgh", ("global", "texture", "constant", "shared"))


def test_few_settings_are_all_there():
    few = {"a": ("global", "shared"), "b": ("global", "texture", "constant")}
    found = covering_settings(few, lambda _: True)
    assert {tuple(s for _, s in p) for p in found} == set(product(*few.values()))


def test_of_many_every_pair_that_fits_is_met():
    def fits(setting):
        return sum(space == "constant" for _, space in setting) <= 1

    found = covering_settings(SPACES, fits)
    assert all(fits(setting) for setting in found)
    assert len(found) < MOST_SETTINGS
    met = {pair for setting in found for pair in combinations(setting.spaces, 2)}
    for a, b in combinations(SPACES, 2):
        for s, t in product(SPACES[a], SPACES[b]):
            assert (((a, s), (b, t)) in met) == ((s, t) != ("constant", "constant"))
