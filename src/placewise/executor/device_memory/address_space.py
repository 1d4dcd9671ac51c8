"""The device address space of a run: windows, handles, and the words shared with compiled code.

Generic addresses have 64 bits. The bits from :data:`WINDOW_SHIFT` up are the number of a window.
Each array, texture and module variable has a window of its own, as have shared, local and parameter
memory. An access outside its array therefore hardly ever reaches another one, and an address tells
by itself what it points into.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

BARRIERS = 16
"""Named barriers of a block."""

BARRIER_ROWS = 4
WAIT_ROWS = 3
"""Rows that :attr:`Slot.BARRIERS` and :attr:`Slot.WAITS` point to."""

WINDOW_SHIFT = 36
"""Position of the window's number in a generic address: a window has 64 GiB."""

WINDOWS = 2048
"""Entries of the window table, a power of two; higher window numbers are invalid."""

WINDOW_OF_SPACE = {"shared": 1, "local": 2, "param": 3}
"""Windows of the memory spaces that have addresses of their own. Window 0 stays invalid, so that
null pointers are."""

LAST_WINDOW = WINDOWS - 17
"""Last window for arrays; the executor uses the windows above for itself."""

FIRST_WINDOW = 4
"""Module variables go from here up, each module's in its order; arrays from LAST_WINDOW down."""


CODE_WINDOW = WINDOWS - 1
"""Addresses of functions; no bytes lie there."""

HEAP_WINDOW = WINDOWS - 2
"""Memory that device code takes by ``malloc``."""


GRID_WINDOW = WINDOWS - 3
"""Memory by which the blocks of a grid wait for each other (cooperative groups)."""

TABLES_WINDOW = WINDOWS - 4
"""Constants that the compiler of machine code keeps for itself."""

GRID_BYTES = 64
"""Bytes of the grid workspace; cooperative_groups uses its first words."""


def address(window: int) -> int:
    """First address of a window."""
    return window << WINDOW_SHIFT


def handle(window: int) -> int:
    """The handle of a texture or surface object whose data lies in a window: the window's first
    address, with its number in the lower half, which is all that machine code looks at."""
    return address(window) | window


def function_address(line: int, checksum: int) -> int:
    """Address of a function, by the line of the PTX text that it starts on and the text's checksum.

    It is therefore the same for all kernels of a module, and no function's address in another
    module. Its lowest 32 bits exceed any offset in a constant bank, so that machine code, where
    both occur, can tell the two apart.
    """
    return address(CODE_WINDOW) + 16 * (((checksum % (1 << 14) | 1) << 18) + line)


