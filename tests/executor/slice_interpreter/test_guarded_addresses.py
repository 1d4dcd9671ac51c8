"""Addresses under a guard: the values that lanes with the guard see, and no others."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from placewise.executor.ir.builder import Builder
from placewise.executor.slice_interpreter.guarded import Guarded


def value_of(node, inputs):
    """A lane's value of a node, by the meaning of its operation."""
    if node in inputs:
        return inputs[node]
    args = [value_of(a, inputs) for a in node.args]
    if node.op == "const":
        return node.attr
    if node.op == "select":
        return args[1] if args[0] else args[2]
    return {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "add": np.add}[
        node.op
    ](*args)


def reaches(node, wanted):
    return node is wanted or any(reaches(a, wanted) for a in node.args)


@pytest.fixture
def parts():
    b = Builder()
    b.start(b.new_block())
    p, q = (b.get(b.reg(name, "i1")) for name in "pq")
    return b, p, q, b.get(b.reg("i", "i32")), b.effect("load", "i32", b.const("i64", 0))


def test_what_a_guarded_instruction_left_is_not_asked_for(parts):
    b, p, q, index, loaded = parts
    both = b.pure("and", "i1", p, q)
    low = b.pure("add", "i32", b.select(p, index, loaded), b.const("i32", 4))
    assert reaches(low, loaded)
    guarded = Guarded()
    assert not reaches(guarded.address(low, p), loaded)
    assert not reaches(guarded.address(low, both), loaded)
    assert reaches(guarded.address(low, q), loaded)


def test_the_other_value_where_the_complement_is_the_guard(parts):
    b, p, _, index, loaded = parts
    other = b.pure("xor", "i1", p, b.const("i1", 1))
    address = b.select(p, loaded, index)
    assert Guarded().address(address, other) is index
    assert Guarded().address(index, other) is index


def test_what_other_lanes_give_is_left_alone(parts):
    b, p, _, index, loaded = parts
    given = b.select(p, index, loaded)
    taken = b.effect("shuffle", "i32", given, index, index, attr="idx")
    address = b.pure("add", "i32", b.part(taken, 0, "i32"), index)
    assert Guarded().address(address, p) is address


@given(st.data())
def test_lanes_with_the_guard_see_the_same(data):
    b = Builder()
    b.start(b.new_block())
    bits = [b.get(b.reg(f"p{n}", "i1")) for n in range(3)]
    words = [b.effect("load", "i32", b.const("i64", n)) for n in range(3)]
    conditions, values = list(bits), list(words)
    for _ in range(data.draw(st.integers(1, 8))):
        one, two = (data.draw(st.sampled_from(conditions)) for _ in range(2))
        conditions.append(b.pure(data.draw(st.sampled_from(["and", "or", "xor"])), "i1", one, two))
        one, two = (data.draw(st.sampled_from(values)) for _ in range(2))
        chosen = b.select(data.draw(st.sampled_from(conditions)), one, two)
        values.append(b.pure("add", "i32", chosen, b.const("i32", 1)))
    guard, address = data.draw(st.sampled_from(conditions)), values[-1]
    found = Guarded().address(address, guard)
    for case in range(8):
        inputs = {n: bool(case >> k & 1) for k, n in enumerate(bits)}
        inputs |= {n: 100**k for k, n in enumerate(words)}
        if value_of(guard, inputs):
            assert value_of(found, inputs) == value_of(address, inputs)
