"""Control information: decoded fields mean what they should in everything the compiler makes."""

import re
from collections import Counter
from dataclasses import dataclass

import pytest

from placewise.kernel.binary.cubin import CubinKernel, read_cubin
from placewise.kernel.binary.sass import Instruction, Memory, Register, read_listing
from placewise.kernel.binary.sass.classes import group, without_padding
from placewise.kernel.binary.sass.control import Control, control, is_confirmed
from placewise.kernel.binary.sass.live import live_registers
from placewise.kernel.binary.sass.printed import printed
from placewise.kernel.cases.case import CompileOptions
from placewise.kernel.frontends.nvrtc import compile_module
from placewise.kernel.toolchain import disassemble

SOURCE = """
extern "C" __global__ void tile(const float* a, const float* b, float* c, int n) {
    __shared__ float x[16][17], y[16][17];
    int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < n; t += 16) {
        x[threadIdx.y][threadIdx.x] = a[row * n + t + threadIdx.x];
        y[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * n + column];
        __syncthreads();
        for (int k = 0; k < 16; k++) sum += x[threadIdx.y][k] * y[k][threadIdx.x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}
extern "C" __global__ void walk(const int* next, const float* v, float* out, int n, int steps) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int s = 0; s < steps && at < n; s++) { sum += __sinf(v[at]) / v[at + 1]; at = next[at]; }
    sum += __shfl_xor_sync(~0u, sum, 1);
    atomicAdd(out, sum);
}
extern "C" __global__ void doubles(double* a, long long* b, int n) {
    int i = threadIdx.x;
    double own[24];
    for (int k = 0; k < 24; k++) own[k] = a[i + k] * k;
    for (int k = 0; k < n; k++) own[(k * 5) % 24] += sqrt(own[k % 24]) / 3;
    for (int k = 0; k < 24; k++) a[i + k] = own[k];
    b[i] = (long long)own[n % 24] + __popcll(b[i]);
}
"""
KERNELS = ("tile", "walk", "doubles")
TARGETS = (75, 80, 86, 89, 90, 100, 120)
FIXED = frozenset(
    ("IADD", "IADD3", "IMAD", "LOP3", "FADD", "FMUL", "FFMA", "MOV", "SEL", "SHF", "LEA",
     "ISETP", "PRMT", "FSETP", "FSEL", "FMNMX", "IMNMX", "VIADD", "VIMNMX", "PLOP3", "UIADD3",
     "ULOP3", "USHF", "ULEA", "UMOV", "UIMAD", "USEL", "UISETP")
)  # fmt: skip
"""Arithmetic that takes as long every time, so that a stall count is enough."""
LATE = frozenset(["LDG", "LDL", "LDS", "MUFU", "S2R", "POPC", "I2F", "ATOMG"])
"""What takes as long as it takes. Results of one unit come in order, so that the scoreboard of a
later instruction serves for earlier ones."""
LEAVES = frozenset(["BRA", "EXIT", "CALL", "RET", "BSYNC", "BRX", "JMP", "WARPSYNC"])


@dataclass(frozen=True)
class Code:
    target: int
    instructions: tuple[Instruction, ...]
    controls: tuple[Control, ...]
    text: dict[int, str]
    facts: CubinKernel


@pytest.fixture(scope="module", params=TARGETS, ids=lambda t: f"sm_{t}")
def codes(request):
    made = []
    options = CompileOptions(arch=f"sm_{request.param}")
    for kernel in compile_module(SOURCE, "control.cu", KERNELS, options):
        facts = read_cubin(kernel.cubin, kernel.entry)
        raw = disassemble(kernel.cubin, ("-c", "-json"))
        listing = read_listing(kernel.entry, facts.code, raw, {})
        instructions = without_padding(listing.instructions)
        controls = tuple(control(i.encoding) for i in instructions)
        text = dict(printed(raw, kernel.entry))
        made.append(Code(request.param, instructions, controls, text, facts))
    return made


def test_fields_stand_where_they_are_said_to():
    bits = 5 | 0 << 4 | 2 << 5 | 7 << 8 | 0b100001 << 11 | 0b0101 << 17
    assert control(bits << 105) == Control(5, True, 2, None, (0, 5), (0, 2))
    assert str(control(bits << 105)) == "B0----5 R- W2 Y S05"
    none = 15 | 1 << 4 | 7 << 5 | 3 << 8
    assert control(none << 105) == Control(15, False, None, 3, (), ())


def test_reuse_flags_are_those_that_the_disassembler_prints(codes):
    flags = 0
    for code in codes:
        for i, c in zip(code.instructions, code.controls, strict=True):
            assert code.text[i.offset].count(".reuse") == len(c.reuse), code.text[i.offset]
            flags += len(c.reuse)
    assert flags


def test_arithmetic_of_fixed_latency_uses_no_scoreboard(codes):
    for code in codes:
        for i, c in zip(code.instructions, code.controls, strict=True):
            if i.parts[0] in FIXED:
                assert c.write_barrier is None, code.text[i.offset]
                assert c.read_barrier is None, code.text[i.offset]


