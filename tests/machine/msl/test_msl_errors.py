"""Every mistake in a machine file is one error, at its place, that says what was expected."""

import re

import pytest

from placewise.errors import MachineError
from placewise.machine import load_machine, machine_names, parse_machine

GOOD = """\
machine T "A test machine";
source doc "A document";
die = 1 tpc; tpc = 2 sm; sm = 32 core from { tpc doc "page 1"; };
limits {
  compute_capability = 8.0 from doc;
  clock = 1410 MHz;
  max_block = <1024 1024 64>;
  shared_memory_per_block = 48 KB;
  dram_bandwidth = 1555 GB/s;
}
globalMem 8 Y RW na 1GB 128B ? 600clk <L1> <> die <0.2 0.2>
  warp{floor(address1/blockSize) != floor(address2/blockSize)} from { size doc; };
L1 9 N RW na 16KB 128B ? 80clk <> <globalMem> sm ?
  warp{floor(address1/blockSize) != floor(address2/blockSize)};
sharedMem 4 Y RW na 48KB ? 32 <48clk 40ns> <> <> sm ?
  block{word1 != word2 && word1 % banks == word2 % banks};
constantMem 1 Y R na 64KB ? ? 360clk <> <> die <1 1> warp{address1 != address2};
detail L1 { unified = 128 KB; line = 128 B; ways = 4; policy = lru; carve_outs = <32 64> KB;
  sector = 32 B; }
space global G direct <L1 globalMem> global RW;
space constant C host_buffer <constantMem> constant R from doc "page 2";
space shared S kernel_buffer <sharedMem> global RW declaration "__shared__";
"""

