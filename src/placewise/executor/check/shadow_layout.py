"""Layout of the checker's memory: offsets in 64-bit words that compiled code and Python share.

Names begin with their table: S_ the state of a launch, SITE_ memory instructions, SHADOW_ shadows
of arrays, SYNC_ synchronising instructions, B_ a block, NODE_ releases, F_ findings. All are plain
integers, since Numba compiles them in as constants.
"""

from __future__ import annotations

LANES = 32
WARPS = 32
"""Largest number of warps in a block."""
THREADS = LANES * WARPS
BARRIERS = 16

# --- the state of a launch

S_SITES = 0
"""Address of the table of memory instructions, :data:`SITE_WORDS` each."""
S_WINDOWS = 1
"""Address of the executor's window table: a row for each array or memory space."""
S_SHADOWS = 2
"""Address of the table of shadows by window, :data:`SHADOW_WORDS` each."""
S_SYNCS = 3
"""Address of the table of synchronising instructions, :data:`SYNC_WORDS` each."""
S_SCRATCH = 4
"""Address of the buffer in which generated code passes 32 operands, then the values to store."""
S_FINDINGS = 5
"""Address of the table of findings."""
S_FINDINGS_LOST = 6
"""Number of findings that did not fit the table."""
S_BLOCK = 7
"""Address of the words of the block that runs now."""
S_BASE = 8
"""Serial number of the launch's block 0; stamps with lower numbers are from earlier launches."""
S_WARPS = 9
S_LAST_LANES = 10
"""Mask of the lanes in the last warp of a block."""
S_SHARED_BYTES = 11
S_SHARED_CELLS = 12
S_SHARED_READS = 43
S_SHARED_SHIFT = 13
"""Binary logarithm of the bytes of a cell of shared memory."""
S_SHARED_DEFINED = 14
S_SHARED_ASYNC = 15
"""Address of a word per 4 bytes of shared memory that names its asynchronous copy; 0 if the kernel
has no such copies."""
S_LOCAL_BYTES = 16
S_LOCAL_DEFINED = 17
S_BAD = 18
"""Number of bad lane accesses that were skipped so far."""
S_BAD_LIMIT = 19
S_STOP = 20
"""Address of the word that ends the run."""
S_PLAIN_BARRIERS = 21
"""Nonzero if all barriers have one number, and each waits for the whole block."""
S_TRACKING = 22
"""Nonzero if the kernel has fences or release accesses."""
S_NODES = 23
"""Address of the hash table of releases, :data:`NODE_WORDS` each; a power of two entries."""
S_NODE_MASK = 24
S_NODE_COUNT = 25
S_NODES_FULL = 26
S_BARRIER_LINES = 27
"""Address of a word per program block: the source line of the barrier at its end."""
S_WINDOW_SHIFT = 28
S_WINDOW_COUNT = 29
S_WINDOW_WORDS = 30
S_SURPRISES = 31
"""Number of stores to arrays that the points-to analysis did not expect to be written."""
S_RESIDENT = 32
"""Number of the resident block that the addresses of block memory (such as S_BLOCK) belong to."""
S_BLOCK_STRIDE = 33
"""Bytes from one resident block's words to the next one's."""
S_CELLS_STRIDE = 34
"""Bytes from one resident block's cells of shared memory to the next one's."""
S_DEFINED_STRIDE = 35
"""Bytes from one resident block's map of defined shared bytes to the next one's."""
S_ASYNC_STRIDE = 36
"""Bytes from one resident block's words for asynchronous copies to the next one's."""
S_LOCAL_STRIDE = 37
"""Bytes from one resident block's map of defined local bytes to the next one's."""
S_FIRST_BLOCK = 38
S_FIRST_CELLS = 39
S_FIRST_DEFINED = 40
S_FIRST_ASYNC = 41
S_FIRST_LOCAL = 42
S_READS_STRIDE = 44
S_FIRST_READS = 45
STATE_WORDS = 48

