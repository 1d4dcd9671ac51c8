"""Registers split by their values: every path computes what it did before."""

from hypothesis import given, settings
from hypothesis import strategies as st

from placewise.executor.ir.builder import Builder
from placewise.executor.ir.nodes import Branch, Exit, Jump, Program
from placewise.executor.passes.register_webs import split_webs

REGISTERS = ("R0", "R1", "R2")
operations = st.lists(
    st.tuples(st.sampled_from(REGISTERS), st.sampled_from(REGISTERS), st.integers(1, 9)), max_size=4
)
shapes = st.lists(
    st.tuples(operations, st.lists(st.integers(0, 5), min_size=0, max_size=2)),
    min_size=6,
    max_size=6,
)


def build(shape):
    """Blocks of ``target = source + number``; block n goes to its listed successors."""
    b = Builder()
    blocks = [b.new_block() for _ in shape]
    for block, (steps, successors) in zip(blocks, shape, strict=True):
        b.start(block)
        for target, source, number in steps:
            value = b.get(b.reg(source, "i32"))
            b.set(b.reg(target, "i32"), b.pure("add", "i32", value, b.const("i32", number)))
        if len(successors) == 2:
            b.finish(Branch(b.const("i1", 1), *successors))
        else:
            b.finish(Jump(successors[0]) if successors else Exit())
    return Program("k", blocks, list(b.regs.values()), [], 0, 0, 0)


def trace(program, choices):
    """What a walk through the program adds up in each block, values of registers read included."""
    values = {}
    at, seen = 0, []
    for choice in choices:
        block = program.blocks[at]
        computed = {}
        for n in block.nodes:
            if n.op == "const":
                computed[n] = n.attr
            elif n.op == "get":
                computed[n] = values.get(n.attr, 0)
            elif n.op == "add":
                computed[n] = computed[n.args[0]] + computed[n.args[1]]
                seen.append(computed[n])
            elif n.op == "set":
                values[n.attr] = computed[n.args[0]]
        after = block.successors()
        if not after:
            break
        at = after[choice % len(after)]
    return seen


@settings(deadline=None)
@given(shapes, st.lists(st.integers(0, 1), max_size=12))
def test_every_walk_computes_the_same(shape, choices):
    assert trace(split_webs(build(shape)), choices) == trace(build(shape), choices)


def test_two_values_in_one_register_become_two():
    shape = [
        ([("R0", "R1", 1)], [1]),
        ([("R2", "R0", 1), ("R0", "R1", 5)], [2]),
        ([("R2", "R0", 1)], []),
    ]
    found = split_webs(build(shape))
    written = [n.attr for block in found.blocks for n in block.nodes if n.op == "set"]
    assert len(written) == 2
    assert len(set(written)) == 2


def test_a_loop_carries_one_value():
    shape = [([("R0", "R1", 1)], [1]), ([("R0", "R0", 1)], [1, 2]), ([("R2", "R0", 1)], [])]
    found = split_webs(build(shape))
    inside = {n.attr for n in found.blocks[1].nodes if n.op == "get"}
    assert {n.attr for n in found.blocks[0].nodes if n.op == "set"} == inside
    # What is read behind the loop is a copy: lanes that have left keep it.
    behind = {n.attr for n in found.blocks[2].nodes if n.op == "get"}
    assert {n.attr for n in found.blocks[1].nodes if n.op == "set"} == inside | behind
    assert len(inside | behind) == 2
    assert [r.number for r in found.regs] == list(range(len(found.regs)))
