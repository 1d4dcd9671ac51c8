"""Symbolic bounds against all values that an expression takes."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placewise.kernel.view.indices.interval import Bounder, Facts, Unbounded
from placewise.kernel.view.indices.symbolic import Poly, apply, compound, ranged, uniform, unknown

BLOCKS = np.arange(4, dtype=np.int64).reshape(1, 1, 4)
BOUNDER = Bounder({"b": BLOCKS, "n": np.full((1, 1, 1), 7, np.int64)})
B = uniform("b", "int(blockIdx.x)")
N = uniform("n", "n")


def number(value):
    return Poly.constant(value)


T = ranged("t", (number(0),), (number(5),))
"""A thread index below 6."""
K = ranged("k", (T - number(2),), (B + number(3), T + number(9)))
"""A loop from t - 2 to at most b + 3 and t + 9."""


class Expression:
    """A polynomial beside a function that computes the same for given t, k, b."""

    def __init__(self, poly, value):
        self.poly, self.value = poly, value


LEAVES = st.one_of(
    st.integers(-6, 6).map(lambda c: Expression(number(c), lambda t, k, b: c)),
    st.sampled_from(
        [
            Expression(T, lambda t, k, b: t),
            Expression(K, lambda t, k, b: k),
            Expression(B, lambda t, k, b: b),
            Expression(N, lambda t, k, b: 7),
        ]
    ),
)


def joined(operator, one, other):
    compute = {
        "+": lambda x, y: x + y,
        "-": lambda x, y: x - y,
        "*": lambda x, y: x * y,
        "select": lambda x, y: x,
    }.get(operator, lambda x, y: apply(operator, x, y))
    poly = {
        "+": lambda p, q: p + q,
        "-": lambda p, q: p - q,
        "*": lambda p, q: p * q,
    }.get(operator, lambda p, q: compound(operator, p, q))(one.poly, other.poly)
    return Expression(poly, lambda t, k, b: compute(one.value(t, k, b), other.value(t, k, b)))


def divided(operator, one, by):
    return joined(operator, one, Expression(number(by), lambda t, k, b: by))


EXPRESSIONS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(joined, st.sampled_from("+-*"), inner, inner),
        st.builds(joined, st.sampled_from(["min", "max", "select"]), inner, inner),
        st.builds(divided, st.sampled_from("/%"), inner, st.integers(1, 9)),
        st.builds(divided, st.just("&"), inner, st.sampled_from([0, 1, 3, 7])),
        st.builds(divided, st.just(">>"), inner, st.integers(0, 3)),
    ),
    max_leaves=7,
)


def values(expression, b):
    return [
        expression.value(t, k, b) for t in range(6) for k in range(t - 2, min(b + 3, t + 9) + 1)
    ]


CLOSER = replace(BOUNDER, within_period=True, assumed=set())


@pytest.mark.parametrize("bounder", [BOUNDER, CLOSER])
@settings(max_examples=300, deadline=None)
@given(EXPRESSIONS)
def test_bounds_hold_in_every_block(bounder, expression):
    try:
        low = bounder.lowest(expression.poly)
        high = bounder.highest(expression.poly)
    except Unbounded:
        return
    for b in range(4):
        taken = values(expression, b)
        assert np.broadcast_to(low, BLOCKS.shape).flat[b] <= min(taken)
        assert np.broadcast_to(high, BLOCKS.shape).flat[b] >= max(taken)


@settings(max_examples=100, deadline=None)
@given(st.integers(-9, 9), st.integers(-9, 9), st.integers(-9, 9))
def test_affine_bounds_are_exact(a, b, c):
    poly = number(a) * T + number(b) * B + number(c)
    for block in range(4):
        taken = [a * t + b * block + c for t in range(6)]
        assert np.broadcast_to(BOUNDER.lowest(poly), BLOCKS.shape).flat[block] == min(taken)
        assert np.broadcast_to(BOUNDER.highest(poly), BLOCKS.shape).flat[block] == max(taken)


@given(st.integers(0, 40), st.integers(1, 30), st.integers(1, 30))
def test_remainders_are_bounded_where_no_block_passes_a_period(start, step, period):
    poly = compound("%", B * number(step) + T + number(start), number(period))
    passes = any((step * b + start) // period < (step * b + start + 5) // period for b in range(4))
    bounder = replace(CLOSER, assumed=set())
    low, high = (np.broadcast_to(f(poly), BLOCKS.shape) for f in (bounder.lowest, bounder.highest))
    for b in range(4):
        taken = [(step * b + start + t) % period for t in range(6)]
        found = low.flat[b], high.flat[b]
        assert found == ((0, period - 1) if passes else (min(taken), max(taken))) or (
            passes and high.flat[b] == min(period - 1, step * b + start + 5)
        )
    assert bool(bounder.assumed) != passes


@settings(max_examples=100, deadline=None)
@given(EXPRESSIONS, EXPRESSIONS, EXPRESSIONS)
def test_polynomials_are_a_ring(x, y, z):
    x, y, z = x.poly, y.poly, z.poly
    assert x + y == y + x
    assert x * y == y * x
    assert (x + y) * z == x * z + y * z
    assert x - x == number(0)
    assert x * number(1) == x


@given(st.integers(-99, 99), st.integers(-9, 9).filter(bool))
def test_quotients_are_those_of_c(a, b):
    assert apply("/", a, b) == int(a / b)
    assert apply("%", a, b) == a - int(a / b) * b


def test_what_is_not_known_has_no_bound_and_a_reason():
    with pytest.raises(Unbounded, match="loaded from x"):
        BOUNDER.highest(T + unknown("u", "it depends on data loaded from x"))
    # A condition around it may bound it all the same.
    facts = Facts(upper={"u": (N,)})
    assert BOUNDER.highest(T + unknown("u", "data"), facts).item() == 12
    with pytest.raises(Unbounded):
        BOUNDER.lowest(T + unknown("u", "data"), facts)


def test_division_by_zero_is_no_bound():
    with pytest.raises(Unbounded, match=r"zero|not positive"):
        BOUNDER.highest(compound("/", T, B))


def test_sums_cancel():
    row = compound("/", T, number(4))
    assert (row * N + T - row * N) == T


@pytest.mark.parametrize(
    ("poly", "text"),
    [
        (B * number(32) - N, "32 * int(blockIdx.x) - n"),
        (number(0), "0"),
        (number(-3), "-3"),
        (-B, "-int(blockIdx.x)"),
        (uniform("d", "int(blockDim.x)") * B, "int(blockIdx.x * blockDim.x)"),
        (compound("/", B + number(1), N), "((int(blockIdx.x) + 1) / n)"),
        (compound("min", B, N) + number(1), "min(int(blockIdx.x), n) + 1"),
        (compound("/", N, N * B), "(n / (int(blockIdx.x) * n))"),
    ],
)
def test_text_is_cpp(poly, text):
    assert poly.text == text


def test_text_means_what_the_polynomial_is():
    """Read back by hand: every pair of values gives the number that the text says."""
    poly = compound("/", B * number(5) - N, number(2)) * number(3) - B
    for b, n in itertools.product(range(4), (3, 7)):
        bounder = Bounder({"b": np.full((1, 1, 1), b), "n": np.full((1, 1, 1), n)})
        assert poly.text == "3 * ((5 * int(blockIdx.x) - n) / 2) - int(blockIdx.x)"
        assert bounder.evaluate(poly).item() == 3 * int((5 * b - n) / 2) - b


@given(st.integers(-9, 9), st.integers(-9, 9), st.sampled_from([number(4), N, B * N]))
def test_a_number_that_was_taken_apart_is_put_together_again(factor, offset, by):
    x = T * number(factor) + K + number(offset)
    quotient, remainder = compound("/", x, by), compound("%", x, by)
    assert quotient * by + remainder == x
    assert remainder * N + quotient * by * N == x * N
    assert quotient * by - remainder != x


@given(st.integers(-9, 9), st.integers(2, 9))
def test_a_number_that_was_taken_apart_twice_is_put_together_again(offset, inner):
    x, by = K + number(offset), number(inner)
    middle = compound("%", compound("/", x, by), N)
    assert compound("/", x, N * by) * N * by + middle * by + compound("%", x, by) == x
    assert compound("/", compound("/", x, by), N) * N + middle == compound("/", x, by)