class Slot(IntEnum):
    """64-bit words of the context that compiled code and Python share, one context per worker."""

    WINDOWS = 0
    """Pointer to the window table."""
    PARAMS = 1
    SHARED = 2
    SHARED_BYTES = 3
    LOCAL = 4
    """Local memory of the present warp's first thread."""
    COUNTERS = 5
    """Pointer to (warp, thread) executions per block, then executions per guarded site."""
    RECORDS = 6
    """Pointer to the records of the trace buffer; these six words are :attr:`TraceBuffer.words`."""
    RECORD = 7
    """Pointer to the next trace record."""
    RECORD_LIMIT = 8
    """Records from here up, or rows, make the buffer full."""
    ROWS = 9
    """Pointer to the rows of offsets."""
    ROW = 10
    """Pointer to the next row of offsets."""
    ROW_LIMIT = 11
    FUEL = 12
    """Instructions that may still run before STOP is looked at; counted down at loop heads."""
    STOP = 13
    """Set to end the run early."""
    USED = 14
    """Instructions that the present warp has been allowed so far."""
    LIMIT = 15
    FLUSH = 16
    """Function that takes a full trace buffer."""
    SELF = 17
    """Number that the flush function is called with."""
    FAULT = 18
    """A :class:`Fault`, 0 while all is well; the first one is kept."""
    FAULT_SITE = 19
    FAULT_BLOCK = 20
    FAULT_WARP = 21
    FAULT_LANE = 22
    FAULT_ADDRESS = 23
    TOUCHED = 24
    """Pointer to two bytes per window: read, written."""
    CTAID = 25
    NTID = 28
    NCTAID = 31
    BLOCK = 34
    """Linear number of the block."""
    TID = 35
    """Pointers to the x, y and z coordinates of the block's threads (i32)."""
    THREADS = 38
    WARPS = 39
    FRAMES = 40
    STATES = 41
    """Pointer to an i32 per warp: where it goes on."""
    RED_COUNT = 42
    """Barrier reduction where only one barrier is in use: threads whose predicate holds and all
    threads, for the next barrier; then the same two counts for the last one."""
    RED_TOTAL = 43
    RED_COUNT_DONE = 44
    RED_TOTAL_DONE = 45
    TRACED_BLOCKS = 46
    """Pointer to a byte per block of the grid."""
    CLOCK = 47
    DYNAMIC_SHARED = 48
    LOCAL_BASE = 49
    """Local memory of the block's first thread."""
    LOCAL_BYTES = 50
    """Bytes of local memory per thread."""
    BARRIERS = 52
    """Pointer to :data:`BARRIER_ROWS` rows of a word for each of 16 barriers: threads that arrived,
    threads that it waits for, and of its reduction the threads whose predicate holds, and all."""
    WAITS = 53
    """Pointer to :data:`WAIT_ROWS` rows of an i32 per warp: the barrier it waits at, or -1; of the
    last barrier that let it go, the threads whose predicate holds, and all that gave one."""
    BARRIER_NUMBER = 54
    """Number of the barrier that a warp has just reached; BARRIER_THREADS is how many threads it
    waits for (0: all)."""
    BARRIER_THREADS = 55
    BARRIER_ARRIVE = 56
    """Nonzero if the warp does not wait there."""
    WARP = 51
    """Number of the present warp in its block."""
    IDENTITY = 58
    """Four i32 in two words, as trace records end: 0, linear block, warp, phase."""

    RESIDENT = 64
    """Which of the blocks that this worker holds at the same time is running."""
    READ_TEXTURE = 65
    """Function that reads a texture."""
    ACCESS_SURFACE = 66
    """Function that accesses a surface."""
    HOST = 67
    """Function that calls Python for a warp."""
    BLOCK_WORK = 92
    """Pointer to a word per block of the grid: basic blocks that its warps executed. 0: not
    wanted."""
    COUNTED_WORDS = 93
    """Words at COUNTERS that hold executions of basic blocks."""
    COUNTED = 94
    """Basic blocks that warps had executed when the last block ended."""

    CHECK_ACCESS = 80
    """Function of the checker, in a checked run, that is called before accesses."""
    CHECK_SYNC = 81
    """Function of the checker that is called at synchronising instructions."""
    CHECK_ARRIVAL = 82
    """Function of the checker that is called when a warp reaches a barrier."""
    CHECK_RESUME = 83
    """Function of the checker that is called when a warp goes on after a barrier."""
    CHECK_STATE = 84
    """Number that the checker's functions are called with."""
    CHECK_SCRATCH = 85
    """Pointer to the buffer where the checker's functions find 32 operands of each kind."""
    CHECK_FAULT = 86
    """Function that takes note of an access out of bounds that the checker was not asked about."""
    WARP_CODE = 90
    """Function that runs a warp of a block that is not traced; may change while blocks run."""
    WARP_TRACED = 91
    """Function that runs a warp of a block that is traced."""
    TAKE = 73
    """Compiled function that takes a full trace buffer; 0 where Python does."""
    TAKE_STATE = 74
    """Number that the function TAKE is called with."""
    RUNS = 75
    """Pointer to the runs of the trace buffer."""
    RUN = 76
    """Pointer to the present run."""
    OFFSET_SHIFT = 77
    """Binary logarithm of an offset's bytes."""

    RESIDENTS = 68
    """Pointer to a row of :data:`RESIDENT_WORDS` for each block that can be held at once."""
    RESIDENT_COUNT = 69
    GAVE_WAY = 70
    """How often warps gave way since one of them last ended or reached a barrier."""
    GIVE_WAY_LIMIT = 71
    """Value of GAVE_WAY from which on the warps are taken to wait for ever."""
    GAVE_WAY_AT = 72
    """Where a warp last gave way, numbered as FAULT_SITE is."""


