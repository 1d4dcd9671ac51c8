"""Control flow between basic blocks: where lanes go, where they wait for others, and how a warp
waits at barriers."""

from __future__ import annotations

from placewise.executor.codegen import checks
from placewise.executor.codegen.control.named_barriers import REDUCTION_ROW
from placewise.executor.codegen.state import State
from placewise.executor.device_memory.address_space import BARRIERS, GIVES_WAY, Fault, Slot
from placewise.executor.ir.nodes import Barrier, Block, Branch, Exit, Jump, Node, Reg, Switch, Trap
from placewise.executor.passes.uniform import live_in_any


def terminate(s: State, block: Block) -> None:
    """Emit the branches at the end of a basic block."""
    t = block.terminator
    waiting = s.flow.pending[block.number]
    if isinstance(t, Jump):
        _go(s, [(t.target, s.mask)], waiting)
    elif isinstance(t, Exit):
        _leave(s, waiting)
    elif isinstance(t, Trap):
        s.fault(Fault.TRAP, block.number)
    elif isinstance(t, Barrier):
        _barrier(s, block, t)
    elif isinstance(t, Branch):
        _branch(s, t, waiting)
    else:
        _switch(s, t, waiting)


def use_fuel(s: State, block: Block) -> None:
    """Emit, in a loop, the countdown of the instructions that may run before ``@refuel`` is called,
    which asks whether the run has to stop."""
    pointer = s.slot_pointer(Slot.FUEL)
    fuel = s.op(f"load i64, ptr {pointer}")
    left = s.op(f"sub i64 {fuel}, {max(block.instructions, 1)}")
    s.do(f"store i64 {left}, ptr {pointer}")
    refuel, stop, on = s.label(), s.label(), s.label()
    s.do(f"br i1 {s.op(f'icmp sgt i64 {left}, 0')}, label %{on}, label %{refuel}, !prof !1")
    s.start(refuel)
    ends = s.op(f"call i1 @refuel(ptr %ctx, i32 {-2 - block.number})")
    s.do(f"br i1 {ends}, label %{stop}, label %{on}")
    s.start(stop)
    s.do("ret i32 -1")
    s.start(on)


def _branch(s: State, t: Branch, waiting: int) -> None:
    if t.condition.uniform:
        yes, no = s.label(), s.label()
        s.do(f"br i1 {s.scalar(t.condition)}, label %{yes}, label %{no}")
        for label, target in ((yes, t.taken), (no, t.other)):
            s.start(label)
            _go(s, [(target, s.mask)], waiting)
        return
    condition = s.mask_of(t.condition)
    taken = s.op(f"and i32 {s.mask}, {condition}")
    other = s.op(f"and i32 {s.mask}, {s.op(f'xor i32 {condition}, -1')}")
    _go(s, [(t.taken, taken), (t.other, other)], waiting)


def _switch(s: State, t: Switch, waiting: int) -> None:
    if t.index.uniform:
        labels = [s.label() for _ in t.targets]
        cases = " ".join(f"i32 {k}, label %{label}" for k, label in enumerate(labels[:-1]))
        s.do(f"switch i32 {s.scalar(t.index)}, label %{labels[-1]} [ {cases} ]")
        for label, target in zip(labels, t.targets, strict=True):
            s.start(label)
            _go(s, [(target, s.mask)], waiting)
        return
    index = s.vector(t.index)
    group: list[tuple[int, str]] = []
    left = s.mask
    for k, target in enumerate(t.targets[:-1]):
        equal = s.op(f"icmp eq <32 x i32> {index}, splat (i32 {k})")
        here = s.op(f"and i32 {s.op(f'bitcast <32 x i1> {equal} to i32')}, {s.mask}")
        left = s.op(f"and i32 {left}, {s.op(f'xor i32 {here}, -1')}")
        group.append((target, here))
    _go(s, [*group, (t.targets[-1], left)], waiting)


