"""Hostile PTX: damaged text, and declarations and lines without measure."""

from __future__ import annotations

import re
from random import Random

from benchmarks.fuzz.case_files import case_command
from benchmarks.fuzz.examples import PTX, PTX_CASE, toml
from benchmarks.fuzz.hostile_input import HostileInput
from benchmarks.fuzz.mutate import NUMBERS, encoded, mutate_bytes, mutate_text

_INSTRUCTIONS = (
    "bra LOOP;",
    "bra NOWHERE;",
    "@%p9 bra DONE;",
    "call scale;",
    "call (%r1), f, (%r2);",
    "trap;",
    "brkpt;",
    "exit;",
    "ld.global.f32 %f1, [0];",
    "ld.global.v4.f32 {%f1, %f1, %f1, %f1}, [%rd1+3];",
    "ld.shared.f32 %f1, [-1024];",
    "st.shared.f32 [%r4+-300], %f1;",
    "ld.param.u64 %rd1, [x+4096];",
    "ld.const.u32 %r1, [limit+99999];",
    "mov.u32 %r1, 99999999999999999999;",
    "mov.f32 %f1, 0fZZZZZZZZ;",
    "mov.f32 %f1, 0f7FC0000;",
    "mov.b64 %rd1, {%r1, %r2};",
    "mov.u32 %r1, %tid.q;",
    "mov.u32 %r1, %nosuch;",
    "mov.u64 %rd1, scale;",
    "add.s32 %r1, %r2;",
    "add.s32 %r1, %r2, %f1;",
    "add.bogus.s32 %r1, %r2, %r3;",
    "div.s32 %r1, %r2, 0;",
    "rem.u64 %rd1, %rd2, 0;",
    "shl.b32 %r1, %r2, 4294967295;",
    "bfe.u32 %r1, %r2, 300, 300;",
    "prmt.b32 %r1, %r2, %r3, 65535;",
    "cvt.rni.s32.f32 %r1, 0f7F800000;",
    "vadd.u32 %r1, %r2;",
    "shfl.sync.bfly.b32 %r1, %r2, 99, 99, 0;",
    "vote.sync.all.pred %p1, %p1, 0;",
    "bar.sync 16;",
    "bar.sync 0, 7;",
    "bar.sync %r4;",
    "atom.global.add.f32 %f1, [%rd1], %f2;",
    "red.shared.add.u32 [%r9], 1;",
    "membar.nothing;",
    "activemask.b32 %r1;",
    "tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [x, {%f1, %f2}];",
    "suld.b.1d.b32.trap %r1, [x, {%r1}];",
    "nanosleep.u32 4294967295;",
    "wmma.load.a.sync.aligned.row.m16n16k16.f16 {%r1}, [%rd1];",
    "cp.async.ca.shared.global [%r1], [%rd1], 3;",
    "ret; ret; ret;",
    ".reg .b32 %again<5>;",
    ".loc 1 99999999999 1",
    '.pragma "nounroll";',
    "{ .reg .b32 %r1; }",
    "brx.idx %r1, T;",
    "{",
    "}",
    ":",
    ";",
    "mbarrier.init.shared.b64 [tile], 1048576;",
    "createpolicy.fractional.L2::evict_last.b64 %rd1, 9.0;",
    "getctarank.u32 %r1, %r2;",
)
_SIZES = (
    ".b8 tile[256]",
    ".reg .b32 %r<12>",
    ".local .align 4 .b8 kept[16]",
    "table[16]",
    ".reqntid 64, 1, 1",
)


def ptx_input(rng: Random) -> HostileInput:
    """The small case over hostile PTX."""
    match rng.randrange(10):
        case 0 | 1 | 2:
            what, text = "text", mutate_text(rng, PTX)
        case 3 | 4 | 5:
            lines = PTX.split("\n")
            what = " ".join(rng.sample(_INSTRUCTIONS, rng.choice((1, 1, 2))))
            lines.insert(rng.randrange(20, len(lines) - 3), f"    {what}")
            text = "\n".join(lines)
        case 6 | 7:
            old = rng.choice(_SIZES)
            number = rng.choice((*NUMBERS, "999999999", "100000000", "1000000", "70000"))
            what = re.sub(r"(?<=[<\[])\d+|64", number, old, count=1)
            text = PTX.replace(old, what)
        case 8:
            what, text = _structure(rng)
        case _:
            data = mutate_bytes(rng, PTX.encode())
            return _input(rng, "bytes", data)
    return _input(rng, what, encoded(rng, text))


def _input(rng: Random, what: str, data: bytes) -> HostileInput:
    files = {"kernel.ptx": data, "case.toml": toml(PTX_CASE).encode()}
    return HostileInput("ptx", what[:100], case_command(rng), files)


def _structure(rng: Random) -> tuple[str, str]:
    count = rng.choice((1000, 20_000, 300_000))
    few = min(count, 20_000)
    add = "    add.s32 %r10, %r10, 1;\n"
    made = {
        "empty": "",
        "blank lines": PTX.replace("LOOP:", "\n" * count + "LOOP:"),
        "lines of blanks": PTX.replace("LOOP:", "   \t \n" * count + "LOOP:"),
        "one long line": PTX.replace("LOOP:", " " * count + "LOOP:"),
        "comments": PTX.replace("LOOP:", "// comment\n" * count + "LOOP:"),
        "an open comment": PTX.replace("LOOP:", "/* " * count + "LOOP:"),
        "many labels": PTX.replace("LOOP:", "".join(f"L{k}:\n" for k in range(few)) + "LOOP:"),
        "many branches": PTX.replace(
            "LOOP:", "".join(f"@%p1 bra L{k};\nL{k}:\n" for k in range(few // 4)) + "LOOP:"
        ),
        "many instructions": PTX.replace("LOOP:", add * few + "LOOP:"),
        "many scopes": PTX.replace("LOOP:", "{" * few + "}" * few + "LOOP:"),
        "many registers": PTX.replace(
            ".reg .pred", "".join(f".reg .b32 %q{k};\n" for k in range(few)) + ".reg .pred"
        ),
        "many parameters": PTX.replace(
            ".param .u32 n", "".join(f".param .u32 p{k},\n" for k in range(few)) + ".param .u32 n"
        ),
        "many entries": PTX
        + "".join(
            PTX[PTX.index(".visible") :].replace("scale", f"k{k}") for k in range(few // 200)
        ),
        "an initialiser": PTX.replace(
            "table[16]", "table[16] = {" + ", ".join(["0f3F800000"] * few) + "}"
        ),
        "a long name": PTX.replace("LOOP", "L" * count),
        "another target": PTX.replace(
            "sm_80", rng.choice(("sm_10", "sm_999", "sm_", "sm_90a", "sm_100f", "x", ""))
        ),
        "another version": PTX.replace(
            "8.0", rng.choice(("0.0", "99.9", "8", "8.0.0", "eight", ""))
        ),
        "no entry": PTX.replace(".visible .entry", ".visible .func"),
        "recursion": PTX.replace(".visible", ".func f() { call f; ret; }\n.visible", 1).replace(
            "LOOP:", "call f;\nLOOP:"
        ),
        "twice": PTX + PTX,
        "32 bits": PTX.replace("address_size 64", "address_size 32"),
        "no end": PTX.rsplit("}", 1)[0],
        "a loop without end": PTX.replace("@%p2 bra", "bra"),
        "debug sections": PTX + ".section .debug_str { .b8 " + ", ".join(["0"] * few) + " }\n",
    }
    what = rng.choice(list(made))
    return what, made[what]
