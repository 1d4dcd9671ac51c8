"""Random CUDA C++ kernels whose results do not depend on the order in which threads run.

Kernels are free to overflow, divide by tiny numbers and convert out of range: both interpreters are
given the same PTX, which defines all of that. What PTX leaves open is never generated: integer
division by zero, races, shuffles from lanes that are not there, approximate instructions.
"""

from dataclasses import dataclass, field

import numpy as np
from hypothesis import strategies as st
from program_expressions import SIZED, TYPES, Expressions

from placewise.kernel.launch import ArrayArgument, Inputs, Launch, ScalarArgument

SHAPES = (
    ((2, 1, 1), (64, 1, 1)),
    ((2, 1, 1), (32, 1, 1)),
    ((1, 1, 1), (96, 1, 1)),
    ((1, 2, 1), (8, 8, 1)),
    ((2, 1, 1), (16, 2, 2)),
    ((2, 1, 1), (48, 1, 1)),
    ((1, 1, 2), (5, 7, 2)),
    ((3, 1, 1), (7, 1, 1)),
)

PRELUDE = """\
struct Pair { %(a)s a; %(b)s b; %(c)s c[2]; };
__device__ __noinline__ Pair mixed(Pair p, int k) {
    Pair q = p;
    q.a = (%(a)s)(p.a + (%(a)s)k);
    q.c[k & 1] = (%(c)s)p.b;
    if (k > 3) q.b = (%(b)s)(p.b - (%(b)s)p.c[0]);
    return q;
}
__device__ void largest(float* at, float value) {
    int old = __float_as_int(*(volatile float*)at), seen;
    do {
        seen = old;
        if (__int_as_float(seen) >= value) break;
        old = atomicCAS((int*)at, seen, __float_as_int(value));
    } while (old != seen);
}
"""

BINS = 16
ATOMICS = ("atomicAdd", "atomicMin", "atomicMax", "atomicAnd", "atomicOr", "atomicXor", "atomicInc")


@dataclass
class Kernel:
    """A generated kernel and what it is launched with."""

    source: str
    launch: Launch
    inputs: Inputs


