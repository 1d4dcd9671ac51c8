"""Each rule of a well-formed program, by a program that breaks it and nothing else."""

from dataclasses import replace

import pytest

from placewise.executor.ir.builder import Builder
from placewise.executor.ir.matrix_lanes import Mma
from placewise.executor.ir.nodes import (
    Access,
    Barrier,
    Branch,
    Exit,
    Jump,
    Node,
    Place,
    Program,
    Reg,
    Switch,
    Sync,
)
from placewise.executor.ir.verify import BrokenProgramError, verify

HERE = Place(7, (1, 3))
LOAD = Access("load", "global", 32, 1, "ld.global.u32", HERE)
MMA = Mma(16, 8, 16, "f16", "f16", "f32", "f32")


def build():
    """A builder in its first block, with a value of each of some types by name."""
    b = Builder()
    b.start(b.new_block())
    b.block.place = HERE
    values = {t: b.const(t, 1) for t in ("i1", "i16", "i32", "i64", "f32", "f64")}
    return b, values


def program(b, **changes):
    made = Program(
        "k", b.blocks, list(b.regs.values()), b.accesses, 0, 0, 16, syncs=b.syncs, guards=b.guards
    )
    return replace(made, **changes)


def broken(made):
    with pytest.raises(BrokenProgramError) as error:
        verify(made, "some pass")
    text = str(error.value)
    assert text.startswith("after some pass: k: ")
    return text.removeprefix("after some pass: k: ")


def test_a_program_with_one_node_of_each_kind_is_well_formed():
    b, v = build()
    address = b.pure("param", "i64", attr=0)
    loaded = b.access("load", "i32", LOAD, address, v["i1"])
    b.access("store", "i1", replace(LOAD, kind="store"), address, loaded)
    b.access(
        "atomic", "i32", replace(LOAD, kind="atomic", operation="cas"), address, loaded, loaded
    )
    texture = replace(LOAD, space="texture", count=4)
    read = b.access("texture", "i32", texture, address, loaded)
    b.access("sample", "i32", texture, address, *[loaded] * 4)
    b.access("surface", "i1", replace(texture, kind="store", count=1), address, *[loaded] * 5)
    b.part(read, 3, "i32")
    b.effect("shuffle", "i32", loaded, loaded, loaded, attr="bfly")
    b.effect("vote", "i32", v["i1"], loaded, attr="ballot")
    b.effect("match", "i32", v["i64"], attr="any")
    b.effect("reduce", "i32", loaded, attr="add")
    b.effect("activemask", "i32")
    b.pure("first", "i32", loaded)
    b.pure("permute", "i32", loaded, attr=tuple(range(32)))
    b.pure("special", "i64", attr="clock")
    b.effect("heap", "i64", v["i64"], attr="malloc")
    b.effect("host", "i64", v["i64"], attr="printf")
    b.sync(Sync("warp", "bar.warp.sync", HERE), loaded)
    b.count_guard(v["i1"], 0)
    b.pure("mma", "i32", *[loaded] * 10, attr=MMA)
    b.pure("fma", "f32", v["f32"], v["f32"], v["f32"], attr="rz")
    b.select(b.fcmp("olt", v["f32"], v["f32"]), v["f64"], b.pure("fpext", "f64", v["f32"]))
    b.set(b.reg("r", "i32"), b.pure("trunc", "i32", v["i64"]))
    after = b.new_block()
    flag = b.icmp("eq", loaded, loaded)
    b.finish(Barrier(after.number, loaded, None, HERE, reduce=("or", flag, b.reg("out", "i32"))))
    b.start(after)
    b.get(b.reg("r", "i32"))
    b.finish(Exit())
    made = program(b)
    assert verify(made, "lowering") is made


