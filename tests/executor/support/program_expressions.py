"""Random expressions of CUDA C++, for :mod:`programs`."""

from dataclasses import dataclass, field

import numpy as np
from hypothesis import strategies as st

TYPES = {
    "int": np.int32,
    "unsigned": np.uint32,
    "short": np.int16,
    "unsigned short": np.uint16,
    "signed char": np.int8,
    "unsigned char": np.uint8,
    "long long": np.int64,
    "unsigned long long": np.uint64,
    "float": np.float32,
    "double": np.float64,
}
FLOATS = ("float", "double")
SIZED = {name: name.replace(" ", "_") for name in TYPES}


@dataclass
class Expressions:
    """Draws expressions over the variables in ``names``, by type."""

    data: object
    names: dict[str, list[str]] = field(default_factory=dict)
    counter: int = 0

    def pick(self, *options):
        return self.data.draw(st.sampled_from(options))

    def number(self, low, high):
        return self.data.draw(st.integers(low, high))

    def fresh(self, prefix):
        self.counter += 1
        return f"{prefix}{self.counter}"

    # --- expressions

    def literal(self, type_):
        if type_ in FLOATS:
            text = self.pick(
                "0.0", "-0.0", "1.0", "0.5", "-3.25", "1e-3", "7.0e5", "1.0e-30", "3e30"
            )
            return f"({type_}){text}"
        value = self.pick(0, 1, 2, 3, 5, 7, 31, 33, 100, 255, -1, -2, -77, 32767, 123456789)
        return f"({type_}){value}"

    def leaf(self, type_):
        options = ["literal", "input", "gather"]
        if self.names.get(type_):
            options += ["variable"] * 4
        if type_ not in FLOATS:
            options.append("special")
        kind = self.pick(*options)
        if kind == "variable":
            return self.pick(*self.names[type_])
        if kind == "input":
            return f"i_{SIZED[type_]}[gid]"
        if kind == "gather":
            index = self.pick("blockIdx.x", "gid / 2", "gid * 3", "tid ^ 5", "n - gid")
            return f"i_{SIZED[type_]}[(unsigned)({index}) % n]"
        if kind == "special":
            special = self.pick("tid", "blockIdx.x", "blockDim.x", "threadIdx.y", "n", "lane")
            return f"({type_}){special}"
        return self.literal(type_)

    def expression(self, type_, depth):
        if depth == 0:
            return self.leaf(type_)
        kind = self.pick("leaf", "binary", "binary", "cast", "choice", "call")
        if kind == "leaf":
            return self.leaf(type_)
        if kind == "cast":
            other = self.pick(*TYPES)
            return f"({type_})({self.expression(other, depth - 1)})"
        if kind == "choice":
            a, b = self.expression(type_, depth - 1), self.expression(type_, depth - 1)
            return f"({self.condition(depth - 1)} ? {a} : {b})"
        if kind == "call":
            return self.intrinsic(type_, depth)
        a, b = self.expression(type_, depth - 1), self.expression(type_, depth - 1)
        if type_ in FLOATS:
            return f"({a} {self.pick('+', '-', '*', '/', '*')} {b})"
        op = self.pick("+", "-", "*", "&", "|", "^", "<<", ">>", "/", "%")
        if op in "/%":
            return f"({type_})({a} {op} ({b} | ({type_})1))"
        if op in ("<<", ">>"):
            # By more than the width, a shift is undefined: NVRTC leaves such values out.
            most = 63 if "long" in type_ else 31
            return f"({type_})({a} {op} (int)({b} & ({type_}){most}))"
        return f"({type_})({a} {op} {b})"

    def intrinsic(self, type_, depth):
        def arg(t):
            return self.expression(t, depth - 1)

        if type_ == "float":
            name = self.pick(
                *("sqrtf", "fabsf", "floorf", "ceilf", "truncf", "rintf", "-"),
                *("fminf", "fmaxf", "copysignf", "__fadd_rz", "__fmul_ru", "__fdiv_rd"),
                *("fmaf", "__fmaf_rd", "__frcp_rn", "__saturatef"),
            )
            count = {"fmaf": 3, "__fmaf_rd": 3}.get(name, 1)
            if name in ("fminf", "fmaxf", "copysignf", "__fadd_rz", "__fmul_ru", "__fdiv_rd"):
                count = 2
            return f"{name}({', '.join(arg('float') for _ in range(count))})"
        if type_ == "double":
            name = self.pick(
                "sqrt", "fabs", "floor", "rint", "-", "fmin", "fmax", "fma", "__dadd_rn"
            )
            count = {"fma": 3, "fmin": 2, "fmax": 2, "__dadd_rn": 2}.get(name, 1)
            return f"{name}({', '.join(arg('double') for _ in range(count))})"
        if type_ in ("int", "unsigned"):
            name = self.pick(
                *("__popc(u)", "__clz(i)", "__brev(u)", "__ffs(i)", "__mulhi(i,i)", "abs(i)"),
                *("__umulhi(u,u)", "__mul24(i,i)", "__byte_perm(u,u,u)", "__sad(i,i,u)", "~(u)"),
                *(
                    "__funnelshift_l(u,u,u)",
                    "__dp4a(i,i,i)",
                    "min(i,i)",
                    "max(u,u)",
                    "__usad(u,u,u)",
                ),
                *("__popcll(l)", "__clzll(l)", "__float2int_ru(f)", "__double2uint_rn(d)"),
                *("__rhadd(i,i)", "__funnelshift_rc(u,u,u)", "__ffsll(l)"),
            )
            head, _, tail = name.partition("(")
            kinds = {"u": "unsigned", "i": "int", "l": "long long", "f": "float", "d": "double"}
            arguments = ", ".join(arg(kinds[k]) for k in tail.rstrip(")").split(","))
            return f"({type_}){head}({arguments})"
        if type_ == "long long":
            name = self.pick("__mul64hi", "min", "max")
            return f"{name}({arg(type_)}, {arg(type_)})"
        return f"({type_})min({arg('int')}, {arg('int')})"

    def condition(self, depth):
        if depth > 0 and self.number(0, 3) == 0:
            op = self.pick("&&", "||")
            return f"({self.condition(depth - 1)} {op} {self.condition(depth - 1)})"
        type_ = self.pick("int", "unsigned", "short", "long long", "float", "double")
        op = self.pick("<", "<=", ">", ">=", "==", "!=")
        a, b = self.expression(type_, max(depth - 1, 0)), self.expression(type_, 0)
        return f"({a} {op} {b})"
