"""What an ``mbarrier`` in shared memory becomes by each operation on it.

PTX leaves the 64 bits of an mbarrier open. Here they are, from the lowest: pending arrivals (20
bits), arrivals expected in the next phase (20), bytes still to be copied (23, modulo), the phase.
"""

from __future__ import annotations

from placewise.execute.codegen.text import Text

_COUNT = (1 << 20) - 1
_EXPECTED = 20
_BYTES = 40
_BYTES_MASK = ((1 << 23) - 1) << _BYTES
_PHASE = -(1 << 63)


def new_state(t: Text, operation: str, old: str, value: str) -> str:
    """The word after ``operation`` (without its ``mbarrier_``) with an i64 operand."""
    if operation == "read":
        return old
    if operation == "expect_tx":
        return _bytes(t, "add", old, value)
    if operation == "complete_tx":
        return _completed(t, _bytes(t, "sub", old, value))
    if operation == "arrive_expect_tx":
        return _completed(t, t.op(f"sub i64 {_bytes(t, 'add', old, value)}, 1"))
    less = t.op(f"sub i64 {old}, {value}")
    if operation == "arrive_drop":
        less = t.op(f"sub i64 {less}, {t.op(f'shl i64 {value}, {_EXPECTED}')}")
    return _completed(t, less)


def _bytes(t: Text, op: str, state: str, value: str) -> str:
    """Change the bytes to be copied, which never reach into the phase."""
    moved = t.op(f"shl i64 {value}, {_BYTES}")
    changed = t.op(f"and i64 {t.op(f'{op} i64 {state}, {moved}')}, {_BYTES_MASK}")
    rest = t.op(f"and i64 {state}, {~_BYTES_MASK}")
    return t.op(f"or i64 {rest}, {changed}")


def _completed(t: Text, state: str) -> str:
    """The next phase, where nothing is pending any more."""
    pending = t.op(f"and i64 {state}, {_COUNT | _BYTES_MASK}")
    done = t.op(f"icmp eq i64 {pending}, 0")
    expected = t.op(f"and i64 {t.op(f'lshr i64 {state}, {_EXPECTED}')}, {_COUNT}")
    flipped = t.op(f"xor i64 {state}, {_PHASE}")
    return t.op(f"select i1 {done}, i64 {t.op(f'or i64 {flipped}, {expected}')}, i64 {state}")
