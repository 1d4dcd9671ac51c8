"""The kinds of statements of random programs: loops, pointers, guards, atomics, exits."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.rewrites.draw import SIMPLE, Draw, braced
from benchmarks.rewrites.program import HALO, TABLE, Param, Program, Sizes, Statement
from benchmarks.rewrites.row_statements import moved, read_rows, rows, runs, triangle


def plain(draw: Draw) -> Statement:
    """Straight reads."""
    return draw.statement([draw.update() for _ in range(draw.pick((1, 1, 2)))])


def loop(draw: Draw) -> Statement:
    """A loop over the columns in one of many forms."""
    k = draw.local("k") if draw.chance(0.5) else "k"
    body = [draw.update(k) for _ in range(draw.pick((1, 1, 2, 3)))]
    table = draw.array("table")
    t, member = table.name, table.element.member
    heads: list[Callable[[], list[str]]] = [
        lambda: braced(f"for (int {k} = 0; {k} < m; {k}++)", body),
        lambda: braced(f"for (int {k} = 0; {k} < m; ++{k})", body),
        lambda: [f"for (int {k} = 0; {k} < m; {k} += 1)", f"    {body[0]}"],
        lambda: braced(f"for (int {k} = 0; {k} < m; {k} += 2)", body),
        lambda: braced(f"for (int {k} = 1; {k} < m - 1; {k} += 3)", body),
        lambda: braced(f"for (int {k} = (int)m - 1; {k} >= 0; {k}--)", body),
        lambda: braced(f"for (unsigned {k} = 0; {k} < (unsigned)m; ++{k})", body),
        lambda: braced(f"for (size_t {k} = 0; {k} < m; ++{k})", body),
        lambda: braced(f"for (int {k} = threadIdx.x % 4; {k} < m; {k} += 4)", body),
        lambda: braced(f"for (int {k} = 0; {k} <= i && {k} < m; {k}++)", body),
        lambda: braced(f"for (int {k} = i % 2; {k} < m; {k} += 2)", body),
        lambda: [f"int {k}z = 0;", *braced(f"while ({k}z < m)",
                 [f"const int {k} = {k}z++;", *body])],
        lambda: [f"int {k};", *braced(f"for ({k} = 0; {k} < m; {k}++)", body)],
        lambda: braced(f"for (int {k} = 0; {k} < m; {k}++)",
                        [f"if ({k} == 3) continue;", *body]),
        lambda: braced(f"for (int {k} = 0; {k} < m; {k}++)",
                        [*body, "if (s > 1000) break;"]),
        lambda: braced(f"for (int {k} = 0; {k} < m; {k}++)",
                        [f"if ({k} > i) break;", *body]),
        lambda: braced(f"for (int {k} = 0; {k} < 16; {k}++)",
                        [f"if ({k} < m) {{", *(f"    {b}" for b in body), "}"]),
        lambda: braced(f"for (int {k}z = 0; {k}z < m; {k}z += 8)",
                        braced(f"for (int {k} = {k}z; {k} < {k}z + 8 && {k} < m; {k}++)", body)),
        lambda: braced(f"for (int {k}z = 0; {k}z < 2; {k}z++)",
                        braced(f"for (int {k} = 0; {k} < m; {k}++)", body)),
        lambda: braced(f"for (int {k} = 0; {k} < {draw.array('count').name}[i]; {k}++)",
                        body),
        lambda: braced(f"for (int {k} = 0, {k}z = 0; {k} < m; {k}++, {k}z += 2)",
                        [*body, f"s += {k}z & 1;"]),
        lambda: [f"for (int {k}z = 0; {k}z < 2; {k}z++)",
                 f"    for (int {k} = 0; {k} < m; {k}++)", f"        {body[0]}"],
        lambda: braced(f"for (int {k} = 0; {k} < m; {k}++) switch ({k} % 3)",
                        [f"case 0: {body[0]} break;", "case 1: s += 1;", f"default: {body[-1]}"]),
        lambda: [f"for (int {k} = 0; {k} < m; {k}++)", f"    if ({k} & 1) {{ {body[0]} }}",
                 f"    else {body[-1]}"],
        lambda: [f"int {k} = 0;", f"do {body[0]} while (++{k} < m);"],
        lambda: [f"for (int {k}z = 0; {k}z < m; {k}z += 4) {{ int {k} = {k}z;",
                 f"    do {body[0]} while (++{k} < {k}z + 4 && {k} < m); }}"],
        lambda: [f"int {k} = 5;", *braced("if (i % 3 == 0)",
                 braced(f"for ({k} = 0; {k} < m; {k}++)", body)), f"s += {k};"],
        lambda: braced(f"for (int {k} = 0; {t}[{k}]{member} < 6 && {k} < m; {k}++)", body),
        lambda: braced(f"for (int {k} = 0; {k} < m; s += {k}++)", body),
        lambda: braced(f"for (int {k} = -1; {k} < (unsigned)m; {k}++)", body),
        lambda: braced(f"for (int {k} = 0; {k} < m; {k}++)",
                        [body[0], f"if ({k} + 1 != m) s += {t}[{k} + 1]{member};"]),
        lambda: braced(f"for (unsigned {k} = 0; {k} < m; {k}++)",
                        [body[0], f"if ({k} != 0) s += {t}[{k} - 1]{member};"]),
        lambda: [f"for (int {k} = 0; {k} < m; {k}++) s += {t}[{k}]{member};",
                 f"for (int {k} = 1; {k} < m - 1; {k}++)",
                 f"    s += {t}[{k} - 1]{member} - {t}[{k} + 1]{member};"],
        lambda: braced(f"for (int {k}z = 0; {k}z < 2; {k}z++)",
                        [f"const int at = {k}z * 8;", *braced("", [f"int {k}z = 50;",
                         f"for (int {k} = 0; {k} < m; {k}++)",
                         f"    s += {t}[at + {k}]{member} + {k}z;"])]),
    ]  # fmt: skip
    # The plain loop, which chunks are made of, comes more often.
    return draw.statement(heads[0]() if draw.chance(0.35) else draw.pick(heads)())


def row_pointer(draw: Draw) -> Statement:
    """A pointer to a row: fixed, moved, declared first, or one of two."""
    a = draw.array("matrix")
    q, k, kind = draw.local("q"), draw.local("k"), a.declared.split()[0:2]
    const = "const " if kind[0] == "const" else ""
    element = "T" if draw.template and a.element.text == "float" else a.element.text
    pointer = f"{const}{element} *{q}"
    member = a.element.member
    start = draw.pick((f"{a.name} + i * p", f"&{a.name}[i * p]", f"{a.name} + (size_t)i * p"))
    count = f"for (int {k} = 0; {k} < m; {k}++)"
    step = f"for (int {k} = 0; {k} + 1 < m; {k} += 2)"
    fixed = f"{const}{element} *const {q}"
    forms = [
        [f"{pointer} = {start};", f"{count} s += {q}[{k}]{member};"],
        [f"{pointer} = {start};", *braced(count, [f"s += {q}[{k}]{member};", draw.update(k)])],
        [f"{fixed} = {start};", f"{count} s += {q}[m - 1 - {k}]{member};"],
        [f"{pointer} = {start};", *braced(count, [f"s += (*{q}){member};", f"{q}++;"])],
        [f"{pointer} = {start};", f"{count} s += (*{q}++){member};"],
        [f"{pointer} = {start};", *braced(step, [f"s += {q}[1]{member};", f"{q} += 2;"])],
        [f"{pointer};", f"{q} = {start};", f"{count} s += {q}[{k}]{member};"],
        [f"{pointer} = {start}, *{q}b = {a.name};", f"{count} s += {q}[{k}]{member} - {q}b[{k}]"
         f"{member};"],
        [f"{pointer} = (i & 1) ? {start} : {a.name};", f"{count} s += {q}[{k}]{member};"],
        [f"{pointer} = {a.name};", f"if (i > 2) {q} = {start};",
         f"{count} s += {q}[{k}]{member};"],
        [f"{pointer} = {start} + m;", f"{count} s += (*--{q}){member};"],
        [f"{pointer} = {a.name};", f"{q} += i * p;", f"{count} s += {q}[{k}]{member};"],
        [f"{pointer} = {a.name};",
         f"for (int {k} = 0; {k} < i; {k}++) {q} += p;", f"s += {q}[0]{member};"],
    ]  # fmt: skip
    return draw.statement(draw.pick(forms))


def guarded(draw: Draw) -> Statement:
    """Neighbours under a guard, some of it in unsigned arithmetic."""
    a = draw.array("row")
    name, member, u = a.name, a.element.member, draw.local("u")
    forms = [
        [f"if (i > 0) s += {name}[i - 1]{member};"],
        [f"if (i >= 2 && i + 2 < n) s += {name}[i - 2]{member} + {name}[i + 2]{member};"],
        [f"s += i > 0 ? {name}[i - 1]{member} : 0;"],
        [f"const unsigned {u} = i - 1;", f"if ({u} < (unsigned)n) s += {name}[{u}]{member};"],
        [f"const unsigned {u} = (unsigned)i + 0xfffffffeu;",
         f"if ({u} < (unsigned)n) s += {name}[{u}]{member};"],
        [f"for (int {u} = -2; {u} <= 2; {u}++)",
         f"    if (i + {u} >= 0 && i + {u} < n) s += {name}[i + {u}]{member};"],
        [f"for (int {u} = i - 1; {u} <= i + 1; {u}++)",
         f"    if ({u} >= 0 && {u} < n) s += {name}[{u}]{member};"],
        [f"const int {u} = i - 3;", f"if ({u} < 0) s += 1; else s += {name}[{u}]{member};"],
        [f"if (!(i + 1 >= n)) s += {name}[i + 1]{member};"],
        [f"if (i != 0) s += {name}[i - 1]{member};"],
        [f"s += i == n - 1 ? {name}[i]{member} : {name}[i + 1]{member};"],
        [f"if (i == 0 || i + 1 == n) s += 2; else s += {name}[i - 1]{member} - {name}[i + 1]"
         f"{member};"],
        [f"if (i + 1 >= n || {name}[i + 1]{member} > 0) s += 1;"],
        [f"if (i + 1 < n && {name}[i + 1]{member} > 0) s += 1;"],
        [f"int {u} = i;", f"if ({u} > 4) {u} -= 5;", f"s += {name}[{u}]{member};"],
        [f"const int {u} = ((i - 2) % n + n) % n;", f"s += {name}[{u}]{member};"],
        [f"const unsigned {u} = i;",
         f"if ({u} - 2 < (unsigned)n - 4) s += {name}[{u} - 2]{member} + {name}[{u} + 2]{member};"],
    ]  # fmt: skip
    return draw.statement(draw.pick(forms))


def window(draw: Draw) -> Statement:
    """A window of fixed width over an array with a halo."""
    a = draw.array("halo")
    name, member, d = a.name, a.element.member, draw.local("d")
    width = 2 * HALO + 1
    forms = [
        [f"for (int {d} = 0; {d} < {width}; {d}++) s += {name}[i + {d}]{member};"],
        [f"for (int {d} = -{HALO}; {d} <= {HALO}; {d}++)",
         f"    s += {name}[i + {HALO} + {d}]{member};"],
        [f"for (int {d} = 0; {d} < {width}; {d} += 2) s += {name}[i + {width} - 1 - {d}]{member};"],
        [f"s += {name}[i]{member} + {name}[i + {HALO}]{member} + {name}[i + 2 * {HALO}]{member};"],
        [f"#pragma unroll\n    for (int {d} = 0; {d} < {width}; ++{d})",
         f"    s += {name}[({d}) + i]{member};"],
    ]  # fmt: skip
    return draw.statement(draw.pick(forms))


def atomic(draw: Draw) -> Statement:
    """An update of bins that all blocks share."""
    bins = draw.array("bins")
    at, name = draw.bin(), bins.name
    one = draw.pick(("1", "2", "i & 3", "(i % 5)"))
    forms = [f"atomicAdd(&{name}[{at}], {one});", f"atomicAdd({name} + ({at}), {one});"]
    if not any(s.role == "bins" and s.name != name for s in draw.params):
        forms.append(f"if (i & 1) atomicAdd(&{name}[{at}], {one});")
    return draw.statement([draw.pick(forms)])


def extreme(draw: Draw) -> Statement:
    """Bins of their own with one other atomic function."""
    bins = draw.array("extremes", pick_from=())
    function = draw.pick(("atomicMax", "atomicMin", "atomicOr", "atomicAnd", "atomicXor"))
    return draw.statement([f"{function}(&{bins.name}[{draw.bin()}], i & 63);"])


def in_place(draw: Draw) -> Statement:
    """An element of the thread's own, updated."""
    a = draw.array("own")
    at = "i" if draw.dims == 1 else "i * p + j"
    forms = [
        [f"{a.name}[{at}] += 2;"],
        [f"{a.name}[{at}] = {a.name}[{at}] * 2 + 1;"],
        [f"{a.name}[{at}]++;"],
        [f"s += {a.name}[{at}]++;"],
        [f"if ({a.name}[{at}] > 3) {a.name}[{at}] -= 3;", f"s += {a.name}[{at}];"],
        [f"if (i & 1) {a.name}[{at}] = s;"],
    ]
    if draw.dims == 1:
        forms.append([f"for (int z = 0; z < 3; z++) {a.name}[i] += z;"])
        forms.append([f"if (i % 3) {{ {a.name}[i] = {draw.value()}; }}"])
    return draw.statement(draw.pick(forms))