def _go(s: State, group: list[tuple[int, str]], waiting: int) -> None:
    """Send lanes to their targets and go on with the first block that lanes wait for.

    ``waiting`` is the set of blocks where other lanes may wait already.
    """
    masks: dict[int, str] = {}
    ends = False
    for target, mask in group:
        if s.flow.exits >> target & 1:
            ends = True
            count_exit(s, target, mask)
        elif target in masks:
            masks[target] = s.op(f"or i32 {masks[target]}, {mask}")
        else:
            masks[target] = mask
    candidates = waiting
    for target, mask in list(masks.items()):
        candidates |= 1 << target
        if s.waits >> target & 1:
            old = s.op(f"load i32, ptr %p{target}")
            if target in s.meetings:
                _arrive(s, target, mask)
            masks[target] = s.op(f"or i32 {old}, {mask}")
            s.do(f"store i32 {masks[target]}, ptr %p{target}")
    # Unless all lanes ended, some lane is at a target: no block after the last target runs next.
    last = len(s.program.blocks) if ends or not masks else max(masks)
    _dispatch(s, masks, candidates, last)


def proceed(s: State, target: int, mask: str, number: int) -> None:
    """Send the lanes in ``mask``, all of block ``number``, to ``target``. If that is where threads
    end, their exit instruction must have been counted already."""
    waiting = s.flow.pending[number]
    if s.flow.exits >> target & 1:
        _leave(s, waiting)
    else:
        _go(s, [(target, mask)], waiting)


def _leave(s: State, waiting: int) -> None:
    """Emit the end of the threads in the active lanes."""
    _dispatch(s, {}, waiting, len(s.program.blocks))


def _dispatch(s: State, masks: dict[int, str], candidates: int, last: int) -> None:
    while candidates:
        low = candidates & -candidates
        at = low.bit_length() - 1
        if at > last:
            break
        candidates ^= low
        mask = masks.get(at) or s.op(f"load i32, ptr %p{at}")
        if at == last:
            _enter(s, at, mask)
            return
        yes, no = s.label(), s.label()
        s.do(f"br i1 {s.op(f'icmp ne i32 {mask}, 0')}, label %{yes}, label %{no}")
        s.start(yes)
        _enter(s, at, mask)
        s.start(no)
    s.do("ret i32 0")


def _enter(s: State, target: int, mask: str) -> None:
    if s.waits >> target & 1:
        s.do(f"store i32 0, ptr %p{target}")
    s.do(f"store i32 {mask}, ptr %cur")
    s.do(f"br label %B{target}")


def count_exit(s: State, target: int, mask: str) -> None:
    """Lanes that end execute the exit instruction of the block they would go to."""
    some = s.op(f"zext i1 {s.op(f'icmp ne i32 {mask}, 0')} to i64")
    active = s.call("i32", "llvm.ctpop.i32", ("i32", mask))
    s.count(2 * target, some)
    s.count(2 * target + 1, s.op(f"zext i32 {active} to i64"))


def _arrive(s: State, target: int, mask: str) -> None:
    """Count a group of lanes, if ``mask`` has any, that comes to where lanes meet again."""
    some = s.op(f"zext i1 {s.op(f'icmp ne i32 {mask}, 0')} to i64")
    groups = s.op(f"add i64 {s.op(f'load i64, ptr %m{target}')}, {some}")
    s.do(f"store i64 {groups}, ptr %m{target}")


def meet(s: State, number: int, *, together: str = "1") -> None:
    """Each of the groups that have come to a block executes the instruction by which they meet,
    which is counted with the block for all ``together``."""
    if number in s.meetings and s.waits >> number & 1:
        groups = s.op(f"load i64, ptr %m{number}")
        s.count(s.meetings[number], s.op(f"sub i64 {groups}, {together}"))
        s.do(f"store i64 0, ptr %m{number}")


