"""Registers written and read under predicates hold what the machine's would."""

from hypothesis import given
from hypothesis import strategies as st

from placewise.executor.ir.builder import Builder
from placewise.executor.lower_sass.context import Context
from placewise.executor.lower_sass.memory.constant_banks import Banks
from placewise.kernel.binary.sass import Register

COUNT = 4
MASK = (1 << 32) - 1
PREDICATES = (None, ("P0", False), ("P0", True), ("P1", False), ("P1", True))
register = st.integers(0, COUNT - 1)
moves = st.lists(st.tuples(st.sampled_from(PREDICATES), register, register), max_size=12)


def lowered(listed):
    """The nodes of ``@guard target = source + 5`` for each (guard, target, source)."""
    b = Builder()
    c = Context(b, Banks.__new__(Banks), "k.cu", 90)
    b.start(b.new_block())
    for guard, target, source in listed:
        if guard is not None:
            name, inverted = guard
            c.guard = c.predicate(Register(name[0], int(name[1]), inverted=inverted))
        value = c.binary("add", c.i32(Register("R", source)), b.const("i32", 5))
        c.write(Register("R", target), value)
        c.guard = None
    return [c.register("R", n) for n in range(COUNT)], b.block.nodes


def found(listed, predicates):
    """Registers after the nodes have been worked out; register n holds 100 n at the start."""
    results, nodes = lowered(listed)
    values = {}
    for n in nodes:
        operands = [values[a] for a in n.args]
        if n.op == "const":
            values[n] = n.attr
        elif n.op == "get":
            name = n.reg.name
            values[n] = predicates[name] if name[0] == "P" else 100 * int(name[1:])
        elif n.op == "add":
            values[n] = sum(operands) & MASK
        elif n.op == "xor":
            values[n] = operands[0] ^ operands[1]
        elif n.op == "select":
            values[n] = operands[1] if operands[0] else operands[2]
    return [values[n] for n in results]


def expected(listed, predicates):
    registers = [100 * n for n in range(COUNT)]
    for guard, target, source in listed:
        if guard is None or predicates[guard[0]] != guard[1]:
            registers[target] = (registers[source] + 5) & MASK
    return registers


@given(moves, st.booleans(), st.booleans())
def test_registers_hold_what_the_machines_would(listed, first, second):
    predicates = {"P0": int(first), "P1": int(second)}
    assert found(listed, predicates) == expected(listed, predicates)


def test_under_its_own_predicate_a_value_needs_no_old_one():
    p, other = PREDICATES[1], PREDICATES[2]
    (_, _, result, _), _ = lowered([(p, 1, 0), (p, 2, 1), (other, 2, 0)])
    # Where P0 holds R2 is R0 + 10, elsewhere R0 + 5: what R1 and R2 held before plays no part.
    work, read = [result], set()
    while work:
        n = work.pop()
        work += n.args
        if n.op == "get":
            read.add(n.reg.name)
    assert read == {"P0", "R0"}
