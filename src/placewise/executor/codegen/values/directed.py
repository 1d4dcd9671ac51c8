"""Operations rounded toward zero, up or down: the host's, with its rounding mode changed."""

from __future__ import annotations

from placewise.executor.codegen.text import Text
from placewise.executor.ir.nodes import Node

MODES = {"rz": 0, "rp": 2, "rm": 3}
"""Numbers of the modes in ``llvm.set.rounding``; 1 is to nearest."""

_DYNAMIC = 'metadata !"round.dynamic", metadata !"fpexcept.strict"'


def directed_helper(
    declarations: set[str], name: str, n: Node, result: str, types: list[str]
) -> str:
    """A function that computes one node by its mode and sets the mode back."""
    t = Text(declarations)
    declarations.add("declare void @llvm.set.rounding(i32)")
    t.do(f"call void @llvm.set.rounding(i32 {MODES[str(n.attr)]}) strictfp")
    suffix = _suffix(result)
    if n.op in ("fptrunc", "sitofp", "uitofp"):
        suffix += "." + _suffix(types[0])
    intrinsic = f"llvm.experimental.constrained.{n.op}.{suffix}"
    listed = ", ".join([*types, "metadata", "metadata"])
    declarations.add(f"declare {result} @{intrinsic}({listed})")
    operands = ", ".join(f"{type_} %x{k}" for k, type_ in enumerate(types))
    value = t.op(f"call {result} @{intrinsic}({operands}, {_DYNAMIC}) strictfp")
    if n.op == "uitofp":
        # Without an instruction for it, code subtracts equal numbers, which gives -0 rounded down.
        declarations.add(f"declare {result} @llvm.fabs.{_suffix(result)}({result})")
        value = t.op(f"call {result} @llvm.fabs.{_suffix(result)}({result} {value}) strictfp")
    t.do("call void @llvm.set.rounding(i32 1) strictfp")
    t.do(f"ret {result} {value}")
    head = f"define internal fastcc {result} {name}({operands}) noinline strictfp #0 {{"
    return "\n".join([head, *t.lines, "}"])


def _suffix(type_: str) -> str:
    """``v32f64`` of ``<32 x double>``."""
    names = {"float": "f32", "double": "f64"}
    if type_.startswith("<"):
        width, _, inner = type_.strip("<>").partition(" x ")
        return f"v{width}{names.get(inner, inner)}"
    return names.get(type_, type_)
