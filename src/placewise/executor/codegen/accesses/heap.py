"""``malloc`` and ``free`` of device code: lane after lane, in a window of its own.

The heap begins with the offset of the first byte that was never allocated and, for each size class,
the offset of the first free piece of memory. A piece of class c has 2**c bytes. The kernel gets all
but the first 16, which hold the class (marked by :data:`_USED` while the piece is in use) and the
offset of the next free piece. Thread blocks of kernels that allocate run on one core, so nothing
here is atomic.
"""

from __future__ import annotations

from placewise.executor.codegen.state import State
from placewise.executor.device_memory.address_space import (
    HEAP_WINDOW,
    WINDOW_WORDS,
    Fault,
    Slot,
    address,
)
from placewise.executor.ir.nodes import Node

_CLASSES = 40
_HEADER = 512
"""Bytes before the first piece of memory: room for the heap's 1 + :data:`_CLASSES` words."""
_SMALLEST = 32
_USED = 0x6D61_6C6C_6F63_0000
_BASE = address(HEAP_WINDOW)


def emit(s: State, n: Node) -> None:
    """Call the function of a ``heap`` node."""
    name = str(n.attr)
    s.needs.heap.add(name)
    value = s.vector(n.args[0])
    call = f"call fastcc <32 x i64> @heap.{name}(ptr %ctx, <32 x i64> {value}, i32 {s.mask})"
    s.set(n, s.op(call))


def functions(wanted: set[str], declarations: set[str]) -> list[str]:
    """The functions asked for."""
    if wanted:
        declarations.add("declare i64 @llvm.ctlz.i64(i64, i1)")
        declarations.add("declare i64 @llvm.umax.i64(i64, i64)")
        declarations.add("declare i32 @llvm.cttz.i32(i32, i1)")
    made = {"malloc": _malloc, "free": _free}
    return [made[name]() for name in sorted(wanted)]


def _loop(name: str, body: str) -> str:
    """A function that does ``body`` for each active lane: from %value to %result."""
    entry = HEAP_WINDOW * WINDOW_WORDS
    return f"""
define internal fastcc <32 x i64> @heap.{name}(ptr %ctx, <32 x i64> %values, i32 %mask) \
noinline #0 {{
entry:
  %table.p = getelementptr i64, ptr %ctx, i64 {int(Slot.WINDOWS)}
  %table = load ptr, ptr %table.p
  %size.p = getelementptr i64, ptr %table, i64 {entry + 1}
  %size = load i64, ptr %size.p
  %host.p = getelementptr i64, ptr %table, i64 {entry + 2}
  %host = load ptr, ptr %host.p
  br label %head
head:
  %left = phi i32 [ %mask, %entry ], [ %rest, %on ]
  %all = phi <32 x i64> [ zeroinitializer, %entry ], [ %more, %on ]
  %done = icmp eq i32 %left, 0
  br i1 %done, label %out, label %body
body:
  %lane = call i32 @llvm.cttz.i32(i32 %left, i1 false)
  %value = extractelement <32 x i64> %values, i32 %lane
{body}
on:
  %result = phi i64 [ 0, %none ], [ %given, %some ]
  %more = insertelement <32 x i64> %all, i64 %result, i32 %lane
  %minus = sub i32 %left, 1
  %rest = and i32 %left, %minus
  br label %head
out:
  ret <32 x i64> %all
}}"""


def _malloc() -> str:
    """LLVM text of ``malloc``: a piece of the next power of two bytes, the class's first free one
    or else a new one."""
    return _loop(
        "malloc",
        f"""  %huge = icmp ugt i64 %value, %size
  br i1 %huge, label %none, label %fits
fits:
  %whole = add i64 %value, 16
  %least = call i64 @llvm.umax.i64(i64 %whole, i64 {_SMALLEST})
  %less = sub i64 %least, 1
  %zeros = call i64 @llvm.ctlz.i64(i64 %less, i1 false)
  %class = sub i64 64, %zeros
  %bytes = shl i64 1, %class
  %index = add i64 %class, 1
  %first.p = getelementptr i64, ptr %host, i64 %index
  %first = load i64, ptr %first.p
  %empty = icmp eq i64 %first, 0
  br i1 %empty, label %fresh, label %again
again:
  %again.p = getelementptr i8, ptr %host, i64 %first
  %next.p = getelementptr i64, ptr %again.p, i64 1
  %next = load i64, ptr %next.p
  store i64 %next, ptr %first.p
  br label %some
fresh:
  %top.old = load i64, ptr %host
  %top = call i64 @llvm.umax.i64(i64 %top.old, i64 {_HEADER})
  %end = add i64 %top, %bytes
  %full = icmp ugt i64 %end, %size
  br i1 %full, label %none, label %take
take:
  store i64 %end, ptr %host
  br label %some
none:
  br label %on
some:
  %at = phi i64 [ %first, %again ], [ %top, %take ]
  %block.p = getelementptr i8, ptr %host, i64 %at
  %mark = or i64 %class, {_USED}
  store i64 %mark, ptr %block.p
  %given = add i64 %at, {_BASE + 16}
  br label %on""",
    )


def _free() -> str:
    """LLVM text of ``free``: put a piece first in its class's list of free ones. Null is ignored;
    any other address that ``malloc`` did not return is a fault."""
    return _loop(
        "free",
        f"""  %null = icmp eq i64 %value, 0
  br i1 %null, label %none, label %look
look:
  %at = sub i64 %value, {_BASE + 16}
  %inside = icmp ult i64 %at, %size
  %low = and i64 %at, 15
  %even = icmp eq i64 %low, 0
  %possible = and i1 %inside, %even
  br i1 %possible, label %probe, label %bad
probe:
  %block.p = getelementptr i8, ptr %host, i64 %at
  %mark = load i64, ptr %block.p
  %class = xor i64 %mark, {_USED}
  %known = icmp ult i64 %class, {_CLASSES}
  br i1 %known, label %some, label %bad
bad:
  call void @fault(ptr %ctx, i64 {int(Fault.FREE)}, i32 -1, i32 %lane, i64 %value)
  br label %none
none:
  br label %on
some:
  store i64 0, ptr %block.p
  %index = add i64 %class, 1
  %first.p = getelementptr i64, ptr %host, i64 %index
  %first = load i64, ptr %first.p
  %next.p = getelementptr i64, ptr %block.p, i64 1
  store i64 %first, ptr %next.p
  store i64 %at, ptr %first.p
  %given = add i64 0, 0
  br label %on""",
    )