@dataclass
class Writer(Expressions):
    """Draws statements; ``budget`` bounds how many."""

    threads: int = 0
    whole_warps: bool = False
    budget: int = 14
    loops: int = 0
    functions: list[str] = field(default_factory=list)

    def variable(self):
        type_ = self.pick(*[t for t in self.names if self.names[t]])
        return type_, self.pick(*self.names[type_])

    def block(self, together, most=3):
        lines = []
        for _ in range(self.number(1, most)):
            lines += self.statement(together)
        return ["    " + line for line in lines]

    def statement(self, together):
        """Lines of one statement; ``together`` where all threads of a block come by."""
        self.budget -= 1
        options = ["assign"] * 4
        if self.budget > 0:
            options += ["if", "if", "for", "while", "switch", "local", "pair", "atomic", "largest"]
            if together:
                options += ["exchange", "exchange", "vote", "uniform", "ballot", "tally"]
                if self.whole_warps:
                    options += ["shuffle", "shuffle", "reduce"]
        return getattr(self, "_" + self.pick(*options))(together)

    def _assign(self, together):
        type_, name = self.variable()
        op = self.pick("=", "=", "+=", "-=", "*=")
        return [f"{name} {op} {self.expression(type_, self.number(1, 3))};"]

    def _if(self, together):
        lines = [f"if ({self.condition(2)}) {{", *self.block(False)]
        if self.number(0, 1):
            lines += ["} else {", *self.block(False)]
        return [*lines, "}"]

    def _leave_loop(self):
        if not self.number(0, 1):
            return []
        return [f"    if ({self.condition(1)}) {self.pick('break', 'continue')};"]

    def _for(self, together):
        if self.loops == 2:
            return self._assign(together)
        self.loops += 1
        k = self.fresh("k")
        bound = f"(int)(({self.expression('int', 1)}) & {self.pick(3, 7)})"
        self.names.setdefault("int", []).append(k)
        body = [*self.block(False, 2), *self._leave_loop(), *self.block(False, 1)]
        self.names["int"].remove(k)
        self.loops -= 1
        end = self.fresh("end")
        # The counter itself may be written by the body, so a second one bounds the loop.
        return [
            f"for (int {k} = 0, {end} = 0; {k} < {bound} && {end} < 8; ++{k}, ++{end}) {{",
            *body,
            "}",
        ]

    def _while(self, together):
        if self.loops == 2:
            return self._assign(together)
        self.loops += 1
        end = self.fresh("end")
        lines = [f"int {end} = 0;", f"while ({self.condition(1)} && {end}++ < 6) {{"]
        lines += [*self.block(False, 2), *self._leave_loop(), "}"]
        self.loops -= 1
        return lines

    def _switch(self, together):
        lines = [f"switch ((int)({self.expression('int', 1)}) & 7) {{"]
        for case in range(self.number(2, 6)):
            type_, name = self.variable()
            lines += [f"case {case}:", f"    {name} = {self.expression(type_, 1)};"]
            if self.number(0, 3):
                lines.append("    break;")
        return [*lines, "default:", *self._assign(together), "}"]

    def _local(self, together):
        type_, name = self.variable()
        a = self.fresh("local")
        return [
            f"{type_} {a}[8];",
            f"for (int j = 0; j < 8; ++j) {a}[j] = {self.expression(type_, 1)};",
            f"{a}[(int)({self.expression('int', 1)}) & 7] = {self.expression(type_, 1)};",
            f"{name} = {a}[(int)({self.expression('int', 1)}) & 7];",
        ]

    def _pair(self, together):
        a, b, c = (self.expression(t, 1) for t in self.pair)
        p = self.fresh("pair")
        type_, name = self.variable()
        member = self.pick("a", "b", "c[0]", "c[1]")
        return [
            f"Pair {p} = {{{a}, {b}, {{{c}, {c}}}}};",
            f"{p} = mixed({p}, {self.expression('int', 1)});",
            f"{name} = ({type_}){p}.{member};",
        ]

    def _atomic(self, together):
        which = self.number(0, len(ATOMICS) - 1)
        index = f"{which * BINS} + ((unsigned)({self.expression('unsigned', 1)}) % {BINS})"
        value = "9u" if ATOMICS[which] == "atomicInc" else self.expression("unsigned", 1)
        where = self.pick("bins", "tallies")
        if self.number(0, 3) == 0:
            wide = f"(unsigned)({self.expression('unsigned', 1)}) % {BINS}"
            return [f"atomicAdd(&wide[{wide}], {self.expression('unsigned long long', 1)});"]
        return [f"{ATOMICS[which]}(&{where}[{index}], {value});"]

    def _largest(self, together):
        index = f"(unsigned)({self.expression('unsigned', 1)}) % {BINS}"
        return [f"largest(&peaks[{index}], (float)({self.expression('int', 1)}));"]

    def _tally(self, together):
        """Read what shared atomics have gathered so far."""
        type_, name = self.variable()
        index = f"(unsigned)({self.expression('unsigned', 1)}) % {BINS * len(ATOMICS)}"
        return ["__syncthreads();", f"{name} = ({type_})tallies[{index}];", "__syncthreads();"]

    def _exchange(self, together):
        type_, name = self.variable()
        index = f"(unsigned)({self.expression('unsigned', 1)}) % {self.threads}u"
        shared = self.fresh("shared")
        store = f"{shared}[tid] = {self.expression(type_, 1)};"
        return [
            f"__shared__ {type_} {shared}[{self.threads}];",
            store,
            "__syncthreads();",
            f"{name} = {shared}[{index}];",
            "__syncthreads();",
        ]

    def _vote(self, together):
        type_, name = self.variable()
        call = self.pick("__any_sync", "__all_sync", "__ballot_sync")
        if self.number(0, 3) == 0:
            call = self.pick("__syncthreads_count", "__syncthreads_or", "__syncthreads_and")
            return [f"{name} += ({type_}){call}({self.condition(1)});"]
        return [f"{name} += ({type_}){call}(0xffffffffu, {self.condition(1)});"]

    def _ballot(self, together):
        """Some lanes go on together under the mask of those that do."""
        m, inside = self.fresh("members"), self.fresh("inside")
        lines = [
            f"bool {inside} = {self.condition(1)};",
            f"unsigned {m} = __ballot_sync(0xffffffffu, {inside});",
            f"if ({inside}) {{",
        ]
        type_, name = self.variable()
        shuffled = type_ if type_ in ("int", "float", "double", "long long") else "int"
        source = self.pick(f"__ffs({m}) - 1", f"31 - __clz({m})")
        lines += [
            *self.block(False, 2),
            f"    __syncwarp({m});",
            f"    {name} = ({type_})__shfl_sync({m}, ({shuffled}){name}, {source});",
        ]
        if self.modern and self.number(0, 1):
            value = self.expression("unsigned", 1)
            op = self.pick("add", "min", "max", "and", "or", "xor")
            lines.append(f"    {name} += ({type_})__reduce_{op}_sync({m}, {value});")
        elif self.number(0, 1):
            value = self.expression("int", 1)
            lines.append(f"    {name} += ({type_})__match_any_sync({m}, ({value}) & 3);")
        return [*lines, "}"]

    def _shuffle(self, together):
        type_, name = self.variable()
        shuffled = type_ if type_ in ("int", "unsigned", "float", "double", "long long") else "int"
        width = self.pick(32, 16, 8, 4)
        call = self.pick("__shfl_sync", "__shfl_up_sync", "__shfl_down_sync", "__shfl_xor_sync")
        step = self.expression("int", 1) if call == "__shfl_sync" else self.number(0, 31)
        value = self.expression(shuffled, 1)
        return [f"{name} = ({type_}){call}(0xffffffffu, {value}, {step}, {width});"]

    def _reduce(self, together):
        k = self.fresh("k")
        return [
            f"for (int {k} = 16; {k}; {k} >>= 1)",
            f"    {self.names['int'][0]} += __shfl_down_sync(~0u, {self.names['int'][0]}, {k});",
        ]

    def _uniform(self, together):
        """Control flow that a whole block shares."""
        if self.loops == 2:
            return self._assign(together)
        self.loops += 1
        k = self.fresh("k")
        head = self.pick(
            f"for (int {k} = 0; {k} < (int)(n % 3) + 1; ++{k}) {{",
            f"for (int {k} = 0; {k} < 3; ++{k}) {{",
            "if (i_int[blockIdx.x] > 0) {",
            "if (blockIdx.x % 2 == 0) {",
        )
        lines = [head, *self.block(True, 2), "}"]
        self.loops -= 1
        return lines


