"""64-bit values recognised in pairs of 32-bit registers."""

from placewise.executor.ir.builder import Builder
from placewise.executor.lower_sass.arithmetic.register_pairs import Pairs


def params(b, first, count, type_="i32"):
    return [b.pure("param", type_, attr=first + 4 * k) for k in range(count)]


def test_a_long_chain_of_choices_is_one_chain_of_64_bit_choices():
    b = Builder()
    b.start(b.new_block())
    pairs, length = Pairs(b), 3000
    conditions = params(b, 100_000, length, "i1")
    low, high = params(b, 0, 2)
    for k, condition in enumerate(conditions):
        own_low, own_high = params(b, 8 * (k + 1), 2)
        low, high = b.select(condition, own_low, low), b.select(condition, own_high, high)
    wide = pairs.wide(low, high)
    for k in reversed(range(length)):
        assert wide.op == "select"
        assert wide.args[0] is conditions[k]
        assert (wide.args[1].op, wide.args[1].attr) == ("param", 8 * (k + 1))
        wide = wide.args[2]
    assert (wide.op, wide.type, wide.attr) == ("param", "i64", 0)


def test_halves_that_nothing_joins_are_shifted_together():
    b = Builder()
    b.start(b.new_block())
    low, high = params(b, 0, 1) + params(b, 64, 1)
    pairs = Pairs(b)
    assert pairs.known(low, high) is None
    assert pairs.wide(low, high).op == "or"
    assert pairs.known(low, high) is pairs.wide(low, high)
