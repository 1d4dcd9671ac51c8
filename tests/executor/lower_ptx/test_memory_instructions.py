"""Loads and stores of every type, vector, space and qualifier; fences; the stack's instructions."""

from __future__ import annotations

import numpy as np
import pytest
from ptx_harness import kernel_from

from placewise.executor import execute
from placewise.kernel.launch import ArrayArgument, Inputs, Launch

RNG = np.random.default_rng(51)
THREADS = 40
HEAD = """.version 8.8
.target sm_100
.address_size 64
.const .align 16 .b8 fixed[2048];
.visible .entry k(.param .u64 in, .param .u64 out) {
  .reg .b64 %i, %o, %t, %g; .reg .b32 %n, %s, %l, %r<9>; .reg .b64 %rd<9>; .reg .b16 %h<9>;
  .reg .pred %p;
  .shared .align 16 .b8 tile[4096];
  .local .align 16 .b8 own[64];
  mov.u32 %n, %tid.x; cvt.u64.u32 %t, %n;
  ld.param.u64 %i, [in]; ld.param.u64 %o, [out];
"""


def execute_text(body, data, out):
    kernel = kernel_from(HEAD + body + "\n ret;\n}")
    arguments = (ArrayArgument("in", data), ArrayArgument("out", out))
    return execute(kernel, Launch((1, 1, 1), (THREADS, 1, 1)), Inputs(arguments)).output("out")


def registers(bits, count):
    name = {8: "%h", 16: "%h", 32: "%r", 64: "%rd"}[bits]
    group = [f"{name}{n}" for n in range(count)]
    return group[0] if count == 1 else "{" + ", ".join(group) + "}"


VECTORS = [
    (kind, bits, count)
    for bits, kinds, counts in (
        (8, "bus", (1, 2, 4)), (16, "bus", (1, 2, 4)), (32, "busf", (1, 2, 4, 8)),
        (64, "busf", (1, 2, 4)),
    )
    for kind in kinds
    for count in counts
]  # fmt: skip


def test_every_type_and_vector_in_every_space():
    """Bytes go from global through shared and local memory and generic addresses unchanged."""
    for kind, bits, count in VECTORS:
        size = bits // 8 * count
        vector = f".v{count}" if count > 1 else ""
        word, group = f"{vector}.{kind}{bits}", registers(bits, count)
        lines = [f"mad.lo.u64 %i, %t, {size}, %i; mad.lo.u64 %o, %t, {size}, %o;"]
        lines.append(f"ld.global{word} {group}, [%i];")
        if size <= 16:
            lines += [
                f"mul.lo.u32 %s, %n, {size}; mov.u32 %l, tile; add.u32 %s, %s, %l;",
                f"st.shared{word} [%s], {group}; ld.shared{word} {group}, [%s];",
                f"st.local{word} [own+{size}], {group}; ld.local{word} {group}, [own+{size}];",
                f"cvt.u64.u32 %g, %s; cvta.shared.u64 %g, %g; ld{word} {group}, [%g];",
            ]
        lines.append(f"st{word} [%o], {group};")
        data = RNG.integers(0, 256, THREADS * size).astype(np.uint8)
        found = execute_text("\n".join(lines), data, np.zeros_like(data))
        np.testing.assert_array_equal(found, data, err_msg=word)


@pytest.mark.parametrize("bits", [8, 16, 32])
def test_narrow_loads_extend_and_narrow_stores_cut(bits):
    data = RNG.integers(0, 1 << bits, THREADS).astype(f"u{bits // 8}")
    out = np.zeros((THREADS, 3), np.uint64)
    body = f"""
  mad.lo.u64 %i, %t, {bits // 8}, %i; mad.lo.u64 %o, %t, 24, %o;
  ld.global.u{bits} %rd0, [%i]; ld.global.s{bits} %rd1, [%i];
  st.global.b64 [%o], %rd0; st.global.b64 [%o+8], %rd1;
  xor.b64 %rd2, %rd1, -1; st.global.b{bits} [%o+16], %rd2;"""
    found = execute_text(body, data, out)
    np.testing.assert_array_equal(found[:, 0], data)
    np.testing.assert_array_equal(found[:, 1].view(np.int64), data.view(f"i{bits // 8}"))
    np.testing.assert_array_equal(found[:, 2], ~data)