def leave(draw: Draw) -> Statement:
    """An exit that depends on the data."""
    word = "continue" if draw.style == "stride" else "return"
    forms = [
        [f"if ({draw.value()} > 6) {word};"],
        [f"if (i == 5) {{ s += 1; {word}; }}"],
        [f"if ((i & 7) == 7 && s > 2) {word};"],
        [f"if ({draw.value()} > 4) {{ s += 1; if ({draw.value()} > 6) {word}; }}"],
        [f"if ({draw.value()} > 6) {word}; else s += 2;"],
        [f"if (int odd = (i % 5) / 4) {word};"],
    ]
    if word == "return":
        forms.append([f"for (int z = 0; z < 3; z++) if ({draw.value()} + z > 8) return;"])
        forms.append(["switch (i % 5) { case 4: return; default:; }"])
    return draw.statement(draw.pick(forms))


def staged(draw: Draw) -> Statement:
    """Shared memory of the kernel's own, behind a barrier."""
    a, stage = draw.array("table"), draw.local("stage")
    kind = draw.total
    thread = "threadIdx.x" if draw.dims == 1 else "threadIdx.y * blockDim.x + threadIdx.x"
    # A copy of its array's own type may be undone; one that converts must stay.
    if not a.element.member and draw.chance(0.6):
        kind = "T" if draw.template and a.element.text == "float" else a.element.text
    filled = f"{stage}[{thread}] = {a.name}[({thread}) & 63]{a.element.member};"
    fills = [
        [filled],
        [f"for (int z = {thread}; z < THREADS; z += THREADS)",
         f"    {stage}[z] = {a.name}[z & 63]{a.element.member};"],
        [f"for (int z = {thread}; z < 32; z += THREADS)",
         f"    {stage}[z] = {a.name}[z + 32]{a.element.member};"],
        [f"{stage}[{thread} % 64] = {a.name}[{thread} % 64]{a.element.member};"],
    ]  # fmt: skip
    at = draw.pick(range(len(fills)))
    entry = [f"__shared__ {kind} {stage}[THREADS];", *fills[at], "__syncthreads();"]
    if at >= 2:
        return draw.statement([f"s += {stage}[({thread} + 1) % 32];"], entry)
    return draw.statement([f"s += {stage}[({thread} + 1) % THREADS];"], entry)


