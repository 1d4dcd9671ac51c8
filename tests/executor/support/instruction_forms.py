"""Every form of the scalar arithmetic instructions, as the PTX ISA writes their grammars.

Braces list alternatives, the empty one where a modifier may be missing: ``add{,.sat}.s32``.
"""

from __future__ import annotations

import itertools
import re

I = "{.u16,.u32,.u64,.s16,.s32,.s64}"  # noqa: E741
B = "{.b16,.b32,.b64}"
ROUND = "{.rn,.rz,.rm,.rp}"
HALVES = "{.f16,.f16x2}"
BRAINS = "{.bf16,.bf16x2}"
C_INT = "{.eq,.ne,.lt,.le,.gt,.ge}"
C_FLOAT = C_INT[:-1] + ",.equ,.neu,.ltu,.leu,.gtu,.geu,.num,.nan}"

ARITHMETIC = [
    f"add{I}", f"sub{I}", "add{.u16x2,.s16x2}", "{add,sub}.sat.s32",
    f"mul{{.lo,.hi}}{I}", "mul.wide{.u16,.u32,.s16,.s32}",
    f"mad{{.lo,.hi}}{I}", "mad.wide{.u16,.u32,.s16,.s32}", "mad.hi.sat.s32",
    "mul24{.lo,.hi}{.u32,.s32}", "mad24{.lo,.hi}{.u32,.s32}", "mad24.hi.sat.s32",
    f"sad{I}", f"div{I}", f"rem{I}", "abs{.s16,.s32,.s64}", "neg{.s16,.s32,.s64}",
    f"min{I}", f"max{I}", "{min,max}{.u16x2,.s16x2}", "{min,max}.relu{.s16x2,.s32}",
    "popc{.b32,.b64}", "clz{.b32,.b64}", "bfind{,.shiftamt}{.u32,.u64,.s32,.s64}",
    "brev{.b32,.b64}", "bfe{.u32,.u64,.s32,.s64}", "bfi{.b32,.b64}",
    "bmsk{.clamp,.wrap}.b32", "szext{.clamp,.wrap}{.u32,.s32}",
    "dp4a{.u32,.s32}{.u32,.s32}", "dp2a{.lo,.hi}{.u32,.s32}{.u32,.s32}",
    f"{{and,or,xor}}{B}", f"{{not,cnot}}{B}", f"shl{B}", f"shr{I}", "shr{.b16,.b32,.b64}",
    "shf{.l,.r}{.clamp,.wrap}.b32", "prmt.b32{,.f4e,.b4e,.rc8,.ecl,.ecr,.rc16}",
    "slct{.b16,.b32,.b64,.u16,.u32,.u64,.s16,.s32,.s64,.f32,.f64}.s32",
    "slct{,.ftz}{.b16,.b32,.b64,.u16,.u32,.u64,.s16,.s32,.s64,.f32,.f64}.f32",
    "{add,sub,mul}{,.rn,.rz,.rm,.rp}{,.ftz}{,.sat}.f32", f"fma{ROUND}{{,.ftz}}{{,.sat}}.f32",
    "{add,sub,mul}{,.rn,.rz,.rm,.rp}.f64", f"fma{ROUND}.f64", f"mad{ROUND}.f64",
    f"mad{ROUND}{{,.ftz}}{{,.sat}}.f32", f"{{add,sub,mul}}{ROUND}{{,.ftz}}.f32x2",
    f"fma{ROUND}{{,.ftz}}.f32x2",
    f"div{ROUND}{{,.ftz}}.f32", f"div{ROUND}.f64", f"{{rcp,sqrt}}{ROUND}{{,.ftz}}.f32",
    f"{{rcp,sqrt}}{ROUND}.f64", "{abs,neg}{,.ftz}.f32", "{abs,neg}.f64",
    "{min,max}{,.ftz}{,.NaN}{,.xorsign.abs}.f32", "{min,max}.f64",
    f"{{add,sub,mul}}{{,.rn}}{{,.sat}}{HALVES}", f"{{add,sub,mul}}{{,.rn}}{BRAINS}",
    f"fma.rn{{,.sat}}{HALVES}", f"fma.rn.relu{HALVES}", f"fma.rn{{,.relu}}{BRAINS}",
    f"{{abs,neg}}{HALVES}", f"{{abs,neg}}{BRAINS}",
    f"{{min,max}}{{,.NaN}}{{,.xorsign.abs}}{HALVES}",
    f"{{min,max}}{{,.NaN}}{{,.xorsign.abs}}{BRAINS}",
    "copysign{.f32,.f64}",
]  # fmt: skip
PREDICATES = [
    f"setp{C_INT}{I}", f"setp{{.eq,.ne}}{B}", "setp{.lo,.ls,.hi,.hs}{.u16,.u32,.u64}",
    f"setp{C_FLOAT}{{,.ftz}}.f32", f"setp{C_FLOAT}.f64", f"setp{C_FLOAT}{{.f16,.bf16}}",
    f"set{C_INT}{{.u32,.s32,.f32}}{I}", f"set{C_FLOAT}{{,.ftz}}{{.u32,.s32,.f32}}.f32",
    f"set{C_FLOAT}{{.u32,.s32,.f32}}.f64", f"set{C_FLOAT}{{.f16,.u16,.s16,.u32,.s32}}.f16",
    f"set{C_FLOAT}.f16x2.f16x2", f"set{C_FLOAT}{{.bf16,.u16,.s16,.u32,.s32}}.bf16",
    f"set{C_FLOAT}.bf16x2.bf16x2",
    "testp{.finite,.infinite,.number,.notanumber,.normal,.subnormal}{.f32,.f64}",
]  # fmt: skip
_INT8 = "{.u8,.u16,.u32,.u64,.s8,.s16,.s32,.s64}"
CONVERSIONS = [
    f"cvt{{,.sat}}{_INT8}{_INT8}",
    f"cvt{{.rni,.rzi,.rmi,.rpi}}{_INT8}{{.f16,.f64}}",
    f"cvt{{.rni,.rzi,.rmi,.rpi}}{{,.ftz}}{_INT8}.f32",
    f"cvt{{.rn,.rz,.rm,.rp}}{{.f16,.f32,.f64}}{_INT8}",
    f"cvt{ROUND}{{,.sat}}{{.f16,.f32}}.f64", f"cvt{ROUND}{{,.ftz}}{{,.sat}}.f16.f32",
    "cvt{,.ftz}{,.sat}{.f32,.f64}.f16", "cvt{,.sat}.f64{.f32,.f16}",
    "cvt{.rni,.rzi,.rmi,.rpi}{,.ftz}{,.sat}.f32.f32", "cvt{.rni,.rzi,.rmi,.rpi}{,.sat}.f64.f64",
    "cvt{.rni,.rzi,.rmi,.rpi}{,.sat}.f16.f16",
    "cvt{.rn,.rz}{,.relu}{.f16,.bf16,.f16x2,.bf16x2}.f32", "cvt.f32.bf16",
    f"cvt{ROUND}.bf16{_INT8}", f"cvt{ROUND}.bf16{{.f16,.f64}}",
    "cvt{.rni,.rzi,.rmi,.rpi}" + _INT8 + ".bf16",
    "cvt.f64.bf16", f"cvt{ROUND}.f16.bf16",
]  # fmt: skip


def expanded(pattern: str) -> list[str]:
    """Every opcode of a pattern."""
    pieces = re.split(r"\{([^}]*)\}", pattern)
    choices = [p.split(",") if n % 2 else [p] for n, p in enumerate(pieces)]
    return ["".join(c) for c in itertools.product(*choices)]


def all_of(patterns: list[str]) -> list[str]:
    """Opcodes of several patterns, each once."""
    return list(dict.fromkeys(o for p in patterns for o in expanded(p)))
