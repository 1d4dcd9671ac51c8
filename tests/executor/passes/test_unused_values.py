"""Programs without unused values: every walk has the effects that it had before."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from placewise.executor.ir.builder import Builder
from placewise.executor.ir.nodes import Branch, Exit, Jump, Program
from placewise.executor.passes.unused_values import drop_unused

REGISTERS = ("R0", "R1", "R2")
register = st.sampled_from(REGISTERS)
# ("add", target, source), ("keep", target, source) writes where R0 is odd, ("tell", source).
steps = st.lists(
    st.one_of(
        st.tuples(st.just("add"), register, register),
        st.tuples(st.just("keep"), register, register),
        st.tuples(st.just("tell"), register),
    ),
    max_size=4,
)
shapes = st.lists(st.tuples(steps, st.lists(st.integers(0, 4), max_size=2)), min_size=5, max_size=5)


def build(shape):
    """Blocks of such steps; block n goes to its listed successors, to the first where R2 is odd."""
    b = Builder()
    blocks = [b.new_block() for _ in shape]

    def value(name):
        return b.get(b.reg(name, "i32"))

    def is_odd(name):
        return b.pure("trunc", "i1", value(name))

    for block, (listed, successors) in zip(blocks, shape, strict=True):
        b.start(block)
        for step in listed:
            if step[0] == "tell":
                b.effect("host", "i64", value(step[1]))
                continue
            target = b.reg(step[1], "i32")
            new = b.pure("add", "i32", value(step[2]), b.const("i32", 5))
            if step[0] == "keep":
                new = b.select(is_odd("R0"), new, b.get(target))
            b.set(target, new)
        if len(successors) == 2:
            b.finish(Branch(is_odd("R2"), *successors))
        else:
            b.finish(Jump(successors[0]) if successors else Exit())
    return Program("k", blocks, list(b.regs.values()), [], 0, 0, 0)


def effects(program, start, most=12):
    """What a walk of at most so many blocks tells, and the blocks that it visits."""
    registers = dict(zip(REGISTERS, start, strict=True))
    at, told = 0, []
    for _ in range(most):
        told.append(("block", at))
        values = {}
        for n in program.blocks[at].nodes:
            operands = [values[a] for a in n.args]
            if n.op == "const":
                values[n] = n.attr
            elif n.op == "get":
                values[n] = registers[n.reg.name]
            elif n.op == "set":
                registers[n.reg.name] = operands[0]
            elif n.op == "add":
                values[n] = sum(operands)
            elif n.op == "trunc":
                values[n] = operands[0] & 1
            elif n.op == "select":
                values[n] = operands[1] if operands[0] else operands[2]
            elif n.op == "host":
                told.append(operands[0])
        end = program.blocks[at].terminator
        if isinstance(end, Exit):
            break
        at = end.target if isinstance(end, Jump) else end.taken
        if isinstance(end, Branch) and not values[end.condition]:
            at = end.other
    return told


# What the last of three blocks tells was read in the first one.
CHAIN = [([("add", "R2", "R0")], [1]), ([("add", "R1", "R2")], [2]), ([("tell", "R1")], [])]


@settings(max_examples=400)
@example(CHAIN, (1, 2, 3))
@given(shapes, st.tuples(*[st.integers(0, 3)] * len(REGISTERS)))
def test_effects_are_those_of_before(shape, start):
    assert effects(drop_unused(build(shape)), start) == effects(build(shape), start)


@given(shapes)
def test_dropping_again_changes_nothing(shape):
    once = drop_unused(build(shape))
    nodes = [list(block.nodes) for block in once.blocks]
    assert [block.nodes for block in drop_unused(once).blocks] == nodes


def test_an_old_value_that_only_a_dead_write_reads_is_not_read():
    # A loop writes R1 under a predicate and tells R2 alone.
    shape = [([("keep", "R1", "R2"), ("tell", "R2")], [0, 1]), ([], [])]
    nodes = drop_unused(build(shape)).blocks[0].nodes
    assert {n.reg.name for n in nodes if n.op in ("get", "set")} == {"R2"}
