"""The function that runs one warp: blocks, registers, and the way from block to block."""

from __future__ import annotations

from dataclasses import dataclass, field

from placewise.execute.codegen import elementwise, warpops
from placewise.execute.codegen.access import Kind, kind_of
from placewise.execute.codegen.atomics import name_of
from placewise.execute.codegen.text import LLVM, Values, vector
from placewise.execute.ir import (
    BITS,
    ELEMENTWISE,
    Access,
    Barrier,
    Block,
    Branch,
    Exit,
    Jump,
    Node,
    Program,
    Reg,
    Switch,
    Trap,
)
from placewise.execute.layout import WINDOW_SHIFT, WINDOW_WORDS, WINDOWS, Fault, Slot
from placewise.execute.uniform import EXIT, Flow, live_in_any, targets

_SPECIAL_SLOT = {
    "ntid": Slot.NTID,
    "ctaid": Slot.CTAID,
    "nctaid": Slot.NCTAID,
}


@dataclass(frozen=True)
class Options:
    """What the generated code depends on beside the program."""

    traced: frozenset[str]
    """Spaces whose accesses are recorded; empty without a consumer."""
    parallel: bool
    """Blocks run on several cores: use the host's atomics."""
    large: bool
    """Some array has 2 GiB or more."""
    texture_channels: tuple[int, ...]
    """Per memory site that reads a texture, its 32-bit channels."""


@dataclass
class Needs:
    """Helpers that the code calls."""

    scalar_loads: set[Kind] = field(default_factory=set)
    vector_loads: set[Kind] = field(default_factory=set)
    stores: set[Kind] = field(default_factory=set)
    atomics: dict[str, Access] = field(default_factory=dict)
    matches: set[int] = field(default_factory=set)
    permute: bool = False


@dataclass(frozen=True)
class Frame:
    """Where registers are kept while a warp waits at a barrier; offset 0 holds the lane mask."""

    offsets: dict[int, int]
    bytes: int