def test_what_comes_late_sets_a_scoreboard_that_its_user_waits_for(codes):
    checked = 0
    for code in codes:
        for n, i in enumerate(code.instructions):
            result = written(i)
            if i.parts[0] not in LATE or not result:
                continue
            board = code.controls[n].write_barrier
            for user, c in zip(code.instructions[n + 1 :], code.controls[n + 1 :], strict=True):
                if board in c.waits or user.parts[0] in LEAVES:
                    break
                assert not result & used(user), (code.text[i.offset], code.text[user.offset])
                if board is None and user.parts[0] == i.parts[0]:
                    board = c.write_barrier
            checked += board is not None
    assert checked > 10


def test_a_scoreboard_that_is_waited_for_was_set_on_some_way_there(codes):
    waits = 0
    for code in codes:
        before = scoreboards(code)
        for n, c in enumerate(code.controls):
            for board in c.waits:
                assert board in before[n], code.text[code.instructions[n].offset]
                waits += 1
    assert waits > 10


def test_results_of_fixed_latency_are_not_used_before_they_are_there(codes):
    """Four cycles at least from Volta on (Jia et al. 2018, section 2.1 and table 4.1)."""
    for code in codes:
        if not is_confirmed(code.target):
            continue
        for n, i in enumerate(code.instructions):
            result = written(i)
            if i.parts[0] not in ("FADD", "FFMA", "FMUL", "IADD3", "LOP3") or not result:
                continue
            cycles = code.controls[n].stall
            for user, c in zip(code.instructions[n + 1 :], code.controls[n + 1 :], strict=True):
                if user.parts[0] in LEAVES or result & written(user):
                    break
                if result & used(user):
                    assert cycles >= 4, (code.text[i.offset], code.text[user.offset])
                    break
                cycles += c.stall


def test_every_instruction_belongs_to_a_group(codes):
    for code in codes:
        counted = Counter(group(i.opcode) for i in code.instructions)
        assert sum(counted.values()) == len(code.instructions)
        assert not [i.opcode for i in code.instructions if group(i.opcode) == "other"]
    every = {group(i.opcode) for code in codes for i in code.instructions}
    wanted = {"fp32", "fp64", "integer", "global", "shared", "local", "special function", "control"}
    assert wanted <= every


def test_text_is_that_of_the_listing(codes):
    for code in codes:
        for i in code.instructions:
            assert i.opcode in code.text[i.offset]
        assert code.instructions[-1].opcode != "NOP"
    assert printed("[{}, []]", "missing") == {}


def test_no_more_registers_live_than_allocated():
    (kernel,) = compile_module(SOURCE, "control.cu", ["tile"], CompileOptions(arch="sm_86"))
    facts = read_cubin(kernel.cubin, kernel.entry)
    live = live_registers(disassemble(kernel.cubin, ("-c", "-lrm", "count")), kernel.entry)
    # All but what fills up the section.
    assert set(range(0, len(facts.code), 16)) - set(live) <= set(
        range(len(live) * 16, len(facts.code), 16)
    )
    assert facts.registers - 8 <= max(n.general for n in live.values()) <= facts.registers
    assert max(n.predicate for n in live.values()) >= 1
    assert live_registers("", kernel.entry) == {}


def written(i):
    """General registers that an instruction writes, where its first operand says it."""
    if not i.operands or not isinstance(i.operands[0], Register):
        return set()
    target = i.operands[0]
    if target.file != "R" or target.number is None:
        return set()
    width = {"64": 2, "128": 4}.get(next((p for p in i.parts if p in ("64", "128")), ""), 1)
    width = 2 if {"WIDE", "F64", "S64", "U64"} & set(i.parts) else width
    return set(range(target.number, target.number + width))


def used(i):
    """General registers that an instruction reads, without the upper ones of pairs."""
    found = set()
    for operand in i.operands[1:] if written(i) else i.operands:
        for r in (operand, operand.base) if isinstance(operand, Memory) else (operand,):
            if isinstance(r, Register) and r.file == "R" and r.number is not None:
                found.add(r.number)
    return found


def scoreboards(code):
    """Scoreboards that may have been set before each instruction."""
    count = len(code.instructions)
    places = {i.offset: n for n, i in enumerate(code.instructions)}
    functions = {f.name: f.offset for f in code.facts.functions}
    calls = [n for n, i in enumerate(code.instructions) if i.parts[0] == "CALL"]
    tables = {b.offset: b.targets for b in code.facts.indirect_branches}
    before = [set() for _ in code.instructions]
    waiting = list(range(count))
    while waiting:
        n = waiting.pop()
        i, c = code.instructions[n], code.controls[n]
        state = (before[n] | {c.write_barrier, c.read_barrier}) - {None}
        text = code.text[i.offset]
        following = {n + 1}
        if i.parts[0] in ("BRA", "BSSY", "CALL"):
            following |= {places.get(int(x, 16)) for x in re.findall(r"\b0x[0-9a-f]+", text)}
        following |= {places[at] for name, at in functions.items() if name in text}
        following |= {places[t] for t in tables.get(i.offset, ())}
        if i.parts[0] == "RET":
            following |= {call + 1 for call in calls}
        for m in following - {None, count}:
            if not state <= before[m]:
                before[m] |= state
                waiting.append(m)
    return before
