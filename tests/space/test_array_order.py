"""Orders of dimensions: addresses, inverses and conversions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from placewise.errors import CaseError
from placewise.space.array_order import (
    ArrayOrder,
    check_order,
    compose,
    indices_at,
    inverse,
    position,
    reorder,
    row_major,
    stored_elements,
    strides,
    transposed,
)


@st.composite
def orders(draw):
    extents = tuple(draw(st.lists(st.integers(1, 5), min_size=1, max_size=4)))
    order = tuple(draw(st.permutations(range(len(extents)))))
    return extents, ArrayOrder(order, extents[order[-1]] + draw(st.integers(0, 3)))


@given(orders())
def test_each_element_has_a_place_of_its_own_and_is_found_there(drawn):
    extents, layout = drawn
    check_order(extents, layout)
    indices = np.indices(extents).reshape(len(extents), -1)
    places = position(extents, layout, indices)
    assert len(np.unique(places)) == indices.shape[1]
    assert places.max() < stored_elements(extents, layout)
    assert np.array_equal(indices_at(extents, layout, places), indices)


@given(orders())
def test_all_other_elements_are_padding(drawn):
    extents, layout = drawn
    every = np.arange(stored_elements(extents, layout))
    found = indices_at(extents, layout, every)
    assert np.count_nonzero((found >= 0).all(axis=0)) == np.prod(extents)


@given(orders())
def test_reordering_is_what_numpy_does(drawn):
    extents, layout = drawn
    data = np.arange(np.prod(extents), dtype=np.int32) + 1
    stored = reorder(extents, row_major(extents), layout, data)
    moved = data.reshape(extents).transpose(layout.order)
    lines = stored.reshape(*moved.shape[:-1], layout.pitch)
    assert np.array_equal(lines[..., : moved.shape[-1]], moved)
    assert not lines[..., moved.shape[-1] :].any()
    assert np.array_equal(reorder(extents, layout, row_major(extents), stored), data)


@given(st.permutations(range(4)), st.permutations(range(4)))
def test_orders_compose_and_invert_like_axes(first, second):
    shape = (2, 3, 4, 5)
    data = np.arange(120).reshape(shape)
    twice = data.transpose(first).transpose(second)
    assert np.array_equal(twice, data.transpose(compose(first, second)))
    assert np.array_equal(data.transpose(first).transpose(inverse(first)), data)


def test_a_transposed_matrix_by_hand():
    # Two rows of three, stored as three lines of four: element (1, 2) is the second of line 2.
    layout = transposed((2, 3), 4)
    assert strides((2, 3), layout) == (1, 4)
    assert position((2, 3), layout, np.array([[1], [2]])) == [9]


@pytest.mark.parametrize(
    "layout", [ArrayOrder((0, 0), 3), ArrayOrder((0,), 3), ArrayOrder((0, 1), 2)]
)
def test_orders_that_do_not_fit_are_refused(layout):
    with pytest.raises(CaseError):
        check_order((2, 3), layout)