FIRST_OF = {
    S_BLOCK: S_FIRST_BLOCK,
    S_SHARED_CELLS: S_FIRST_CELLS,
    S_SHARED_READS: S_FIRST_READS,
    S_SHARED_DEFINED: S_FIRST_DEFINED,
    S_SHARED_ASYNC: S_FIRST_ASYNC,
    S_LOCAL_DEFINED: S_FIRST_LOCAL,
}
"""Word with the first resident block's address, by the word with the current block's."""

# --- memory instructions

SITE_KIND = 0
SITE_SPACE = 1
SITE_LANE_BYTES = 2
SITE_ELEMENT_BYTES = 3
SITE_FLAGS = 4
SITE_USED_BYTES = 5
"""Mask of the bytes of a lane's load that the program uses; all bits where it is no vector load."""
SITE_WORDS = 8

LOAD, STORE, ATOMIC = 0, 1, 2
IN_WINDOW, IN_SHARED, IN_LOCAL = 0, 1, 2

IS_ATOMIC = 1
IS_VOLATILE = 2
RELEASES = 4
ACQUIRES = 8
IS_ASYNC = 16
SYNCHRONISES = IS_ATOMIC | IS_VOLATILE | RELEASES | ACQUIRES

# --- shadows

SHADOW_CELLS = 0
"""Address of the array's cells; 0 if no thread may write the array."""
SHADOW_READS = 1
"""Address of the read stamps that belong to the cells; touched only after reads."""
SHADOW_SHIFT = 2
SHADOW_DEFINED = 3
"""Address of a byte per byte of the array, nonzero if it is defined; 0 if all bytes are."""
SHADOW_EXPECTED = 4
"""Nonzero if the points-to analysis expects writes, or if the executor itself writes."""
SHADOW_WORDS = 8

CELL_WORDS = 2
"""Words of a cell: the last write's stamp (who, when), see :mod:`.compiled.order`."""
READ_WORDS = 8
"""Words of a cell's read record: stamps of two reads since the last write, of another write that is
not ordered with the last one, which is atomic or volatile, and of another atomic or volatile write
beside that."""
OTHER_WRITE = 4
"""Word of the read record at which the other write's stamp begins."""
OTHER_ATOMIC = 6
"""Word at which the stamp begins of the atomic or volatile write kept beside a plain one."""
HAS_READS = 1 << 62
"""Flag in a cell's first word: its read record has been used since the last plain write."""

BYTES_SHIFT = 12
"""Position in a stamp of the mask of the cell's bytes that the access touches."""

# --- synchronising instructions

SYNC_KIND = 0
SYNC_OPERAND = 1
SYNC_WORDS = 2

WARP_SYNC, FENCE, COMMIT, WAIT, COLLECTIVE, SHUFFLE = 0, 1, 2, 3, 4, 5
FENCE_BLOCK, FENCE_DEVICE = 1, 2

# --- what the present block has done

