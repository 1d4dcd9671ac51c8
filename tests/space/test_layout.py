"""The algebra of layouts, against NumPy's structured types and hand-worked examples."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placewise.errors import CaseError
from placewise.space.layout import (
    PADDING,
    Field,
    Group,
    Layout,
    Record,
    array_of_structs,
    byte_of,
    check_layout,
    convert,
    field_at,
    group_bytes,
    grouped,
    moved_bytes,
    parse_layout,
    shape_of,
    structure_of_arrays,
    tiled_structs,
)

PARTICLE = Record("Particle", tuple(Field(n, 4, 4) for n in ("x", "y", "z", "m")))


def test_the_papers_padded_struct_has_12_bytes():
    """Peng et al. 2016, section IV-B: char w, int x, char y, short z."""
    record = Record(
        "MyType", (Field("w", 1, 1), Field("x", 4, 4), Field("y", 1, 1), Field("z", 2, 2))
    )
    shape = shape_of(record, record.declared.groups[0])
    assert shape.size_bytes == 12
    assert shape.offsets == (0, 4, 8, 10)


def test_kinds_and_words():
    assert array_of_structs(PARTICLE).kind() == "AoS"
    assert structure_of_arrays(PARTICLE).kind() == "SoA"
    assert tiled_structs(PARTICLE, 32).kind() == "AoSoA"
    layout = grouped(PARTICLE, (("x", "y"), ("z",), ("m",)))
    assert layout.kind() == "SoAoS"
    assert layout.describe() == "{x y}@8 {z} {m}"


def test_a_tile_holds_field_after_field():
    group, at = byte_of(PARTICLE, tiled_structs(PARTICLE, 4), "y", np.arange(6))
    assert group == 0
    assert at.tolist() == [16, 20, 24, 28, 64 + 16, 64 + 20]


@pytest.mark.parametrize("text", ["aos", "soa", "aosoa:8", "{x y z} {m}", "{m x y z}@16"])
def test_what_is_described_is_read_back(text):
    layout = parse_layout(text, PARTICLE)
    assert parse_layout(layout.describe(), PARTICLE) == layout


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{x y}", "leaves out field 'z'"),
        ("{x y z m} {x}", "twice"),
        ("{x y z q}", "no field 'q'"),
        ("x y z m", "cannot be read"),
        ("{x y z m}:3", "no power of two"),
        ("aosoa:0", "no power of two"),
        ("{} {x y z m}", "cannot be read"),
    ],
)
def test_what_is_no_layout_is_refused(text, why):
    with pytest.raises(CaseError, match=why):
        parse_layout(text, PARTICLE)


@st.composite
def records(draw: st.DrawFn) -> Record:
    sizes = draw(st.lists(st.sampled_from([(1, 1), (2, 2), (4, 4), (8, 8), (12, 4), (16, 16)]),
                          min_size=1, max_size=6))  # fmt: skip
    return Record("R", tuple(Field(f"f{n}", *s) for n, s in enumerate(sizes)))


@st.composite
def layouts(draw: st.DrawFn, record: Record) -> Layout:
    order = draw(st.permutations(record.names))
    cuts = draw(st.lists(st.booleans(), min_size=len(order), max_size=len(order)))
    parts: list[list[str]] = []
    for name, cut in zip(order, cuts, strict=True):
        if cut or not parts:
            parts.append([])
        parts[-1].append(name)
    widths = [draw(st.sampled_from([1, 1, 2, 8, 32])) for _ in parts]
    aligns = [draw(st.sampled_from([1, 8, 16, 64])) for _ in parts]
    return Layout(tuple(map(Group, map(tuple, parts), aligns, widths)))


@given(st.data())
@settings(deadline=None)
def test_the_shape_is_that_of_numpys_aligned_struct(data):
    record = data.draw(records())
    sized = [f for f in record.fields if f.size_bytes in (1, 2, 4, 8)] or [Field("f", 4, 4)]
    record = Record("R", tuple(sized))
    dtype = np.dtype([(f.name, f"u{f.size_bytes}") for f in sized], align=True)
    shape = shape_of(record, record.declared.groups[0])
    assert shape.size_bytes == dtype.itemsize
    assert shape.offsets == tuple(dtype.fields[f.name][1] for f in sized)


@given(st.data())
@settings(deadline=None)
def test_a_field_is_found_where_it_was_put(data):
    record = data.draw(records())
    layout = data.draw(layouts(record))
    check_layout(record, layout)
    elements = np.arange(70)
    taken = [np.zeros(group_bytes(record, g, 70), bool) for g in layout]
    for number, field in enumerate(record.fields):
        group, at = byte_of(record, layout, field.name, elements)
        assert (at % field.align_bytes == 0).all()
        for inner in range(field.size_bytes):
            assert not taken[group][at + inner].any(), "two fields on one byte"
            taken[group][at + inner] = True
            owner, element, byte = field_at(record, layout.groups[group], at + inner)
            assert (owner == number).all()
            assert (element == elements).all()
            assert (byte == inner).all()


@given(st.data())
@settings(deadline=None)
def test_converting_there_and_back_keeps_every_field(data):
    record = data.draw(records())
    one, other = data.draw(layouts(record)), data.draw(layouts(record))
    rng = np.random.default_rng(1)
    start = [rng.integers(0, 256, group_bytes(record, g, 45)).astype(np.uint8) for g in one]
    there = convert(record, one, other, start, 45)
    back = convert(record, other, one, there, 45)
    for group, before, after in zip(one, start, back, strict=True):
        owner, element, _ = field_at(record, group, np.arange(before.size))
        held = (owner != PADDING) & (element < 45)
        assert (before[held] == after[held]).all()
        assert not after[~held].any()


@given(st.data())
@settings(deadline=None)
def test_moved_bytes_are_those_that_a_conversion_moves(data):
    record = data.draw(records())
    one, other = data.draw(layouts(record)), data.draw(layouts(record))
    rng = np.random.default_rng(2)
    start = [rng.integers(0, 256, group_bytes(record, g, 64)).astype(np.uint8) for g in one]
    there = convert(record, one, other, start, 64)
    for group, data_ in zip(one, start, strict=True):
        groups, at = moved_bytes(record, group, other, np.arange(data_.size))
        for number, made in enumerate(there):
            mine = groups == number
            assert (made[at[mine]] == data_[mine]).all()