def frame_of(program: Program, flow: Flow) -> Frame:
    """Registers that live across a barrier, each with its place in a warp's frame."""
    saved = 0
    for block in program.blocks:
        if isinstance(block.terminator, Barrier):
            saved |= flow.live_in[block.terminator.target]
    offsets: dict[int, int] = {}
    end = 64
    for reg in program.regs:
        if saved >> reg.number & 1:
            offsets[reg.number] = end
            size = BITS[reg.type] * 4 if flow.varying >> reg.number & 1 else 8
            end += -(-max(size, 8) // 64) * 64
    return Frame(offsets, end)


class WarpFunction:
    """Emits ``@warp(ctx, warp, resume)``.

    It returns 0 when all lanes have ended, a positive number where to go on after a barrier, and
    -1 when the run is to stop.
    """

    def __init__(
        self, program: Program, flow: Flow, options: Options, declarations: set[str]
    ) -> None:
        self.program = program
        self.flow = flow
        self.options = options
        self.v = Values(declarations)
        self.needs = Needs()
        self.frame = frame_of(program, flow)
        self.resumes: list[Barrier] = []
        self.mask = ""
        self._flags = ""
        self._leaving: int | None = None
        self._pairs: dict[str, str] = {}
        """Values of nodes that have two, by node and number."""
        self._results: dict[int, tuple[str, str]] = {}
        """LLVM type and name of nodes whose value is a struct."""
        self.counted_sites: set[int] = set()
        """Sites that do not run with their block, and count for themselves."""
        self.waits = 0
        for p in flow.pending:
            self.waits |= p
        live = 0
        for block in flow.live_in:
            live |= block
        self.live = live
        self.back_targets = {
            s
            for b in program.blocks
            for group in targets(program, b.number, flow.exits)
            for s in group
            if s != EXIT and s <= b.number
        }

    # --- registers

    def reg_type(self, reg: Reg) -> str:
        """LLVM type that a register is kept in: lane masks for predicates."""
        if not self.flow.varying >> reg.number & 1:
            return reg.type
        return "i32" if reg.type == "i1" else vector(reg.type)

    def _get(self, n: Node) -> None:
        assert isinstance(n.attr, Reg)
        value = self.v.op(f"load {self.reg_type(n.attr)}, ptr %r{n.attr.number}")
        if n.attr.type == "i1" and not n.uniform:
            self.v.set_mask(n, value)
        else:
            self.v.set(n, value)

    def _set(self, n: Node, blend: int) -> None:
        """Write a register at the end of a block; lanes waiting for the old value keep it."""
        reg, value = n.attr, n.args[0]
        assert isinstance(reg, Reg)
        v = self.v
        if not self.flow.varying >> reg.number & 1:
            v.do(f"store {reg.type} {v.scalar(value)}, ptr %r{reg.number}")
            return
        keep = bool(blend >> reg.number & 1)
        if reg.type == "i1":
            new = v.mask(value)
            if keep:
                old = v.op(f"load i32, ptr %r{reg.number}")
                mine = v.op(f"and i32 {new}, {self.mask}")
                others = v.op(f"and i32 {old}, {v.op(f'xor i32 {self.mask}, -1')}")
                new = v.op(f"or i32 {mine}, {others}")
            v.do(f"store i32 {new}, ptr %r{reg.number}")
            return
        type_ = vector(reg.type)
        new = v.vector(value)
        if keep:
            old = v.op(f"load {type_}, ptr %r{reg.number}")
            new = v.op(f"select <32 x i1> {self._lanes()}, {type_} {new}, {type_} {old}")
        v.do(f"store {type_} {new}, ptr %r{reg.number}")

    def _lanes(self) -> str:
        """The block's mask as flags."""
        if not self._flags:
            self._flags = self.v.op(f"bitcast i32 {self.mask} to <32 x i1>")
        return self._flags

    # --- the function

    def emit(self) -> str:
        """The function's text."""
        v = self.v
        for block in self.program.blocks:
            self._block(block)
        body = v.lines
        v.lines = []
        self._prologue()
        prologue = v.lines
        head = "define internal i32 @warp(ptr %ctx, i32 %warp, i32 %resume) noinline #0 {"
        return "\n".join([head, *prologue, *body, "}"])

    def _prologue(self) -> None:
        v = self.v
        v.do("%cur = alloca i32")
        for reg in self.program.regs:
            if self.live >> reg.number & 1:
                type_ = self.reg_type(reg)
                v.do(f"%r{reg.number} = alloca {type_}")
                v.do(
                    f"store {type_} {'0' if type_[0] == 'i' else 'zeroinitializer'}, ptr %r{reg.number}"
                )
        for number in range(len(self.program.blocks)):
            if self.waits >> number & 1:
                v.do(f"%p{number} = alloca i32")
                v.do(f"store i32 0, ptr %p{number}")
        wide = v.op("zext i32 %warp to i64")
        v.set_slot(Slot.WARP, wide)
        v.do(f"%counters = {self._slot_load(Slot.COUNTERS, 'ptr')}")
        first = v.op(f"mul i64 {wide}, 32")
        v.do(f"%first = add i64 {first}, 0")
        if self.program.local_bytes:
            base = v.slot(Slot.LOCAL_BASE, "ptr", invariant=True)
            size = v.slot(Slot.LOCAL_BYTES, invariant=True)
            own = v.op(f"getelementptr i8, ptr {base}, i64 {v.op(f'mul i64 {first}, {size}')}")
            v.set_slot(Slot.LOCAL, own, "ptr")
        if self.resumes:
            frames = v.slot(Slot.FRAMES, "ptr", invariant=True)
            start = v.op(f"mul i64 {wide}, {self.frame.bytes}")
            v.do(f"%frame = getelementptr i8, ptr {frames}, i64 {start}")
            cases = " ".join(f"i32 {n}, label %R{n}" for n in range(1, len(self.resumes) + 1))
            v.do(f"switch i32 %resume, label %start [ {cases} ]")
            for n, barrier in enumerate(self.resumes, 1):
                self._resume(n, barrier)
            v.start("start")
        v.set_slot(Slot.USED, "0")
        threads = v.slot(Slot.THREADS, invariant=True)
        left = v.op(f"sub i64 {threads}, %first")
        whole = v.op(f"icmp uge i64 {left}, 32")
        part = v.op(f"sub i64 {v.op(f'shl i64 1, {left}')}, 1")
        some = v.op(f"trunc i64 {part} to i32")
        v.do(f"store i32 {v.op(f'select i1 {whole}, i32 -1, i32 {some}')}, ptr %cur")
        v.do("br label %B0")

    def _slot_load(self, slot: Slot, type_: str) -> str:
        pointer = self.v.slot_pointer(slot)
        return f"load {type_}, ptr {pointer}, !invariant.load !0"

    def _block(self, block: Block) -> None:
        v = self.v
        v.forget()
        self._flags = ""
        v.start(f"B{block.number}")
        self.mask = v.op("load i32, ptr %cur")
        if block.number in self.back_targets:
            self._fuel(block)
        self._count(block)
        used = _used(block, self.flow.live_in)
        blend = live_in_any(self.flow.live_in, self.flow.pending[block.number])
        for n in block.nodes:
            if n in used:
                self._node(n, blend)
        self._terminate(block)

    def _fuel(self, block: Block) -> None:
        v = self.v
        pointer = v.slot_pointer(Slot.FUEL)
        fuel = v.op(f"load i64, ptr {pointer}")
        left = v.op(f"sub i64 {fuel}, {max(block.instructions, 1)}")
        v.do(f"store i64 {left}, ptr {pointer}")
        refuel, stop, on = v.label(), v.label(), v.label()
        v.do(f"br i1 {v.op(f'icmp sgt i64 {left}, 0')}, label %{on}, label %{refuel}, !prof !1")
        v.start(refuel)
        ends = v.op(f"call i1 @refuel(ptr %ctx, i32 {-2 - block.number})")
        v.do(f"br i1 {ends}, label %{stop}, label %{on}")
        v.start(stop)
        v.do("ret i32 -1")
        v.start(on)

    def _count(self, block: Block) -> None:
        """Executions of the block by warps and by threads."""
        active = self.v.call("i32", "llvm.ctpop.i32", ("i32", self.mask))
        self._add(2 * block.number, "1")
        self._add(2 * block.number + 1, self.v.op(f"zext i32 {active} to i64"))

    def _add(self, counter: int, value: str) -> None:
        v = self.v
        pointer = v.op(f"getelementptr i64, ptr %counters, i64 {counter}")
        total = v.op(f"add i64 {v.op(f'load i64, ptr {pointer}')}, {value}")
        v.do(f"store i64 {total}, ptr {pointer}")

    # --- nodes

    def _node(self, n: Node, blend: int) -> None:
        op = n.op
        if op in ELEMENTWISE:
            if n.type == "i1" and op in ("and", "or", "xor") and not n.uniform:
                self._logic(n)
            else:
                elementwise.emit(self.v, n)
        elif op == "get":
            self._get(n)
        elif op == "set":
            self._set(n, blend)
        elif op == "special":
            self._special(n)
        elif op == "param":
            self._param(n)
        elif op == "part":
            self._part(n)
        elif op in ("load", "store", "atomic", "texture"):
            self._memory(n)
        elif op != "const":
            self._warp_op(n)

    def _logic(self, n: Node) -> None:
        """Predicates are combined as masks, in scalar registers."""
        a, b = (self.v.mask(x) for x in n.args)
        self.v.set_mask(n, self.v.op(f"{n.op} i32 {a}, {b}"))

    def _special(self, n: Node) -> None:
        v = self.v
        name = str(n.attr)
        head, _, axis = name.partition(".")
        if head == "tid":
            table = v.slot(Slot.TID + "xyz".index(axis), "ptr", invariant=True)
            place = v.op(f"getelementptr i32, ptr {table}, i64 %first")
            type_ = "i32" if n.uniform else "<32 x i32>"
            v.set(n, v.op(f"load {type_}, ptr {place}, align 4"))
        elif head in _SPECIAL_SLOT:
            wide = v.slot(_SPECIAL_SLOT[head] + "xyz".index(axis))
            v.set(n, v.op(f"trunc i64 {wide} to i32"))
        elif head == "laneid":
            v.set(n, warpops._LANE)
        elif head == "warpid":
            v.set(n, "%warp")
        elif head.startswith("lanemask"):
            v.set(n, _lanemask(head.removeprefix("lanemask_")))
        elif head == "clock":
            pointer = v.slot_pointer(Slot.CLOCK)
            now = v.op(f"add i64 {v.op(f'load i64, ptr {pointer}')}, 1")
            v.do(f"store i64 {now}, ptr {pointer}")
            v.set(n, now)
        else:
            slot = {
                "nwarpid": Slot.WARPS,
                "dynamic_shared": Slot.DYNAMIC_SHARED,
                "total_shared": Slot.SHARED_BYTES,
            }.get(head)
            value = "0" if slot is None else v.op(f"trunc i64 {v.slot(slot)} to i32")
            v.set(n, "1" if head == "nsmid" else value)

    def _param(self, n: Node) -> None:
        v = self.v
        params = v.slot(Slot.PARAMS, "ptr", invariant=True)
        place = v.op(f"getelementptr i8, ptr {params}, i64 {n.attr}")
        v.set(n, v.op(f"load {n.type}, ptr {place}, align 1, !invariant.load !0"))

    def _part(self, n: Node) -> None:
        v = self.v
        whole = n.args[0]
        key = f"{whole.number}.{n.attr}"
        if whole.op in ("shuffle", "match"):
            v.set(n, self._pairs[key])
            return
        type_, text = self._results[whole.number]
        v.set(n, v.op(f"extractvalue {type_} {text}, {n.attr}"))

    def _warp_op(self, n: Node) -> None:
        v = self.v
        if n.op == "shuffle":
            self.needs.permute = True
            value, fine = warpops.shuffle(v, n)
            self._pairs[f"{n.number}.0"], self._pairs[f"{n.number}.1"] = value, fine
        elif n.op == "vote":
            v.set(n, warpops.vote(v, n, self.mask))
        elif n.op == "activemask":
            v.set(n, self.mask)
        elif n.op == "reduce":
            v.set(n, warpops.reduce(v, n, self.mask))
        elif n.op == "match":
            bits = BITS[n.args[0].type]
            self.needs.matches.add(bits)
            value = v.vector(n.args[0])
            found = v.op(
                f"call fastcc <32 x i32> @match.{bits}(<32 x i{bits}> {value}, i32 {self.mask})"
            )
            if n.attr == "all":
                lane = v.call("i32", "llvm.cttz.i32", ("i32", self.mask), ("i1", "false"))
                first = v.op(f"extractelement <32 x i32> {found}, i32 {lane}")
                every = v.op(f"icmp eq i32 {first}, {self.mask}")
                mask = v.op(f"select i1 {every}, i32 {self.mask}, i32 0")
                self._pairs[f"{n.number}.0"], self._pairs[f"{n.number}.1"] = mask, every
            else:
                self._pairs[f"{n.number}.0"] = found
        else:
            raise AssertionError(n.op)

    # --- memory

    def _memory(self, n: Node) -> None:
        """Call the helper, under a guard only if it holds in some lane."""
        v = self.v
        access = n.attr
        assert isinstance(access, Access)
        plain = {"load": 1, "store": 1 + access.count, "texture": 2}.get(n.op)
        if plain is None:
            plain = 3 if access.operation == "cas" else 2
        guarded = len(n.args) > plain
        mask = self.mask
        if n.op == "texture":
            self._texture(n, access, guarded)
            return
        if guarded:
            mask = v.op(f"and i32 {self.mask}, {v.mask(n.args[-1])}")
        operands = self._operands(n, access, plain)
        self._call_helper(n, access, mask, operands, guarded=guarded)

    def _operands(self, n: Node, access: Access, plain: int) -> list[str]:
        """Address (offset added) and values, as text."""
        v = self.v
        address = n.args[0]
        type_ = address.type
        if n.op == "load" and n.uniform:
            text = v.scalar(address)
            if access.offset:
                text = v.op(f"add {type_} {text}, {access.offset}")
            return [text]
        text = v.vector(address)
        if access.offset:
            text = v.op(f"add <32 x {type_}> {text}, splat ({type_} {access.offset})")
        return [text, *(v.vector(a) for a in n.args[1:plain])]

    def _call_helper(
        self, n: Node, access: Access, mask: str, operands: list[str], *, guarded: bool
    ) -> None:
        v = self.v
        traced = access.space in self.options.traced
        if n.op == "atomic":
            element = f"i{access.bits}"
            result = f"<32 x {element}>"
            name = name_of(access, traced=traced, parallel=self._parallel(access))
            self.needs.atomics[name] = access
            values = [*operands[1:], "zeroinitializer"][:2]
            tail = "".join(f", {result} {x}" for x in values)
            address = "i32" if access.space == "shared" else "i64"
            call = (
                f"call fastcc {result} {name}(ptr %ctx, <32 x {address}> {operands[0]}, "
                f"i32 {mask}, i32 {access.site}{tail})"
            )
        else:
            kind = kind_of(access, traced=traced)
            one = f"<32 x {kind.element}>"
            if n.op == "store":
                self.needs.stores.add(kind)
                result, name = "void", kind.name
            elif n.uniform:
                self.needs.scalar_loads.add(kind)
                result, name = kind.scalar_result, kind.name + ".one"
            else:
                self.needs.vector_loads.add(kind)
                result, name = kind.vector_result, kind.name
            where = kind.address if n.uniform and n.op == "load" else f"<32 x {kind.address}>"
            tail = "".join(f", {one} {x}" for x in operands[1:])
            call = (
                f"call fastcc {result} {name}(ptr %ctx, {where} {operands[0]}, i32 {mask}, "
                f"i32 {access.site}{tail})"
            )
        self._guarded_call(n, access, call, result, mask, guarded=guarded)

    def _guarded_call(
        self, n: Node, access: Access, call: str, result: str, mask: str, *, guarded: bool
    ) -> None:
        v = self.v
        if guarded:
            before, yes, on = v.label(), v.label(), v.label()
            v.do(f"br label %{before}")
            v.start(before)
            v.do(f"br i1 {v.op(f'icmp ne i32 {mask}, 0')}, label %{yes}, label %{on}")
            v.start(yes)
            self._add(2 * len(self.program.blocks) + access.site, "1")
            self.counted_sites.add(access.site)
        if result == "void":
            v.do(call)
            value = ""
        else:
            value = v.op(call)
        if guarded:
            v.do(f"br label %{on}")
            v.start(on)
            if value:
                value = v.op(f"phi {result} [ zeroinitializer, %{before} ], [ {value}, %{yes} ]")
        if value:
            if access.count > 1:
                self._results[n.number] = (result, value)
            else:
                v.set(n, value)

    def _parallel(self, access: Access) -> bool:
        return self.options.parallel and access.space != "shared"

    def _texture(self, n: Node, access: Access, guarded: bool) -> None:
        """An element read: a vector load from the texture's window, 0 outside of it."""
        v = self.v
        channels = self.options.texture_channels[access.site]
        handle, index = n.args[0], v.vector(n.args[1])
        base = v.vector(handle)
        wide = v.op(f"zext <32 x i32> {index} to <32 x i64>")
        offset = v.op(f"mul <32 x i64> {wide}, splat (i64 {4 * channels})")
        address = v.op(f"add <32 x i64> {base}, {offset}")
        first = v.op(f"extractelement <32 x i64> {base}, i32 {self._first()}")
        size = v.splat("i64", self._window_bytes(first))
        inside = v.op(f"icmp ult <32 x i64> {offset}, {size}")
        mask = v.op(f"and i32 {self.mask}, {v.op(f'bitcast <32 x i1> {inside} to i32')}")
        if guarded:
            mask = v.op(f"and i32 {mask}, {v.mask(n.args[2])}")
        kind = Kind("load", "windowed", 32, channels, "texture" in self.options.traced)
        self.needs.vector_loads.add(kind)
        result = kind.vector_result
        before, yes, on = v.label(), v.label(), v.label()
        v.do(f"br label %{before}")
        v.start(before)
        v.do(f"br i1 {v.op(f'icmp ne i32 {mask}, 0')}, label %{yes}, label %{on}")
        v.start(yes)
        self._add(2 * len(self.program.blocks) + access.site, "1")
        loaded = v.op(
            f"call fastcc {result} {kind.name}(ptr %ctx, <32 x i64> {address}, i32 {mask}, "
            f"i32 {access.site})"
        )
        v.do(f"br label %{on}")
        v.start(on)
        loaded = v.op(f"phi {result} [ zeroinitializer, %{before} ], [ {loaded}, %{yes} ]")
        flags = v.op(f"bitcast i32 {mask} to <32 x i1>")
        four = "{ " + ", ".join(["<32 x i32>"] * 4) + " }"
        whole = "zeroinitializer"
        for c in range(channels):
            part = loaded if channels == 1 else v.op(f"extractvalue {result} {loaded}, {c}")
            part = v.op(f"select <32 x i1> {flags}, <32 x i32> {part}, <32 x i32> zeroinitializer")
            whole = v.op(f"insertvalue {four} {whole}, <32 x i32> {part}, {c}")
        self._results[n.number] = (four, whole)
        self.counted_sites.add(access.site)

    def _first(self) -> str:
        return self.v.call("i32", "llvm.cttz.i32", ("i32", self.mask), ("i1", "false"))

    def _window_bytes(self, address: str) -> str:
        v = self.v
        window = v.op(f"and i64 {v.op(f'lshr i64 {address}, {WINDOW_SHIFT}')}, {WINDOWS - 1}")
        table = v.slot(Slot.WINDOWS, "ptr", invariant=True)
        entry = v.op(f"getelementptr [{WINDOW_WORDS} x i64], ptr {table}, i64 {window}")
        place = v.op(f"getelementptr i64, ptr {entry}, i64 1")
        return v.op(f"load i64, ptr {place}, !invariant.load !0")

    # --- from block to block

    def _terminate(self, block: Block) -> None:
        v = self.v
        t = block.terminator
        waiting = self.flow.pending[block.number]
        place = self._place
        if isinstance(t, Jump):
            self._go([(place(t.target), self.mask)], waiting)
        elif isinstance(t, Exit):
            self._go([(EXIT, self.mask)], waiting)
        elif isinstance(t, Trap):
            v.do(
                f"call void @fault(ptr %ctx, i64 {int(Fault.TRAP)}, i32 {-2 - block.number}, "
                f"i32 {self._first()}, i64 0)"
            )
            v.do("ret i32 -1")
        elif isinstance(t, Barrier):
            self._barrier(block, t)
        elif isinstance(t, Branch):
            if t.condition.uniform:
                yes, no = v.label(), v.label()
                v.do(f"br i1 {v.scalar(t.condition)}, label %{yes}, label %{no}")
                for label, target in ((yes, t.taken), (no, t.other)):
                    v.start(label)
                    self._go([(place(target), self.mask)], waiting)
            else:
                condition = v.mask(t.condition)
                taken = v.op(f"and i32 {self.mask}, {condition}")
                other = v.op(f"and i32 {self.mask}, {v.op(f'xor i32 {condition}, -1')}")
                self._go([(place(t.taken), taken), (place(t.other), other)], waiting)
        else:
            self._switch(t, waiting)

    def _place(self, target: int) -> int:
        if self.flow.exits >> target & 1:
            self._leaving = target
            return EXIT
        return target

    def _switch(self, t: Switch, waiting: int) -> None:
        v = self.v
        last = len(t.targets) - 1
        if t.index.uniform:
            labels = [v.label() for _ in t.targets]
            cases = " ".join(f"i32 {k}, label %{label}" for k, label in enumerate(labels[:-1]))
            v.do(f"switch i32 {v.scalar(t.index)}, label %{labels[-1]} [ {cases} ]")
            for label, target in zip(labels, t.targets, strict=True):
                v.start(label)
                self._go([(self._place(target), self.mask)], waiting)
            return
        index = v.vector(t.index)
        masks: dict[int, str] = {}
        left = self.mask
        for k, target in enumerate(t.targets):
            if k < last:
                equal = v.op(f"icmp eq <32 x i32> {index}, splat (i32 {k})")
                here = v.op(f"and i32 {v.op(f'bitcast <32 x i1> {equal} to i32')}, {self.mask}")
                left = v.op(f"and i32 {left}, {v.op(f'xor i32 {here}, -1')}")
            else:
                here = left
            at = self._place(target)
            masks[at] = v.op(f"or i32 {masks[at]}, {here}") if at in masks else here
        self._go(list(masks.items()), waiting)

    def _go(self, group: list[tuple[int, str]], waiting: int) -> None:
        """Send lanes to their targets and go on with the first block that lanes wait for."""
        v = self.v
        masks: dict[int, str] = {}
        ends = False
        for target, mask in group:
            if target == EXIT:
                ends = True
                self._count_exit(mask)
            elif target in masks:
                masks[target] = v.op(f"or i32 {masks[target]}, {mask}")
            else:
                masks[target] = mask
        candidates = waiting
        for target in masks:
            candidates |= 1 << target
        for target in list(masks):
            if self.waits >> target & 1:
                old = v.op(f"load i32, ptr %p{target}")
                masks[target] = v.op(f"or i32 {old}, {masks[target]}")
                v.do(f"store i32 {masks[target]}, ptr %p{target}")
        last = len(self.program.blocks) if ends else max(masks)
        rest = candidates
        while rest:
            low = rest & -rest
            at = low.bit_length() - 1
            if at > last:
                break
            rest ^= low
            mask = masks.get(at) or v.op(f"load i32, ptr %p{at}")
            if at == last:
                self._enter(at, mask)
                return
            yes, no = v.label(), v.label()
            v.do(f"br i1 {v.op(f'icmp ne i32 {mask}, 0')}, label %{yes}, label %{no}")
            v.start(yes)
            self._enter(at, mask)
            v.start(no)
        v.do("ret i32 0")

    def _enter(self, target: int, mask: str) -> None:
        v = self.v
        if self.waits >> target & 1:
            v.do(f"store i32 0, ptr %p{target}")
        v.do(f"store i32 {mask}, ptr %cur")
        v.do(f"br label %B{target}")

    def _count_exit(self, mask: str) -> None:
        """Lanes that end execute the exit instruction of the block they would go to."""
        if self._leaving is None:
            return
        v = self.v
        some = v.op(f"zext i1 {v.op(f'icmp ne i32 {mask}, 0')} to i64")
        active = v.call("i32", "llvm.ctpop.i32", ("i32", mask))
        self._add(2 * self._leaving, some)
        self._add(2 * self._leaving + 1, v.op(f"zext i32 {active} to i64"))
        self._leaving = None

    # --- barriers

    def _barrier(self, block: Block, t: Barrier) -> None:
        """Save what lives on and return; lanes that are elsewhere make it an error."""
        v = self.v
        for number in range(len(self.program.blocks)):
            if self.flow.pending[block.number] >> number & 1:
                good, bad = v.label(), v.label()
                waiting = v.op(f"load i32, ptr %p{number}")
                v.do(f"br i1 {v.op(f'icmp eq i32 {waiting}, 0')}, label %{good}, label %{bad}")
                v.start(bad)
                v.do(
                    f"call void @fault(ptr %ctx, i64 {int(Fault.DIVERGENT_BARRIER)}, "
                    f"i32 {-2 - block.number}, i32 {self._first()}, i64 0)"
                )
                v.do("ret i32 -1")
                v.start(good)
        v.do(f"store i32 {self.mask}, ptr %frame")
        for reg in self._saved(t):
            type_ = self.reg_type(reg)
            value = v.op(f"load {type_}, ptr %r{reg.number}")
            place = v.op(f"getelementptr i8, ptr %frame, i64 {self.frame.offsets[reg.number]}")
            v.do(f"store {type_} {value}, ptr {place}, align 8")
        if t.reduce is not None:
            holds = v.op(f"and i32 {v.mask(t.reduce[1])}, {self.mask}")
            for slot, mask in ((Slot.RED_COUNT, holds), (Slot.RED_TOTAL, self.mask)):
                count = v.call("i32", "llvm.ctpop.i32", ("i32", mask))
                pointer = v.slot_pointer(slot)
                more = v.op(f"zext i32 {count} to i64")
                total = v.op(f"add i64 {v.op(f'load i64, ptr {pointer}')}, {more}")
                v.do(f"store i64 {total}, ptr {pointer}")
        self.resumes.append(t)
        v.do(f"ret i32 {len(self.resumes)}")

    def _saved(self, t: Barrier) -> list[Reg]:
        live = self.flow.live_in[t.target]
        skip = t.reduce[2].number if t.reduce else -1
        return [r for r in self.program.regs if live >> r.number & 1 and r.number != skip]

    def _resume(self, number: int, t: Barrier) -> None:
        v = self.v
        v.start(f"R{number}")
        v.do(f"store i32 {v.op('load i32, ptr %frame')}, ptr %cur")
        for reg in self._saved(t):
            type_ = self.reg_type(reg)
            place = v.op(f"getelementptr i8, ptr %frame, i64 {self.frame.offsets[reg.number]}")
            v.do(f"store {type_} {v.op(f'load {type_}, ptr {place}, align 8')}, ptr %r{reg.number}")
        if t.reduce is not None and self.live >> t.reduce[2].number & 1:
            count, total = v.slot(Slot.RED_COUNT_DONE), v.slot(Slot.RED_TOTAL_DONE)
            if t.reduce[0] == "popc":
                value = v.op(f"trunc i64 {count} to i32")
            else:
                test = f"eq i64 {count}, {total}" if t.reduce[0] == "and" else f"ne i64 {count}, 0"
                value = v.op(f"zext i1 {v.op(f'icmp {test}')} to i32")
            v.do(f"store i32 {value}, ptr %r{t.reduce[2].number}")
        v.do(f"br label %B{t.target}")


def _lanemask(which: str) -> str:
    everything = (1 << 32) - 1
    values = []
    for lane in range(32):
        below = (1 << lane) - 1
        values.append(
            {
                "eq": 1 << lane,
                "lt": below,
                "le": below | 1 << lane,
                "gt": everything & ~(below | 1 << lane),
                "ge": everything & ~below,
            }[which]
        )
    return "<" + ", ".join(f"i32 {x}" for x in values) + ">"


def _used(block: Block, live_in: list[int]) -> set[Node]:
    """Nodes whose value or effect is wanted."""
    live_out = 0
    for s in block.successors():
        live_out |= live_in[s]
    used: set[Node] = set()
    t = block.terminator
    roots: list[Node | None] = []
    if isinstance(t, Branch):
        roots.append(t.condition)
    elif isinstance(t, Switch):
        roots.append(t.index)
    elif isinstance(t, Barrier):
        roots += [t.number, t.threads, t.reduce[1] if t.reduce else None]
    used.update(n for n in roots if n is not None)
    for n in reversed(block.nodes):
        if n.op == "set":
            assert isinstance(n.attr, Reg)
            if live_out >> n.attr.number & 1:
                used.add(n)
        elif n.op in ("store", "atomic", "load", "texture"):
            used.add(n)
        if n in used:
            used.update(n.args)
    return used


__all__ = ["LLVM", "Frame", "Options", "WarpFunction", "frame_of"]