def staged_square(draw: Draw) -> Statement:
    """A tile of eight rows of eight, filled once or anew in each round of a loop, with and without
    edges that are left out or set to a number."""
    a, stage, acc = draw.array("table"), draw.local("square"), draw.local("acc")
    thread = "threadIdx.x" if draw.dims == 1 else "threadIdx.y * blockDim.x + threadIdx.x"
    kind = "T" if draw.template and a.element.text == "float" else a.element.text
    r = draw.local("r")
    rounds = draw.pick(("", "for (int {r} = 0; {r} < 3; {r}++)",
                        "for (int {r} = 0; {r} < (int)m; {r} += 5)")).format(r=r)  # fmt: skip
    row, column = draw.pick((("z / 8", "z % 8"), ("z % 8", "z / 8"), ("7 - z / 8", "z % 8")))
    stride = draw.pick((f"({row}) * 7 + {column}", f"{column} + ({row}) * 3", f"{row} + {column}"))
    first = draw.pick(("0", "7", f"{r} % 2" if rounds else "5"))
    copied = f"{stage}[{row}][{column}] = {a.name}[{stride} + {first}]"
    limit = draw.pick(("{c} < (int)m", "{r} + 1 < (int)n && {c} < 6", "{r} > 1 && {c} > 0"))
    guard = limit.format(r=f"({row})", c=f"({column})")
    # Of structs there is no number to set an element to.
    fill = draw.pick((0, 0, 1) if a.element.member else (0, 1, 2, 3))
    fills = [
        [f"{copied};"],
        [f"if ({guard}) {copied};"],
        [copied.replace("= ", f"= {guard} ? ") + " : 3;"],
        [f"if ({guard}) {copied};", f"else {stage}[{row}][{column}] = 2;"],
    ]
    loop = braced(f"for (int z = {thread}; z < 64; z += THREADS)", fills[fill])
    i, k = f"(({thread}) / 8 % 8)", f"(({thread} + 3) % 8)"
    read = f"{stage}[{i}][{k}]{a.element.member}"
    if fill == 1:
        # What the guard left out holds nothing: only what it let in is read.
        read = f"({limit.format(r=i, c=k)} ? {read} : 0)"
    inner = [*loop, "__syncthreads();", f"{acc} += {read};"]
    entry = [f"{draw.total} {acc} = 0;", f"__shared__ {kind} {stage}[8][{draw.pick((8, 9))}];"]
    entry += braced(rounds, [*inner, "__syncthreads();"]) if rounds else inner
    return draw.statement([f"s += {acc};"], entry)