def _barrier(s: State, block: Block, t: Barrier) -> None:
    """Save the registers that are used later, and return from the warp function. It is a fault if
    some lanes of the warp are at another block."""
    for number in range(len(s.program.blocks)):
        if s.flow.pending[block.number] >> number & 1:
            good, bad = s.label(), s.label()
            waiting = s.op(f"load i32, ptr %p{number}")
            s.do(f"br i1 {s.op(f'icmp eq i32 {waiting}, 0')}, label %{good}, label %{bad}")
            s.start(bad)
            s.fault(Fault.DIVERGENT_BARRIER, block.number)
            s.start(good)
    s.do(f"store i32 {s.mask}, ptr %frame")
    _save(s, _saved(s, t))
    if t.reduce is not None:
        holds = s.op(f"and i32 {s.mask_of(t.reduce[1])}, {s.mask}")
        counts = _reduction_counts(s, t)
        for pointer, mask in zip(counts, (holds, s.mask), strict=True):
            more = s.op(f"zext i32 {s.call('i32', 'llvm.ctpop.i32', ('i32', mask))} to i64")
            total = s.op(f"add i64 {s.op(f'load i64, ptr {pointer}')}, {more}")
            s.do(f"store i64 {total}, ptr {pointer}")
    if s.options.checked is not None:
        checks.arrive(s, block, t, _common(s, t.number))
    if _numbered(s):
        for slot, node in ((Slot.BARRIER_NUMBER, t.number), (Slot.BARRIER_THREADS, t.threads)):
            s.set_slot(slot, _common(s, node))
        s.set_slot(Slot.BARRIER_ARRIVE, str(int(t.arrive_only)))
    s.resumes.append(t)
    s.do(f"ret i32 {len(s.resumes)}")


def _numbered(s: State) -> bool:
    """Whether the driver is one that tells barriers apart, see ``named_barriers``."""
    return bool(s.flow.gives_way) or not s.program.has_plain_barriers()


def _reduction_counts(s: State, t: Barrier) -> list[str]:
    """Pointers to the counts of threads whose predicate holds at a barrier, and of all."""
    if not _numbered(s):
        return [s.slot_pointer(slot) for slot in (Slot.RED_COUNT, Slot.RED_TOTAL)]
    rows = s.slot(Slot.BARRIERS, "ptr")
    number = s.op(f"and i64 {_common(s, t.number)}, {BARRIERS - 1}")
    places = [s.op(f"add i64 {number}, {(REDUCTION_ROW + n) * BARRIERS}") for n in (0, 1)]
    return [s.op(f"getelementptr i64, ptr {rows}, i64 {place}") for place in places]


def _reduced(s: State) -> list[str]:
    """Counts (i64) of the barrier reduction that has just released the warp."""
    if not _numbered(s):
        return [s.slot(slot) for slot in (Slot.RED_COUNT_DONE, Slot.RED_TOTAL_DONE)]
    warps, place = s.slot(Slot.WARPS), s.op("zext i32 %warp to i64")
    waits = s.slot(Slot.WAITS, "ptr")
    counts = []
    for _ in range(2):
        place = s.op(f"add i64 {place}, {warps}")
        pointer = s.op(f"getelementptr i32, ptr {waits}, i64 {place}")
        counts.append(s.op(f"zext i32 {s.op(f'load i32, ptr {pointer}')} to i64"))
    return counts


def _common(s: State, node: Node | None) -> str:
    """A barrier's operand, the same in all lanes, as i64."""
    if node is None:
        return "0"
    value = (
        s.scalar(node)
        if node.uniform
        else s.op(f"extractelement <32 x i32> {s.vector(node)}, i32 {s.first_lane()}")
    )
    return s.op(f"zext i32 {value} to i64")


def _saved(s: State, t: Barrier) -> list[Reg]:
    live = s.flow.live_in[t.target]
    skip = t.reduce[2].number if t.reduce else -1
    return [r for r in s.program.regs if live >> r.number & 1 and r.number != skip]


def give_way(s: State, block: Block) -> None:
    """At the head of a loop that waits for other warps: after some rounds, return from the warp
    function so that they run."""
    left = s.op(f"sub i32 {s.op('load i32, ptr %patience')}, 1")
    s.do(f"store i32 {left}, ptr %patience")
    gives, on = s.label(), s.label()
    s.do(f"br i1 {s.op(f'icmp sgt i32 {left}, 0')}, label %{on}, label %{gives}, !prof !1")
    s.start(gives)
    _step_aside(s, block)
    for number, _ in _waiting(s, block.number):
        meet(s, number, together="0")
    s.set_slot(Slot.GAVE_WAY_AT, str(-2 - block.number))
    s.do(f"store i32 {s.mask}, ptr %frame")
    for number, offset in _waiting(s, block.number):
        place = s.op(f"getelementptr i8, ptr %frame, i64 {offset}")
        s.do(f"store i32 {s.op(f'load i32, ptr %p{number}')}, ptr {place}")
    _save(s, _kept(s, block.number))
    s.resumes.append(block.number)
    s.do(f"ret i32 {GIVES_WAY + len(s.resumes)}")
    s.start(on)