LOADS = [
    "ld.weak.global.b32", "ld.volatile.global.b32", "ld.relaxed.gpu.global.b32",
    "ld.acquire.sys.global.b32", "ld.relaxed.cta.b32", "ld.mmio.relaxed.sys.global.b32",
    "ld.global.ca.b32", "ld.global.cg.b32", "ld.global.cs.b32", "ld.global.lu.b32",
    "ld.global.cv.b32", "ld.global.nc.b32", "ld.global.nc.L1::no_allocate.L2::128B.b32",
    "ld.global.L1::evict_first.L2::64B.b32", "ldu.global.b32", "ld.b32",
]  # fmt: skip
STORES = [
    "st.weak.global.b32", "st.volatile.global.b32", "st.relaxed.gpu.global.b32",
    "st.release.cta.b32", "st.global.wb.b32", "st.global.cg.b32", "st.global.cs.b32",
    "st.global.wt.b32", "st.global.L1::evict_last.b32", "st.b32",
]  # fmt: skip
FENCES = [
    "membar.cta", "membar.gl", "membar.sys", "fence.sc.cta", "fence.acq_rel.gpu",
    "fence.proxy.async", "fence.mbarrier_init.release.cluster",
]  # fmt: skip


def test_every_qualifier():
    lines = ["mad.lo.u64 %i, %t, 4, %i; mad.lo.u64 %o, %t, 4, %o; mov.b32 %r1, 0;"]
    for n in range(max(len(LOADS), len(STORES))):
        load, store = LOADS[n % len(LOADS)], STORES[n % len(STORES)]
        lines.append(f"{load} %r0, [%i]; add.u32 %r1, %r1, %r0; {store} [%o], %r1;")
        lines.append(f"{FENCES[n % len(FENCES)]};")
    data = RNG.integers(0, 1 << 20, THREADS).astype(np.uint32)
    found = execute_text("\n".join(lines), data, np.zeros_like(data))
    np.testing.assert_array_equal(found, data * max(len(LOADS), len(STORES)))


def test_predicated_accesses_leave_the_others_alone():
    body = """
  mad.lo.u64 %i, %t, 8, %i; mad.lo.u64 %o, %t, 8, %o;
  and.b32 %s, %n, 3; setp.eq.u32 %p, %s, 1;
  mov.b32 %r0, 7; mov.b32 %r1, 9;
  @%p ld.global.v2.b32 {%r0, %r1}, [%i];
  @!%p st.global.v2.b32 [%o], {%r1, %r0};
  @%p st.global.b32 [%o+4], %r1;"""
    data = RNG.integers(10, 1 << 30, (THREADS, 2)).astype(np.uint32)
    found = execute_text(body, data, np.full_like(data, 5))
    chosen = (np.arange(THREADS) & 3 == 1)[:, None]
    ours = np.stack([np.full(THREADS, 5), data[:, 1]], 1)
    np.testing.assert_array_equal(found, np.where(chosen, ours, [9, 7]))


def test_the_stack_is_saved_and_restored():
    body = """
  mad.lo.u64 %o, %t, 24, %o;
  stacksave.u64 %rd0;
  alloca.u64 %rd1, 40;
  st.local.u32 [%rd1+36], %n;
  alloca.u64 %rd2, 100, 64;
  ld.local.u32 %r0, [%rd1+36];
  stackrestore.u64 %rd0;
  alloca.u64 %rd3, 8;
  sub.u64 %rd4, %rd3, %rd1; and.b64 %rd5, %rd2, 63;
  cvt.u64.u32 %rd6, %r0;
  st.global.u64 [%o], %rd4; st.global.u64 [%o+8], %rd5; st.global.u64 [%o+16], %rd6;"""
    found = execute_text(body, np.zeros(1, np.uint32), np.ones((THREADS, 3), np.uint64))
    expected = np.stack([np.zeros(THREADS), np.zeros(THREADS), np.arange(THREADS)], 1)
    np.testing.assert_array_equal(found, expected)


def test_ranks_in_a_cluster_and_register_counts():
    body = """
  mad.lo.u64 %o, %t, 4, %o;
  setmaxnreg.inc.sync.aligned.u32 40;
  mov.u32 %s, tile;
  getctarank.shared::cluster.u32 %r0, %s;
  mapa.shared::cluster.u32 %r1, %s, %r0;
  sub.u32 %r1, %r1, %s; add.u32 %r1, %r1, 3;
  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
  st.global.u32 [%o], %r1;"""
    found = execute_text(body, np.zeros(1, np.uint32), np.zeros(THREADS, np.uint32))
    assert found.tolist() == [3] * THREADS