def overlapping(draw: Draw) -> Statement:
    """Two pointers into one memory, neither array inside the other: a thread reads through one
    what it wrote through the other, and elements that no thread writes."""
    taken = any(p.role == "lower" for p in draw.params)
    if draw.dims == 2 or taken or len(draw.names) < 4:
        return plain(draw)
    element = draw.pick(SIMPLE)
    pair = []
    for role in ("lower", "upper"):
        name = draw.names.pop()
        const = "const " if role == "upper" and draw.chance(0.5) else ""
        pair.append(Param(name, element, role, f"{const}{element.text} *{name}"))
        draw.used.add(name)
    draw.params += pair
    lower, upper = (p.name for p in pair)
    forms = [
        [f"{lower}[i] = s;", f"if (i >= n - {HALO}) s += {upper}[i - n + {HALO}];"],
        [f"{lower}[i] += 2;", f"s += i < n - {HALO} ? 1 : {upper}[i - (n - {HALO})];"],
        [f"s += {upper}[{HALO} + (i & 31)];", f"{lower}[i] = s;"],
    ]
    return draw.statement(draw.pick(forms))


def odd(draw: Draw) -> Statement:
    """Constructs that readers of sources trip over: shadowing, lambdas, switches, commas."""
    a = draw.array("row")
    name, member, z = a.name, a.element.member, draw.local("z")
    forms = [
        [f"{{ const float {name} = 2; s += {name}; }}", f"s += {name}[i]{member};"],
        [f"auto {z} = [&](int where) {{ return {name}[where]{member}; }};", f"s += {z}(i);"],
        [f"switch (i % 3) {{ case 0: s += {name}[i]{member}; break; case 1: s += 1; "
         f"default: s += {name}[0]{member}; }}"],
        [f"int {z} = i;", f"do {{ s += {name}[{z}]{member}; {z} /= 2; }} while ({z} > 0);"],
        [f"int {z} = 0;", f"s += ({z} = i, {name}[{z}]{member});"],
        [f"const int {z} = sizeof({name}[0]);", f"s += {z} + {name}[i]{member};"],
        [f"for (int {z} = 0; {z} < 2; {z}++) {{ int i = {z}; s += {name}[i % n]{member}; }}"],
        [f"const auto {z} = {name}[i];", f"s += {z}{member};"],
        [f"const auto &{z} = {name}[i];", f"s += {z}{member};"],
        [f"if ({name} != nullptr) s += {name}[i]{member};"],
        [f"s += (i + {name})[0]{member};"],
        [f"s += i[{name}]{member};"] if not member else [f"s += (*({name} + i)){member};"],
        [f"unsigned char {z} = i;", f"s += {name}[{z} % n]{member};"],
        [f"int {z} = i;", f"int &{z}r = {z};", f"{z}r += 3;", f"s += {name}[{z} % n]{member};"],
        [f"int {z} = i;", f"const auto {z}a = {name}[{z}++ % n], {z}b = {name}[{z} % n];",
         f"s += {z}a{member} + {z}b{member};"],
        [f"short {z} = (short)(i * 7);", f"s += {name}[(unsigned short){z} % n]{member};"],
        [f"#if __CUDA_ARCH__ >= 300\n    s += {name}[i]{member};\n#else\n    s -= {name}[0]"
         f"{member};\n#endif"],
    ]  # fmt: skip
    return draw.statement(draw.pick(forms))