# name: (text of the good file, its bad replacement with ^ where the error is, part of the message,
# part of the hint or None)
BAD = {
    "detail of no memory": ("detail L1", "detail ^L9", "no memory is called 'L9'", "L1"),
    "unknown setting": ("ways = 4", "^way = 4", "unknown setting 'way'", "ways"),
    "setting given twice": ("ways = 4", "ways = 4; ^ways = 4", "'ways' is given twice", None),
    "unknown policy": ("policy = lru", "^policy = lrx", "policy cannot be 'lrx'", "lru"),
    "a line of broken sectors": (
        "detail L1 { unified = 128 KB; line = 128 B",
        "detail ^L1 { unified = 128 KB; line = 80 B",
        "whole number of sectors", None,
    ),
    "carve-out larger than the array": (
        "detail L1 { unified = 128", "detail ^L1 { unified = 48", "larger than the whole", None,
    ),
    "carve-outs without unit": (
        "carve_outs = <32 64> KB", "^carve_outs = <32 64>", "carve_outs should look like", None,
    ),
    "a second detail entry": (
        "space global G", "detail ^L1 { }\nspace global G", "a second detail entry", None,
    ),
    "misspelt processor keyword": (
        "sm; sm = 32 core",
        "sm; sm = 32 ^cor",
        "expected 'core'", "core",
    ),
    "processor without tpc": ("tpc = 2 sm; ", "^", "expected 'tpc'", None),
    "fraction of an SM": ("tpc = 2 sm", "tpc = ^2.5 sm", "a whole number, found '2.5'", None),
    "no SMs": ("tpc = 2 sm", "tpc = ^0 sm", "at least 1", None),
    "id missing": ("L1 9 N", "L1 ^N", "id (a whole number), found 'N'", None),
    "duplicate id": ("L1 9 N", "^L1 8 N", "second memory with id '8'", "first is at 11:1"),
    "duplicate name": ("L1 9 N", "^globalMem 9 N", "second memory named 'globalMem'", "11:1"),
    "software managed is Y or N": ("L1 9 N", "L1 9 ^M", "expected Y or N", None),
    "access rights": ("9 N RW", "9 N ^WR", "R, W or RW", None),
    "unit of a size": ("16KB", "^16Q", "a size such as 16KB", None),
    "negative size": ("16KB", "^-16KB", "a size such as 16KB", "not negative"),
    "size zero": ("16KB", "^0KB", "at least 1", None),
    "size missing": ("na 16KB 128B ?", "na 128B ? ^80clk", "number of banks", None),
    "banks missing": ("128B ? 80clk", "128B ^80clk", "the number of banks", None),
    "latency without unit": ("80clk", "^80", "a latency such as 48clk", None),
    "unknown unit of latency": ("80clk", "^80cycles", "a latency such as 48clk", None),
    "latency zero": ("80clk", "^0clk", "more than 0", None),
    "latency unknown": (
        "L1 9 N RW na 16KB 128B ? 80clk",
        "^L1 9 N RW na 16KB 128B ? ?",
        "L1 is", None,
    ),
    "unknown lower level": ("<globalMem> sm", "<^globlMem> sm", "name 'globlMem'", "globalMem"),
    "unknown upper level": ("<L1> <>", "<^L3> <>", "name 'L3'", "L1"),
    "unknown level id": ("<globalMem> sm", "<^88> sm", "id '88'", "8"),
    "levels in a circle": ("^", "", "", ""),
    "share scope": ("<globalMem> sm", "<globalMem> ^sn", "a share scope", "sm"),
    "concurrency over 1": ("<0.2 0.2>", "<0.2 ^1.5>", "at most 1", None),
    "one concurrency factor": ("<0.2 0.2>", "<0.2^>", "a concurrency factor", None),
    "scope of condition": ("block{", "^blok{", "a serialization condition", "block"),
    "keyword of condition": ("{address1", "{^adress1", "keyword 'adress1'", "address1"),
    "open bracket": (
        "floor(address1/blockSize) != floor(address2/blockSize)};\nshared",
        "floor(address1/blockSize != floor(address2/blockSize)^};\nshared",
        "')'", None,
    ),
    "assignment for comparison": ("word1 != word2", "word1 ^= word2", "'!='", None),
    "condition needs banks": ("32 <48clk", "? <48clk", "uses banks", "banks"),
    "condition missing": (
        "<1 1> warp{address1 != address2};",
        "<1 1>^;",
        "condition (warp", None,
    ),
    "semicolon missing": (
        'core from { tpc doc "page 1"; };',
        'core from { tpc doc "page 1"; }',
        "';'", None,
    ),
    "unknown limit": ("  clock =", "  ^clok =", "unknown limit 'clok'", "clock"),
    "limit twice": ("  max_block =", "  ^clock = 1 GHz;\n  max_block =", "twice", None),
    "unit of a clock": ("1410 MHz", "1410 mhz", "unit 'mhz'", "MHz"),
    "clock without unit": ("1410 MHz", "1410", "clock = 1410 MHz", None),
    "block of two dimensions": ("<1024 1024 64>", "<1024 1024>", "<1024 1024 64>", None),
    "undeclared source": ("from doc;", "from ^dok;", "declared as 'dok'", "doc"),
    "source of no field": ("{ size doc; }", "{ ^sise doc; }", "no field 'sise'", "size"),
    "way of access": ("C host_buffer", "C ^host_bufer", "a way of access", "host_buffer"),
    "letter": ("space shared S", "space shared ^s", "letter (one capital)", None),
    "letter twice": ("space shared S", "space ^shared G", "letter G", None),
    "space twice": ("space shared S", "space ^global S", "second space named 'global'", None),
    "space on unknown memory": (
        "<constantMem> constant",
        "<^constMem> constant",
        "constMem", "constantMem",
    ),
    "space in a cache": ("<L1 globalMem> global", "<^L1> global", "can place nothing", None),
    "space through a stranger": (
        "<constantMem> constant",
        "<L1 ^constantMem> constant",
        "below", None,
    ),
    "writable constant": (
        "space constant C host_buffer <constantMem> constant R",
        "space ^constant C host_buffer <constantMem> constant RW",
        "read-only", None,
    ),
    "unknown entry": ("space shared S", "spaces shared S", "id (a whole number)", "space"),
    "text without end": ('"A document"', '^"A document', "text in", None),
    "cut off": ('declaration "__shared__";\n', "declaration^", "found the end of the file", None),
    "too many banks": ("? 32 <48clk", "? 99999999 <48clk", "99999999 banks", None),
    "block beyond all memory": ("16KB 128B", "16KB 2000TB", "blocks of more than 1 TB", None),
    "number without end": ("16KB", "^9999999999999999999KB", "a size such as", None),
    "two processors": (
        "space shared S",
        "^die = 1 tpc; tpc = 2 sm; sm = 3 core;\nspace shared S",
        "second", None,
    ),
}  # fmt: skip
BAD["levels in a circle"] = ("<L1> <> die", "<L1> <L1> die", "lies above itself", None)
PLACED_BY_HAND = {
    "too many banks": (15, 1),
    "block beyond all memory": (13, 1),
    "condition needs banks": (16, 3),
    "semicolon missing": (4, 1),
    "unit of a clock": (6, 3),
    "clock without unit": (6, 3),
    "block of two dimensions": (7, 3),
    "levels in a circle": (11, 1),
    "unknown entry": (22, 8),
}