def _step_aside(s: State, block: Block) -> None:
    """Let lanes of the warp run that wait at other blocks, one such block in each further round of
    the loop. After ``PATIENCE`` such rounds other warps run instead."""
    others = [n for n, _ in _waiting(s, block.number) if s.flow.steps_in >> n & 1]
    if not others:
        return
    turn, over = s.label(), s.label()
    left = s.op(f"sub i32 {s.op('load i32, ptr %own')}, 1")
    s.do(f"store i32 {left}, ptr %own")
    s.do(f"br i1 {s.op(f'icmp sge i32 {left}, 0')}, label %{turn}, label %{over}")
    s.start(turn)
    for number in others:
        mask = s.op(f"load i32, ptr %p{number}")
        yes, no = s.label(), s.label()
        s.do(f"br i1 {s.op(f'icmp ne i32 {mask}, 0')}, label %{yes}, label %{no}")
        s.start(yes)
        # Enough for one round, should the block be the head of such a loop too.
        s.do("store i32 2, ptr %patience")
        s.do(f"store i32 {s.mask}, ptr %p{block.number}")
        _enter(s, number, mask)
        s.start(no)
    s.do(f"br label %{over}")
    s.start(over)


def _waiting(s: State, number: int) -> list[tuple[int, int]]:
    """Blocks where lanes may wait while a warp gives way, with the places of their masks."""
    pending = s.flow.pending[number]
    return [(n, offset) for n, offset in s.frame.waiting.items() if pending >> n & 1]


def _kept(s: State, number: int) -> list[Reg]:
    """Registers that active or waiting lanes still read."""
    flow = s.flow
    live = flow.live_in[number] | live_in_any(flow.live_in, flow.pending[number])
    return [r for r in s.program.regs if live >> r.number & 1]


def _save(s: State, regs: list[Reg]) -> None:
    for reg in regs:
        type_ = s.reg_type(reg)
        value = s.op(f"load {type_}, ptr %r{reg.number}")
        place = s.op(f"getelementptr i8, ptr %frame, i64 {s.frame.offsets[reg.number]}")
        s.do(f"store {type_} {value}, ptr {place}, align 8")


def _load(s: State, regs: list[Reg]) -> None:
    for reg in regs:
        type_ = s.reg_type(reg)
        place = s.op(f"getelementptr i8, ptr %frame, i64 {s.frame.offsets[reg.number]}")
        s.do(f"store {type_} {s.op(f'load {type_}, ptr {place}, align 8')}, ptr %r{reg.number}")


def go_on(s: State, number: int, head: int) -> None:
    """Emit the code that continues at the head of a loop where the warp gave way."""
    s.start(f"R{number}")
    s.do(f"store i32 {s.op('load i32, ptr %frame')}, ptr %cur")
    for block, offset in _waiting(s, head):
        place = s.op(f"getelementptr i8, ptr %frame, i64 {offset}")
        s.do(f"store i32 {s.op(f'load i32, ptr {place}')}, ptr %p{block}")
    _load(s, _kept(s, head))
    s.do(f"br label %B{head}")


def resume(s: State, number: int, t: Barrier) -> None:
    """Emit the code that continues behind a barrier."""
    s.start(f"R{number}")
    if s.options.checked is not None:
        checks.resume(s)
    s.do(f"store i32 {s.op('load i32, ptr %frame')}, ptr %cur")
    _load(s, _saved(s, t))
    if t.reduce is not None and s.live >> t.reduce[2].number & 1:
        count, total = _reduced(s)
        if t.reduce[0] == "popc":
            value = s.op(f"trunc i64 {count} to i32")
        else:
            test = f"eq i64 {count}, {total}" if t.reduce[0] == "and" else f"ne i64 {count}, 0"
            value = s.op(f"zext i1 {s.op(f'icmp {test}')} to i32")
        s.do(f"store i32 {value}, ptr %r{t.reduce[2].number}")
    s.do(f"br label %B{t.target}")