_WIDER = {
    "float": ("float4", 4), "int": ("int4", 4), "unsigned int": ("uint2", 2),
    "unsigned": ("uint4", 4), "double": ("double2", 2), "short": ("short4", 4),
    "unsigned char": ("uchar4", 4), "long long": ("longlong2", 2), "float2": ("float4", 2),
    "float4": ("float2", 0.5), "int2": ("int4", 2), "double2": ("int4", 1), "Cell": ("int2", 1),
}  # fmt: skip
"""A type as which an array is read, and how many of its elements that takes."""


def vectors(draw: Draw) -> Statement:
    """Reads of an array as elements of another type, all of them or beside plain ones."""
    a, v = draw.array("table"), draw.local("v")
    name, (kind, takes) = a.name, _WIDER[a.element.text]
    count = int(TABLE / takes)
    places = ("i", "i * 3", "threadIdx.x", "i / 2", "(unsigned)i * 5u", "i - i % 4")
    at, other = (f"({draw.pick(places)}) & {count - 1}" for _ in range(2))
    pointer = f"reinterpret_cast<const {kind} *>({name})"
    first = f"&{name}[{int(takes)} * ({at})]" if takes >= 1 else f"{name} + ({at}) / 2"
    moved = f"reinterpret_cast<const {kind} *>({first})"
    forms = [
        [f"s += {pointer}[{at}].x;"],
        [f"s += (*((const {kind} *){name} + ({at}))).y;"],
        [f"const {kind} *{v} = {pointer};", f"s += {v}[{at}].x + {v}[{other}].y;"],
        [f"const {kind} *const {v} = {pointer} + ({at});", f"s += {v}->x + (*{v}).y;"],
        [f"const {kind} *{v} = {pointer};", f"{v} += {at};", f"s += {v}->y;"],
        [f"const {kind} {v} = *{moved};", f"s += {v}.x + {v}.y;"],
        [f"const {kind} *{v} = {moved};", f"s += {v}[0].y;"],
        [f"int {v} = {at};", f"s += {pointer}[{v}++].x + {pointer}[({v} + 1) & {count - 1}].x;"],
        [f"s += reinterpret_cast<const {kind} &>({name}[{int(takes * 2) & 7}]).x;"],
        [f"s += {moved}->x;", f"s += {name}[i & {TABLE - 1}]{a.element.member};"],
        [f"s += reinterpret_cast<const unsigned char *>({name})[(i * 3) & {TABLE - 1}];"],
    ]
    if "const" in a.declared:
        forms.append([f"const {kind} {v} = __ldg({pointer} + ({at}));", f"s += {v}.y;"])
        forms.append([f"s += __ldg(&{pointer}[{at}].x) + __ldg(&{pointer}[{other}]).y;"])
    return draw.statement(draw.pick(forms))


