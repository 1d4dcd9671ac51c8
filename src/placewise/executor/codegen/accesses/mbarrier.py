"""What an ``mbarrier`` in shared memory becomes by each operation on it.

PTX leaves the 64 bits of an mbarrier open. Here they are as the machine code for compute capability
9.0 and later sets them up and reads them, from bit 1: arrivals expected in the next phase (20
bits), bytes still to be copied (22 bits, modulo), pending arrivals (20 bits), the phase. Numbers of
arrivals are kept negative. Compute capability 8.x has no bytes to wait for, and other places: the
arrivals expected in the 30 lowest bits, the pending ones in the 31 below the phase.
"""

from __future__ import annotations

from placewise.executor.codegen.text import Text

COUNT_BITS = 20
EXPECTED_AT, PENDING_AT = 1, 43
_BYTES_AT, _BYTES_BITS = 21, 22
_PHASE = -(1 << 63)
_AMPERE_PENDING = (1 << 31) - 1
_AMPERE_EXPECTED = (1 << 30) - 1


def _field(at: int, bits: int) -> int:
    return ((1 << bits) - 1) << at


_EXPECTED = _field(EXPECTED_AT, COUNT_BITS)
_PENDING = _field(PENDING_AT, COUNT_BITS)
_BYTES = _field(_BYTES_AT, _BYTES_BITS)


def new_state(t: Text, operation: str, old: str, value: str) -> str:
    """The word after ``operation`` (without its ``mbarrier_``) with an i64 operand."""
    if operation == "read":
        return old
    if operation == "expect_tx":
        return _moved(t, "add", old, value, _BYTES, _BYTES_AT)
    if operation == "complete_tx":
        return _completed(t, _moved(t, "sub", old, value, _BYTES, _BYTES_AT))
    if operation == "arrive_ampere":
        return _arrived_ampere(t, old)
    if operation == "arrive_expect_tx":
        old, value = _moved(t, "add", old, value, _BYTES, _BYTES_AT), "1"
    if operation == "arrive_drop":
        old = _moved(t, "add", old, value, _EXPECTED, EXPECTED_AT)
    return _completed(t, _moved(t, "add", old, value, _PENDING, PENDING_AT))


def _moved(t: Text, op: str, state: str, value: str, field: int, at: int) -> str:
    """Change one field, which never reaches into the next."""
    changed = t.op(f"{op} i64 {state}, {t.op(f'shl i64 {value}, {at}')}")
    inside = t.op(f"and i64 {changed}, {field}")
    return t.op(f"or i64 {t.op(f'and i64 {state}, {~field}')}, {inside}")


def _completed(t: Text, state: str) -> str:
    """The next phase, where nothing is pending any more."""
    pending = t.op(f"and i64 {state}, {_PENDING | _BYTES}")
    done = t.op(f"icmp eq i64 {pending}, 0")
    expected = t.op(f"and i64 {state}, {_EXPECTED}")
    again = t.op(f"shl i64 {expected}, {PENDING_AT - EXPECTED_AT}")
    flipped = t.op(f"xor i64 {state}, {_PHASE}")
    return t.op(f"select i1 {done}, i64 {t.op(f'or i64 {flipped}, {again}')}, i64 {state}")


def _arrived_ampere(t: Text, old: str) -> str:
    """One arrival; the last one carries into the phase."""
    now = t.op(f"add i64 {old}, {1 << 32}")
    pending = t.op(f"and i64 {now}, {_AMPERE_PENDING << 32}")
    done = t.op(f"icmp eq i64 {pending}, 0")
    expected = t.op(f"and i64 {now}, {_AMPERE_EXPECTED}")
    again = t.op(f"shl i64 {t.op(f'or i64 {expected}, {_AMPERE_EXPECTED + 1}')}, 32")
    return t.op(f"select i1 {done}, i64 {t.op(f'or i64 {now}, {again}')}, i64 {now}")