BAD_NODES = {
    "unknown operation": (lambda b, v: b.pure("frob", "i32"), "there is no such operation"),
    "operand types": (lambda b, v: b.pure("add", "i32", v["i32"], v["i64"]), "operands of types"),
    "operand count": (lambda b, v: b.pure("fma", "f32", v["f32"], v["f32"]), "operands of types"),
    "class of type": (lambda b, v: b.pure("fadd", "i32", v["i32"], v["i32"]), "type i32"),
    "attribute": (lambda b, v: b.pure("add", "i32", v["i32"], v["i32"], attr="rz"), "attribute rz"),
    "rounding": (lambda b, v: b.pure("sqrt", "f32", v["f32"], attr="up"), "attribute up"),
    "cast up": (lambda b, v: b.pure("trunc", "i64", v["i32"]), "from i32 to i64"),
    "cast kind": (lambda b, v: b.pure("fptosi", "f32", v["f32"]), "from f32 to f32"),
    "bitcast": (lambda b, v: b.pure("bitcast", "f64", v["i32"]), "from i32 to f64"),
    "condition": (lambda b, v: b.icmp("olt", v["i32"], v["i32"]), "no condition 'olt'"),
    "compared types": (lambda b, v: b.icmp("eq", v["f32"], v["f32"]), "of type f32"),
    "compared result": (lambda b, v: b.pure("icmp", "i32", v["i32"], v["i32"], attr="eq"), "i1"),
    "select": (lambda b, v: b.pure("select", "i32", v["i32"], v["i32"], v["i32"]), "operands of"),
    "constant": (lambda b, v: b.pure("const", "i16", attr=1 << 16), "do not fit"),
    "special name": (lambda b, v: b.pure("special", "i32", attr="ear"), "no such special"),
    "special type": (lambda b, v: b.pure("special", "i64", attr="laneid"), "its type is not"),
    "parameter": (lambda b, v: b.pure("param", "i32", attr=-4), "byte offset"),
    "part of one": (lambda b, v: b.part(v["i32"], 0, "i32"), "0 values"),
    "shuffle mode": (
        lambda b, v: b.effect("shuffle", "i32", v["i32"], v["i32"], v["i32"], attr="left"),
        "no shuffle 'left'",
    ),
    "vote type": (lambda b, v: b.effect("vote", "i32", v["i1"], attr="all"), "not i1"),
    "members": (lambda b, v: b.effect("reduce", "i32", v["i32"], v["i64"], attr="add"), "operands"),
    "active mask": (lambda b, v: b.effect("activemask", "i64"), "not i32"),
    "first": (lambda b, v: b.pure("first", "i64", v["i32"]), "operands of types"),
    "permute": (lambda b, v: b.pure("permute", "i32", v["i32"], attr=(40,) * 32), "for each of 32"),
    "heap": (lambda b, v: b.effect("heap", "i64", v["i64"], v["i64"], attr="free"), "more than 1"),
    "host": (lambda b, v: b.effect("host", "i64", v["i64"], attr="puts"), "no host 'puts'"),
    "mma": (lambda b, v: b.pure("mma", "i32", v["i32"], attr=MMA), "operands of types"),
    "counter": (lambda b, v: b.effect("count", "i1", v["i1"], attr=3), "no such counter"),
    "address": (lambda b, v: b.access("load", "i32", LOAD, v["i32"]), "operands of types"),
    "shared address": (
        lambda b, v: b.access("load", "i32", replace(LOAD, space="shared"), v["i64"]),
        "operands of types",
    ),
    "guard": (lambda b, v: b.access("load", "i32", LOAD, v["i64"], v["i32"]), "operands of types"),
    "element": (lambda b, v: b.access("load", "i64", LOAD, v["i64"]), "elements are i32"),
    "kind of access": (lambda b, v: b.access("store", "i1", LOAD, v["i64"]), "is a load"),
    "no access": (lambda b, v: b.effect("load", "i32", v["i64"]), "no access"),
    "unknown site": (
        lambda b, v: b.effect("load", "i32", v["i64"], attr=replace(LOAD, site=9)),
        "site 9",
    ),
    "no register": (lambda b, v: b.effect("get", "i32", attr=3), "no register"),
    "foreign register": (
        lambda b, v: b.effect("get", "i32", attr=Reg("x", "i32", 5)),
        "not one of the program's",
    ),
    "type of register": (
        lambda b, v: b.effect("get", "i32", attr=b.reg("x", "i64")),
        "has type i64",
    ),
    "member mask": (
        lambda b, v: b.sync(Sync("warp", "bar.warp.sync", HERE), v["i64"]),
        "operands of types",
    ),
    "number of sync": (
        lambda b, v: b.effect("sync", "i1", attr=Sync("fence", "membar", HERE, number=4)),
        "number 4",
    ),
    "operand of another block": (
        lambda b, v: b.effect("activemask", "i32", Node("const", "i32", (), 0, 99)),
        "%99 does not stand before it",
    ),
}


