"""Printing a syntax tree and parsing the text gives the tree back."""

from decimal import Decimal
from importlib import resources

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placewise.machine import machine_names
from placewise.machine.msl.build import KEYWORDS, MEMORY_FIELDS, PROCESSOR_FIELDS
from placewise.machine.msl.parse import parse_specification
from placewise.machine.msl.printer import print_expression, print_specification
from placewise.machine.msl.tree import (
    Binary,
    Condition,
    DetailEntry,
    Extent,
    Floor,
    Header,
    Keyword,
    Latency,
    Level,
    LimitEntry,
    LimitsEntry,
    MemoryEntry,
    Number,
    PartEntry,
    ProcessorEntry,
    Provenance,
    Quantity,
    Reference,
    Size,
    SourceEntry,
    SpaceEntry,
    Special,
    Specification,
    Unary,
    Word,
    Words,
)

RESERVED = {"machine", "source", "limits", "detail", "space", "die", "from", "om", "na"}
RESERVED |= {"pipe", "instruction", "tlb", "dram"}
words = st.from_regex(r"[A-Za-z][A-Za-z0-9_]{0,8}", fullmatch=True).filter(
    lambda w: w not in RESERVED
)
texts = st.text(
    st.characters(blacklist_categories=("Cs", "Cc"), blacklist_characters="\u2028\u2029\x85")
)
counts = st.integers(1, 10**12)
decimals = st.decimals(0, 10**6, allow_nan=False, places=3).filter(lambda d: d > 0)
special = st.sampled_from(Special)


def or_special(strategy):
    return strategy | special


expressions = st.recursive(
    st.builds(Number, st.integers(0, 10**9)) | st.builds(Keyword, st.sampled_from(KEYWORDS)),
    lambda inner: (
        st.builds(Floor, inner)
        | st.builds(Unary, st.sampled_from("-!"), inner)
        | st.builds(
            Binary, st.sampled_from(["||", "&&", "==", "!=", "<", "<=", ">", ">=", *"+-*/%"]),
            inner, inner,
        )
    ),
    max_leaves=12,
)  # fmt: skip
references = st.builds(Reference, words, texts | st.none()) | st.builds(Reference, st.none(), texts)


def provenances(fields):
    names = st.lists(st.sampled_from(fields), min_size=1, max_size=3).map(tuple)
    return st.lists(st.builds(Provenance, names, references), max_size=2).map(tuple)