B_SERIAL = 0
B_SEQUENCE = 1
"""Per warp: number of synchronisations among its lanes so far."""
B_EVERY = B_SEQUENCE + WARPS
"""Per warp: sequence number up to which every lane knows what the other lanes did."""
B_CLOCK = B_EVERY + WARPS
"""Per warp: clock, the number of block barriers that it has reached."""
B_KNOWN_CLOCK = B_CLOCK + WARPS
"""Per warp and other warp: clock of the other up to which this warp knows what it did."""
B_WAITS_AT = B_KNOWN_CLOCK + WARPS * WARPS
"""Per warp: number of the barrier that it waits at, or -1; in the next table, the barrier's round
when it arrived."""
B_WAITS_ROUND = B_WAITS_AT + WARPS
B_ROUND = B_WAITS_ROUND + WARPS
"""Per barrier: number of times that it was completed."""
B_ARRIVED = B_ROUND + BARRIERS
"""Per barrier and warp: latest clock known to the warps that have arrived."""
B_PASSED = B_ARRIVED + BARRIERS * WARPS
"""Per barrier and warp: clocks that warps learn when they leave the last completed round."""
B_LAST_BARRIER = B_PASSED + BARRIERS * WARPS
"""Per warp: program block that ends in the last barrier that it reached."""
B_PHASE = B_LAST_BARRIER + WARPS
"""Clock at which the first warp has arrived at the present barrier."""
B_PHASE_BARRIER = B_PHASE + 1
"""Program block that ends in the barrier at which that warp has arrived."""
B_PAIRS_USED = B_PHASE_BARRIER + 1
"""Nonzero if the block has used the table :data:`B_PAIRS`."""
B_THREADS_USED = B_PAIRS_USED + 1
"""Nonzero if the block has used the tables by thread, from :data:`B_FENCE_SEQUENCE` on."""
B_ACQUIRES = B_THREADS_USED + 1
"""Number of entries of the list of acquires."""
B_SMALL = B_ACQUIRES + 1
"""Number of words that are zeroed for every new block."""
ACQUIRES_KEPT = 64
ACQUIRE_WORDS = 4
B_ACQUIRE_LIST = B_SMALL
B_PAIRS = B_ACQUIRE_LIST + ACQUIRES_KEPT * ACQUIRE_WORDS
"""Per warp, lane and other lane: sequence number up to which the lane knows what the other did."""
B_FENCE_SEQUENCE = B_PAIRS + WARPS * LANES * LANES
"""Per thread, its last fence: sequence number; in the following tables B_EVERY, clock and scope."""
B_FENCE_EVERY = B_FENCE_SEQUENCE + THREADS
B_FENCE_CLOCK = B_FENCE_EVERY + THREADS
B_FENCE_SCOPE = B_FENCE_CLOCK + THREADS
B_COMMITTED = B_FENCE_SCOPE + THREADS
"""Per thread: number of groups of asynchronous copies committed; in the next table, complete."""
B_COMPLETE = B_COMMITTED + THREADS
WAITS_KEPT = 8
B_WAITS = B_COMPLETE + THREADS
"""Per thread: number of waits for groups, those at one clock and sequence number counted once. In
the following tables, for the last WAITS_KEPT of them: groups then complete, clock, sequence
number."""
B_WAIT_GROUPS = B_WAITS + THREADS
B_WAIT_CLOCK = B_WAIT_GROUPS + THREADS * WAITS_KEPT
B_WAIT_SEQUENCE = B_WAIT_CLOCK + THREADS * WAITS_KEPT
BLOCK_WORDS = B_WAIT_SEQUENCE + THREADS * WAITS_KEPT

# --- releases

NODE_ADDRESS = 0
"""0 if the row is free."""
NODE_KEY = 1
"""Serial number of the block, times NODE_PARTS, plus the part: whole block, a warp or a thread."""
NODE_BEFORE = 2
"""Sequence number or clock up to which the release covers the accesses of that part."""
NODE_SCOPE = 3
NODE_WORDS = 4
NODE_BLOCK_PART = 0
NODE_WARP_PART = 1
NODE_THREAD_PART = 64
NODE_PARTS = 2048
NODE_ANY = -1
"""Key of the entry that says that some thread released at an address."""

# --- findings

FINDING_ROWS = 4096
FINDING_WORDS = 16
F_KIND = 0
"""0 if the row is free."""
F_SITE = 1
F_OTHER_SITE = 2
F_WINDOW = 3
F_FLAGS = 4
"""Flags of a race: how far apart the threads are, and whether the values were the same."""
F_COUNT = 5
F_BLOCK = 6
F_THREAD = 7
F_OTHER_BLOCK = 8
F_OTHER_THREAD = 9
F_OFFSET = 10
F_EXTRA = 11

BOUNDS, MISALIGNED, READ_ONLY, NULL, UNDEFINED = 1, 2, 3, 4, 5
WRITE_WRITE, WRITE_READ, READ_WRITE = 6, 7, 8
ASYNC_PENDING = 9
BARRIER_SKIPPED, BARRIER_MISMATCH = 10, 11
MASK_WITHOUT_SELF, MASK_OF_ABSENT, SHUFFLE_OF_ABSENT = 12, 13, 14
PARTLY_UNDEFINED = 15
"""A vector load some of whose bytes were never written."""

APART_LANES, APART_WARPS, APART_BLOCKS = 1, 2, 3
SAME_VALUE = 8
ASYNC_UNORDERED = 16
SHARED_WINDOW, LOCAL_WINDOW, NO_WINDOW = 1, 2, -1