SLOTS = 96

GIVES_WAY = 1 << 30
"""Added to the number of the place where a warp goes on, if it stopped to let others run."""

PATIENCE = 64
"""Rounds of a waiting loop after which a warp gives way: enough for lanes of the warp itself to
pass one after another, few enough to cost less than the change of warps."""

RESIDENT_BLOCKS = 8192
"""Most blocks that one run holds at once, more than any GPU can: a multiprocessor holds at most 32
(CUDA C++ Programming Guide), the largest GPUs have fewer than 200 of them."""

RESIDENT_POINTERS = (
    Slot.SHARED,
    Slot.LOCAL_BASE,
    Slot.FRAMES,
    Slot.STATES,
    Slot.WAITS,
    Slot.BARRIERS,
)
"""Words of the context that point to memory of one resident block: a resident block's row begins
with its values of these."""

RESIDENT_VALUES = (
    Slot.IDENTITY,
    Slot.IDENTITY + 1,
)
"""Words of the context that are kept in a resident block's row while another block runs, after
:data:`RESIDENT_POINTERS`."""

RESIDENT_BLOCK = len(RESIDENT_POINTERS) + len(RESIDENT_VALUES)
"""Last word of a resident block's row: the block's number plus one, or 0 for none."""
RESIDENT_WORDS = RESIDENT_BLOCK + 1


class Fault(IntEnum):
    """What went wrong in compiled code."""

    NONE = 0
    BOUNDS = 1
    MISALIGNED = 2
    LIMIT = 3
    TRAP = 4
    DIVERGENT_BARRIER = 5
    BARRIER = 6
    NO_TEXTURE = 7
    TEXTURE_SHAPE = 8
    SURFACE_BOUNDS = 9
    SURFACE_MISALIGNED = 10
    FREE = 11
    NO_PROGRESS = 12


FUEL = 1 << 20
"""Instructions between two looks at STOP."""

WINDOW_WORDS = 8
"""64-bit words of an entry of the window table, a cache line: first address, bytes that can be
read, host pointer, array number, bytes that can be written, pointer to a texture's words."""

WINDOW_ARRAY = 3
"""Word of a window table's entry that holds the array's number."""

WINDOW_TEXTURE = 5
"""Word of a window table's entry that points to a texture's or surface's words, or is 0."""


def empty_windows() -> NDArray[np.int64]:
    """(WINDOWS, WINDOW_WORDS) window table without any memory."""
    table = np.zeros((WINDOWS, WINDOW_WORDS), np.int64)
    table[:, 0] = np.arange(WINDOWS, dtype=np.int64) << WINDOW_SHIFT
    table[:, 3] = -1
    return table


TRACE_RECORDS = 16384
"""Records of a trace buffer after which it is full."""

TRACE_SLACK = 256
"""Room for records beyond :data:`TRACE_RECORDS`, since code checks only now and then whether the
buffer is full."""

TRACE_OFFSETS = 1 << 17
"""Offsets of single lanes that a trace buffer has room for."""

OFFSETS_SLACK = 512
"""Room for offsets beyond :data:`TRACE_OFFSETS`: for the last access, written in two halves of 16
offsets, or for the accesses of one iteration of a loop that few lanes run."""

TRACE_RECORD = np.dtype(
    [
        ("base", np.int64),
        ("upper", np.int64),
        ("site", np.int32),
        ("stride", np.int32),
        ("row", np.int32),
        ("mask", np.uint32),
    ]
)
"""One trace record. ``base`` and ``upper`` are device addresses, of which the window tells the
array; the rest is as :class:`placewise.executor.trace.TraceChunk` has it."""

TRACE_RUN = np.dtype(
    [("first", np.int32), ("block", np.int32), ("warp", np.int32), ("phase", np.int32)]
)
"""Block, warp and phase of the records from number ``first`` of the buffer on, up to the next
run's first."""

TAKEN_RECORDS = 512
"""Records of a buffer that compiled code takes: it stays in the processor's first-level cache."""

TAKEN_OFFSETS = 4096
"""Offsets of single lanes that a buffer of :data:`TAKEN_RECORDS` has room for."""