def kernels(arch="sm_80"):
    """Strategy of :class:`Kernel`."""

    @st.composite
    def build(draw):
        data = draw(st.data())
        grid, block = data.draw(st.sampled_from(SHAPES))
        threads = block[0] * block[1] * block[2]
        n = threads * grid[0] * grid[1] * grid[2]
        w = Writer(data, threads=threads, whole_warps=threads % 32 == 0)
        w.modern = int(arch.removeprefix("sm_")) >= 80
        w.pair = [w.pick(*TYPES) for _ in range(3)]
        chosen = ["int", *data.draw(st.lists(st.sampled_from(list(TYPES)), min_size=1, max_size=4))]
        variables = []
        for number, type_ in enumerate(chosen):
            w.names.setdefault(type_, []).append(f"v{number}")
            variables.append((f"v{number}", type_))
        body = []
        for _ in range(w.number(1, 5)):
            body += w.statement(True)
        body += _tail(w, variables)
        source = _source(w, variables, body)
        seed = data.draw(st.integers(0, 999))
        return Kernel(source, Launch(grid, block), _inputs(n, variables, seed))

    return build()


def _tail(w, variables):
    lines = []
    for number, (name, type_) in enumerate(variables):
        if w.number(0, 4) == 0:
            lines.append(f"if ({w.condition(1)}) return;")
        lines.append(f"o_{SIZED[type_]}[{number} * n + gid] = {name};")
    return lines


def _source(w, variables, body):
    outputs = sorted({type_ for _, type_ in variables})
    parameters = [f"{t}* o_{SIZED[t]}" for t in outputs]
    parameters += [f"const {t}* __restrict__ i_{SIZED[t]}" for t in TYPES]
    parameters += ["unsigned* bins", "unsigned long long* wide", "float* peaks", "unsigned n"]
    tallies = BINS * len(ATOMICS)
    lines = [
        PRELUDE % dict(zip("abc", w.pair, strict=True)),
        f'extern "C" __global__ void k({", ".join(parameters)}) {{',
        "    unsigned tid = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);",
        "    unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);",
        f"    unsigned gid = block * {w.threads} + tid, lane = tid % 32;",
        f"    __shared__ unsigned tallies[{tallies}];",
        f"    for (int j = tid; j < {tallies}; j += {w.threads}) tallies[j] = j;",
        "    __syncthreads();",
        *(f"    {t} {name} = i_{SIZED[t]}[gid];" for name, t in variables),
        *("    " + line for line in body),
        "}",
    ]
    return "\n".join(lines) + "\n"


def _values(dtype, n, rng):
    kind = np.dtype(dtype)
    if kind.kind == "f":
        special = np.array(
            [0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 1e-40, 1e30, 0.1, 2**31], dtype
        )
        values = (rng.standard_normal(n) * 10.0 ** rng.integers(-3, 6, n)).astype(dtype)
        return np.where(rng.random(n) < 0.15, rng.choice(special, n), values)
    info = np.iinfo(kind)
    edges = np.array([0, 1, 2, info.max, info.min, info.max - 1], dtype)
    small = rng.integers(max(info.min, -40), 100, n, dtype=dtype)
    wide = rng.integers(info.min, info.max, n, dtype=dtype, endpoint=True)
    return np.choose(rng.integers(0, 3, n), [small, wide, rng.choice(edges, n)])


def _inputs(n, variables, seed):
    rng = np.random.default_rng(seed)
    arguments = [
        ArrayArgument(f"o_{SIZED[t]}", np.zeros(n * len(variables), TYPES[t]))
        for t in sorted({t for _, t in variables})
    ]
    arguments += [
        ArrayArgument(f"i_{SIZED[t]}", _values(dtype, n, rng).astype(dtype))
        for t, dtype in TYPES.items()
    ]
    arguments += [
        ArrayArgument("bins", np.arange(BINS * len(ATOMICS), dtype=np.uint32)),
        ArrayArgument("wide", np.zeros(BINS, np.uint64)),
        ArrayArgument("peaks", np.full(BINS, -1e9, np.float32)),
        ScalarArgument("n", np.uint32(n)),
    ]
    return Inputs(tuple(arguments))