@pytest.mark.parametrize("name", BAD_NODES)
def test_a_node_that_is_not_as_it_should_be(name):
    b, v = build()
    make, expected = BAD_NODES[name]
    node = make(b, v)
    b.finish(Exit())
    text = broken(program(b))
    assert text.startswith(f"block 0, {node!r} (file 1 line 3, PTX line or code offset 7): ")
    assert expected in text


BAD_ENDS = {
    "target": (lambda v: Jump(5), "block 5, which does not exist"),
    "condition": (lambda v: Branch(v["i32"], 0, 0), "of type i32"),
    "value": (lambda v: Branch(Node("const", "i1", (), 0, 99), 0, 0), "does not stand in it"),
    "index": (lambda v: Switch(v["i64"], (0,)), "of type i64"),
    "no targets": (lambda v: Switch(v["i32"], ()), "without targets"),
    "threads": (lambda v: Barrier(0, v["i32"], v["i64"], HERE), "of type i64"),
    "reduction": (
        lambda v: Barrier(0, None, None, HERE, reduce=("xor", v["i1"], Reg("r", "i32", 0))),
        "no reduction 'xor'",
    ),
    "register": (
        lambda v: Barrier(0, None, None, HERE, reduce=("or", v["i1"], Reg("r", "i32", 0))),
        "not one of the program's",
    ),
}


@pytest.mark.parametrize("name", BAD_ENDS)
def test_a_block_that_does_not_end_as_it_should(name):
    b, v = build()
    end, expected = BAD_ENDS[name]
    b.finish(end(v))
    text = broken(program(b))
    assert text.startswith("block 0 (file 1 line 3, PTX line or code offset 7): its end ") or (
        text.startswith("block 0 (file 1 line 3, PTX line or code offset 7): ")
    )
    assert expected in text


def test_blocks_are_numbered_by_position():
    b, _ = build()
    b.finish(Exit())
    b.blocks[0].number = 1
    assert "it stands at position 0" in broken(program(b))


def test_a_program_has_a_block():
    with pytest.raises(BrokenProgramError, match="no blocks"):
        verify(program(Builder()), "some pass")


def test_registers_are_numbered_by_position():
    b, _ = build()
    b.finish(Exit())
    assert "register r has number 3" in broken(program(b, regs=[Reg("r", "i32", 3)]))


def test_a_node_stands_in_one_block():
    b, v = build()
    b.finish(Exit())
    b.start(b.new_block())
    b.block.nodes.append(v["i32"])
    b.finish(Exit())
    assert "a node of another block" in broken(program(b))


def test_a_node_stands_in_its_block_once():
    b, v = build()
    b.block.nodes.append(v["i32"])
    b.finish(Exit())
    assert "holds a node twice" in broken(program(b))


@pytest.mark.parametrize("later", ["get", "set"])
def test_a_register_is_not_touched_after_it_is_set(later):
    b, v = build()
    reg = b.reg("r", "i32")
    b.effect("set", "i32", v["i32"], attr=reg)
    b.effect(later, "i32", *([v["i32"]] if later == "set" else []), attr=reg)
    b.finish(Exit())
    assert "its block has set this register before" in broken(program(b))


def test_a_site_has_one_node():
    b, v = build()
    first = b.access("load", "i32", LOAD, v["i64"])
    b.effect("load", "i32", v["i64"], attr=first.attr)
    b.finish(Exit())
    assert "site 0 is taken" in broken(program(b))


def test_a_synchronising_instruction_has_one_node():
    b, _ = build()
    first = b.sync(Sync("fence", "membar.gl", HERE))
    b.effect("sync", "i1", attr=first.attr)
    b.finish(Exit())
    assert "number 0 is not its own" in broken(program(b))