sizes = st.lists(
    st.builds(Size, counts, st.sampled_from(["", *"KMGT"]), st.sampled_from(["", "E", "B"])),
    min_size=1, max_size=3,
).map(tuple)  # fmt: skip
latencies = st.lists(
    st.builds(Latency, decimals, st.sampled_from(["clk", "ns", "us", "ms", "sec"])),
    min_size=1, max_size=2,
).map(tuple)  # fmt: skip
levels = st.lists(st.builds(Level, words | counts.map(str)), max_size=3).map(tuple)
factors = st.decimals("0.001", 1, places=3)
memories = st.builds(
    MemoryEntry,
    name=words,
    id=st.integers(0, 99),
    managed=or_special(st.sampled_from("YN")),
    rw=or_special(st.sampled_from(["R", "W", "RW"])),
    dim=or_special(st.integers(0, 3)),
    size=or_special(sizes),
    block_size=or_special(sizes),
    banks=or_special(counts),
    latency=or_special(latencies),
    upper=or_special(levels),
    lower=or_special(levels),
    scope=or_special(st.sampled_from(["core", "sm", "tpc", "die"])),
    concurrency=or_special(st.tuples(factors, factors)),
    condition=or_special(
        st.builds(Condition, st.sampled_from(["warp", "block", "grid"]), expressions)
    ),
    provenance=provenances(MEMORY_FIELDS),
)
quantities = st.builds(Quantity, decimals, st.sampled_from([None, "MHz", "KB", "GB/s"]))
extents = st.builds(
    Extent,
    st.lists(counts.map(Decimal), min_size=1, max_size=3).map(tuple),
    st.sampled_from([None, "KB"]),
)
single_words = st.builds(Word, st.sampled_from(["lru", "through", "write_back"]))
opcodes = st.from_regex(r"[A-Z][A-Z0-9_]{0,4}(\.[A-Z0-9_]{1,4}){0,2}", fullmatch=True)
word_lists = st.builds(Words, st.lists(words | opcodes, min_size=1, max_size=3).map(tuple))
limits = st.builds(
    LimitEntry,
    words,
    quantities | extents | single_words | word_lists | st.just(Special.UNKNOWN),
    references | st.none(),
)
settings_of = st.lists(limits, max_size=3).map(tuple)
parts = st.one_of(
    st.builds(PartEntry, st.just("pipe"), words, settings_of),
    st.builds(PartEntry, st.just("instruction"), opcodes, settings_of),
    st.builds(PartEntry, st.just("tlb"), words, settings_of),
    st.builds(PartEntry, st.just("dram"), st.none(), settings_of),
)
nonempty = texts.filter(bool)
spaces = st.builds(
    SpaceEntry,
    name=words,
    letter=st.sampled_from("GRTCSX"),
    way=st.sampled_from(["direct", "intrinsic", "binding", "host_buffer", "kernel_buffer"]),
    levels=levels.filter(bool),
    path=words,
    rw=st.sampled_from(["R", "RW"]),
    declaration=nonempty | st.none(),
    intrinsic=nonempty | st.none(),
    reference=references | st.none(),
)
specifications = st.builds(
    Specification,
    processor=st.builds(ProcessorEntry, counts, counts, counts, provenances(PROCESSOR_FIELDS)),
    memories=st.lists(memories, max_size=3).map(tuple),
    title=st.from_regex(r"[A-Za-z0-9]( ?[A-Za-z0-9]){0,9}", fullmatch=True) | st.none(),
    header=st.builds(Header, words, texts | st.none()) | st.none(),
    sources=st.lists(st.builds(SourceEntry, words, texts), max_size=2).map(tuple),
    limits=st.builds(LimitsEntry, st.lists(limits, max_size=3).map(tuple)) | st.none(),
    details=st.lists(
        st.builds(DetailEntry, words, st.lists(limits, max_size=3).map(tuple)), max_size=2
    ).map(tuple),
    parts=st.lists(parts, max_size=3).map(tuple),
    spaces=st.lists(spaces, max_size=2).map(tuple),
)


@settings(max_examples=150, deadline=None)
@given(specifications)
def test_any_tree_survives_printing_and_parsing(specification):
    assert parse_specification(print_specification(specification)) == specification


@settings(max_examples=300, deadline=None)
@given(expressions)
def test_any_condition_survives(expression):
    text = (
        "die = 1 tpc; tpc = 1 sm; sm = 1 core;"
        f"m 1 Y R na ? ? ? ? <> <> die ? warp{{{print_expression(expression)}}};"
    )
    assert parse_specification(text).memories[0].condition.expression == expression


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("(a1 + a2) * w1", "(a1 + a2) * w1"),
        ("a1 - (a2 - w1)", "a1 - (a2 - w1)"),
        ("((a1 - a2) - w1)", "a1 - a2 - w1"),
        ("⌊a1 / 8⌋ ≠ ⌊a2 / 8⌋", "floor(a1 / 8) != floor(a2 / 8)"),
        ("a1 \\neq a2 && !(w1 == w2)", "a1 != a2 && !(w1 == w2)"),
        ("a1 != a2 || w1 < w2 && w1 > 3", "a1 != a2 || w1 < w2 && w1 > 3"),
        ("(a1 != a2 || w1 < w2) && w1 > 3", "(a1 != a2 || w1 < w2) && w1 > 3"),
    ],
)
def test_conditions_print_with_as_few_brackets_as_needed(text, printed):
    def spelled(short):
        for thread in "12":
            short = short.replace(f"a{thread}", f"address{thread}")
            short = short.replace(f"w{thread}", f"word{thread}")
        return short

    condition = parse_specification(
        "die = 1 tpc; tpc = 1 sm; sm = 1 core;"
        f"m 1 Y R na ? ? ? ? <> <> die ? warp{{{spelled(text)}}};"
    ).memories[0].condition  # fmt: skip
    assert print_expression(condition.expression) == spelled(printed)


@pytest.mark.parametrize("name", machine_names())
def test_bundled_files_survive(name):
    file = resources.files("placewise.machine").joinpath("files", f"{name}.msl")
    specification = parse_specification(file.read_text("utf-8"), name)
    assert parse_specification(print_specification(specification)) == specification
