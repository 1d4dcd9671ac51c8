"""The LLVM function that runs one warp."""

from __future__ import annotations

from placewise.executor.codegen.accesses import memory
from placewise.executor.codegen.control import control_flow
from placewise.executor.codegen.loops import loop_8_lanes, loop_lane_serial
from placewise.executor.codegen.state import Options, State
from placewise.executor.codegen.tracing import records
from placewise.executor.codegen.values import nodes
from placewise.executor.device_memory.address_space import PATIENCE, Slot
from placewise.executor.ir.nodes import EFFECTS, Access, Block, Program
from placewise.executor.passes.uniform import Flow, live_in_any, loop_blocks
from placewise.executor.passes.unused_values import used_nodes


def warp_function(
    program: Program, flow: Flow, options: Options, declarations: set[str]
) -> tuple[str, State]:
    """Text of ``@warp(ctx, warp, resume)``, and what it needs.

    The function returns 0 when all lanes have ended, a positive number where to go on after a
    barrier (plus ``GIVES_WAY``: after other warps have run), and -1 when the run is to stop.
    """
    s = State(program, flow, options, declarations)
    loops = 0 if options.quick else _short_loops(program)
    for block in program.blocks:
        s.hot = bool(loops >> block.number & 1)
        _block(s, block, is_loop_head=block.number in flow.loop_heads)
    body = s.lines
    s.lines = []
    _prologue(s)
    # Vectors that do not fit in registers are kept on the stack, in whole cache lines.
    head = "define i32 @warp(ptr %ctx, i32 %warp, i32 %resume) noinline alignstack(64) #0 {"
    return "\n".join([head, *s.lines, *body, "}"]), s


_PATTERNED_LIMIT = 160
"""Most accesses in loops for which each gets a fast path of its own. More of them take LLVM seconds
to compile."""


def _short_loops(program: Program) -> int:
    """Bit set of the blocks in loops; empty if those have too many accesses to give each a fast
    path."""
    loops = loop_blocks(program)
    accesses = sum(
        1
        for b in program.blocks
        if loops >> b.number & 1
        for n in b.nodes
        if n.op in ("load", "store") and not n.uniform
    )
    return loops if accesses <= _PATTERNED_LIMIT else 0


def _prologue(s: State) -> None:
    """Registers zeroed, lanes of the warp, and the jump to where a waiting warp goes on."""
    s.do("%cur = alloca i32")
    s.lines += s.reserved
    if s.flow.gives_way:
        s.do("%patience = alloca i32")
        s.do(f"store i32 {PATIENCE}, ptr %patience")
        s.do("%own = alloca i32")
        s.do(f"store i32 {PATIENCE}, ptr %own")
    for reg in s.program.regs:
        if s.live >> reg.number & 1:
            type_ = s.reg_type(reg)
            s.do(f"%r{reg.number} = alloca {type_}")
            zero = "0" if type_[0] == "i" else "zeroinitializer"
            s.do(f"store {type_} {zero}, ptr %r{reg.number}")
    for number in range(len(s.program.blocks)):
        if s.waits >> number & 1:
            s.do(f"%p{number} = alloca i32")
            s.do(f"store i32 0, ptr %p{number}")
            if number in s.meetings:
                s.do(f"%m{number} = alloca i64")
                s.do(f"store i64 0, ptr %m{number}")
    wide = s.op("zext i32 %warp to i64")
    s.set_slot(Slot.WARP, wide)
    if s.options.traced:
        s.set_identity("warp", "%warp")
        records.declare(s)
    pointer = s.slot_pointer(Slot.COUNTERS)
    s.do(f"%counters = load ptr, ptr {pointer}, !invariant.load !0")
    s.do(f"%first = mul i64 {wide}, 32")
    if s.program.local_bytes:
        base = s.invariant(Slot.LOCAL_BASE, "ptr")
        size = s.invariant(Slot.LOCAL_BYTES)
        own = s.op(f"getelementptr i8, ptr {base}, i64 {s.op(f'mul i64 %first, {size}')}")
        s.set_slot(Slot.LOCAL, own, "ptr")
    if s.resumes:
        frames = s.invariant(Slot.FRAMES, "ptr")
        start = s.op(f"mul i64 {wide}, {s.frame.bytes}")
        s.do(f"%frame = getelementptr i8, ptr {frames}, i64 {start}")
        cases = " ".join(f"i32 {n}, label %R{n}" for n in range(1, len(s.resumes) + 1))
        s.do(f"switch i32 %resume, label %start [ {cases} ]")
        for n, place in enumerate(s.resumes, 1):
            if isinstance(place, int):
                control_flow.go_on(s, n, place)
            else:
                control_flow.resume(s, n, place)
        s.start("start")
    s.set_slot(Slot.USED, "0")
    left = s.op(f"sub i64 {s.invariant(Slot.THREADS)}, %first")
    whole = s.op(f"icmp uge i64 {left}, 32")
    part = s.op(f"sub i64 {s.op(f'shl i64 1, {left}')}, 1")
    some = s.op(f"trunc i64 {part} to i32")
    s.do(f"store i32 {s.op(f'select i1 {whole}, i32 -1, i32 {some}')}, ptr %cur")
    s.do("br label %B0")


def _block(s: State, block: Block, *, is_loop_head: bool) -> None:
    s.begin_block()
    s.number = block.number
    s.start(f"B{block.number}")
    s.mask = s.op("load i32, ptr %cur")
    effects = EFFECTS | {"sync"} if s.options.checked is not None else EFFECTS
    used = used_nodes(block, s.flow.live_in, effects)
    wanted = [n for n in block.nodes if n in used]
    if loop_8_lanes.eligible(s, block, wanted):
        few_lanes = (
            loop_lane_serial.emit if loop_lane_serial.suits(s, wanted) else loop_8_lanes.emit
        )
        few_lanes(s, block, wanted)
    if is_loop_head:
        control_flow.use_fuel(s, block)
    if block.number in s.flow.gives_way:
        control_flow.give_way(s, block)
    active = s.call("i32", "llvm.ctpop.i32", ("i32", s.mask))
    s.count(2 * block.number, "1")
    s.count(2 * block.number + 1, s.op(f"zext i32 {active} to i64"))
    control_flow.meet(s, block.number)
    blend = live_in_any(s.flow.live_in, s.flow.pending[block.number])
    recorded = 0
    s.displacements = memory.groups(s, wanted)
    for n in wanted:
        if s.options.traced and isinstance(n.attr, Access):
            if recorded % records.UNCHECKED == 0:
                if recorded:
                    records.give_back(s)
                else:
                    s.words = records.words_of(s, s.mask)
                records.begin(s)
            recorded += 1
        nodes.emit(s, n, blend)
    if recorded:
        records.give_back(s)
    control_flow.terminate(s, block)