def test_the_good_file_is_good():
    machine = parse_machine(GOOD, "good.msl")
    assert machine.warnings == (
        "good.msl: limits not given, assumed as of compute capability 2.0: max_threads_per_block, "
        "max_grid, max_threads_per_sm, max_blocks_per_sm, registers_per_sm, "
        "max_registers_per_thread, shared_memory_per_sm",
    )


@pytest.mark.parametrize("name", BAD)
def test_each_mistake_is_one_located_error(name):
    old, new, message, hint = BAD[name]
    assert GOOD.count(old) == 1 or name == "levels in a circle", "the edit must be unambiguous"
    marked = GOOD.replace(old, new, 1)
    text = marked.replace("^", "")
    if name in PLACED_BY_HAND:
        line, column = PLACED_BY_HAND[name]
    else:
        before = marked[: marked.index("^")]
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    with pytest.raises(MachineError) as caught:
        parse_machine(text, "bad.msl")
    assert caught.value.where == f"bad.msl:{line}:{column}", caught.value
    assert message in caught.value.message
    if hint:
        assert hint in (caught.value.hint or "")


@pytest.mark.parametrize("name", BAD)
def test_messages_use_no_names_of_the_grammar(name):
    old, new, *_ = BAD[name]
    with pytest.raises(MachineError) as caught:
        parse_machine(GOOD.replace(old, new.replace("^", ""), 1), "bad.msl")
    assert not re.search(r"\b[A-Z]{2,}_?[A-Z]{2,}\b|\$END|__ANON", caught.value.message)


def test_an_empty_file():
    with pytest.raises(MachineError, match="no processor entry"):
        parse_machine("", "empty.msl")


def test_latency_in_time_needs_a_clock():
    with pytest.raises(MachineError, match="needs the clock") as caught:
        parse_machine(GOOD.replace("  clock = 1410 MHz;\n", ""), "bad.msl")
    assert caught.value.where == "bad.msl:14:38"


def test_unknown_machine_names_the_known_ones():
    with pytest.raises(MachineError, match="no machine named 'RTX309O'") as caught:
        load_machine("RTX309O")
    hint = caught.value.hint
    assert hint.startswith("did you mean 'RTX3090'?")
    assert all(name in hint for name in machine_names())


def test_unreadable_file(tmp_path):
    with pytest.raises(MachineError, match="cannot read"):
        load_machine(str(tmp_path / "none.msl"))
    binary = tmp_path / "binary.msl"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(MachineError, match="not UTF-8"):
        load_machine(str(binary))


def test_a_condition_nested_beyond_reason():
    deep = "(" * 3000 + "address1" + ")" * 3000 + " != address2"
    text = GOOD.replace("address1 != address2", "-" * 3000 + "address1 != address2")
    for bad in (text, GOOD.replace("address1 != address2", deep + " && " + "!" * 3000 + "banks")):
        with pytest.raises(MachineError, match="nested too deeply"):
            parse_machine(bad, "deep.msl")