KINDS: tuple[Callable[[Draw], Statement], ...] = (
    plain, plain, loop, loop, loop, loop, row_pointer, row_pointer, guarded, guarded, window,
    atomic, extreme, in_place, leave, staged, staged_square, overlapping, odd, odd, vectors,
    rows, rows, moved, read_rows, runs, triangle,
)  # fmt: skip


def make_program(seed: int) -> Program:
    """The program of a seed."""
    draw = Draw(seed)
    statements = [draw.pick(KINDS)(draw) for _ in range(draw.pick((1, 2, 2, 3, 4)))]
    is_instance = draw.template and any(" T " in f" {p.declared} " for p in draw.params)
    plain_name = draw.pick(("kernel", "step", "sum", "tile"))
    heads = ("", "", "", "static ", "__launch_bounds__(512) ")
    head = draw.pick(heads) if is_instance else draw.pick((*heads, 'extern "C" '))
    types = ("int", "int", "unsigned int")
    return Program(
        seed=seed,
        dims=draw.dims,
        kernel=plain_name,
        instance="<float>" if is_instance else "",
        head="" if head.startswith("__l") else head,
        style=draw.style,
        total=draw.total,
        scalars=("int", draw.pick(types), draw.pick((*types, "size_t"))),
        params=tuple(draw.params),
        statements=tuple(statements),
        sizes=_sizes(draw),
        flags=("--fmad=false",),
    )


def _sizes(draw: Draw) -> tuple[Sizes, ...]:
    """Three launches; the last has, now and then, blocks of another shape."""
    rng = draw.random
    if draw.dims == 1:
        block = (draw.pick((32, 64, 96, 128)), 1)
        rows = [rng.randrange(8, 400), rng.randrange(8, 300), block[0] * rng.randrange(1, 4)]
    else:
        block = draw.pick(((8, 4), (16, 8), (32, 2), (16, 16)))
        rows = [rng.randrange(5, 60) for _ in range(3)]
    found = []
    for n in rng.sample(rows, 3):
        m = draw.pick((4, 8, 16, 32, rng.randrange(4, 41), rng.randrange(4, 71)))
        p = m + draw.pick((0, 0, 3, 4, 16))
        grid = rng.randrange(1, 4) if draw.style == "stride" else None
        found.append(Sizes(n, m, p, block, grid))
    return tuple(found)
