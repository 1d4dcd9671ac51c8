"""Accesses recorded as fields of elements, and what groups of fields cost for them, by hand."""

import numpy as np
import pytest

from placewise import make_case
from placewise.choose.layouts import layout_candidates
from placewise.executor import execute
from placewise.kernel.cases.prepare_case import read_case
from placewise.kernel.view import find_struct_arrays
from placewise.memory.fields import FieldRecorder, field_costs
from placewise.memory.fields.group_cost import WAVEFRONT_SECTORS, summed_costs
from placewise.memory.fields.record import line_uses
from placewise.space.layout import Group

STRUCT = "struct P { float x, y, z, w; float cold[4]; };\n"
DTYPE = np.dtype([(n, "f4") for n in "xyzw"] + [("cold", "f4", 4)], align=True)


def recorded(body, *, threads=64, elements=256):
    source = f"{STRUCT}__global__ void k(P *p, float *out) {{\n{body}\n}}"
    arguments = [np.zeros(elements, DTYPE), np.zeros(elements, np.float32)]
    read = read_case(make_case("k", source, arguments, block=threads, grid=1))
    (structs,) = find_struct_arrays(read.case)
    recorder = FieldRecorder(structs.record, structs.parameters, read.case.launch)
    execute(
        read.kernel, read.case.launch, read.case.inputs,
        consumer=recorder, trace_blocks=recorder.trace_blocks,
    )  # fmt: skip
    return structs.record, recorder.accesses()


def test_neighbouring_elements():
    """32 lanes that read x of 32-byte structs move 32 sectors in 8 lines, of an array of x alone 4
    in one."""
    record, accesses = recorded("int i = threadIdx.x; out[i] = p[i].x;")
    costs = field_costs(record, accesses, 4096)
    warps = 2
    assert costs.group(Group(record.names)) == pytest.approx(warps * (32 + 8 * WAVEFRONT_SECTORS))
    assert costs.group(Group(("x",))) == pytest.approx(warps * (4 + WAVEFRONT_SECTORS))
    assert costs.group(Group(("y", "cold"))) == 0.0
    (use,) = line_uses(record, accesses)
    assert (use.line, use.fields, use.requests) == (3, ("x",), 2)
    assert (use.used_bytes, use.moved_bytes) == (2 * 32 * 4, 2 * 32 * 32)


def test_scattered_elements_favour_fields_that_are_read_together():
    body = "int i = threadIdx.x, j = i * 61 % 4096; out[i] = p[j].x + p[j].y + p[j].z + p[j].w;"
    record, accesses = recorded(body, elements=4096)
    costs = field_costs(record, accesses, 4096)
    together = costs.of_bits(0b1111)
    apart = sum(costs.of_bits(1 << n) for n in range(4))
    assert together < 0.5 * apart
    best = layout_candidates(costs)[0]
    assert set(best.groups[0].fields) == {"x", "y", "z", "w"}
    assert best.groups[0].align_bytes == 16


def test_a_whole_struct_is_all_its_fields():
    record, accesses = recorded("int i = threadIdx.x; P q = p[i]; p[i + 64] = q;")
    kinds = {accesses.sites[s].kind for s in accesses.site}
    assert kinds == {"load", "store"}
    stored = [use for use in line_uses(record, accesses) if use.kind == "store"]
    assert set().union(*(use.fields for use in stored)) == set(record.names)
    assert sum(use.used_bytes for use in stored) == 64 * DTYPE.itemsize


def test_what_is_read_again_soon_is_moved_once():
    body = "int i = threadIdx.x; for (int k = 0; k < 3; k++) out[i + k] = p[i].x * k;"
    record, accesses = recorded(body)
    loads = len(accesses.site) // 2
    once = field_costs(record, accesses, 1 << 20).group(Group(("x",)))
    assert once == pytest.approx(2 * (4 + loads * WAVEFRONT_SECTORS))


def test_no_accesses_cost_nothing_and_leave_soa():
    record, accesses = recorded("if (threadIdx.x == 77) p[0].x = 1;")
    costs = field_costs(record, accesses, 4096)
    assert costs.group(Group(record.names)) == 0.0
    assert layout_candidates(costs)[0].kind() == "SoA"


def test_what_a_loop_repeats_is_kept_once_and_counted_as_often():
    body = "int i = threadIdx.x; for (int k = 0; k < {}; k++) out[i + k] = p[i].x + p[i].y * k;"
    found = {}
    for times in (3, 30):
        record, accesses = recorded(body.format(times))
        found[times] = field_costs(record, accesses, 1 << 20)
        assert len(accesses.site) == times * 2 * 2
        x = found[times].group(Group(("x",)))
        assert x == pytest.approx(2 * (4 + times * WAVEFRONT_SECTORS))
    few, many = (costs.windows for costs in found.values())
    assert len(few.access) == len(many.access)
    assert many.access_weight.sum() == pytest.approx(10 * few.access_weight.sum())
    together = summed_costs([(found[3], 2.0), (found[30], 1.0)])
    for names in (("x",), ("x", "y"), record.names):
        each = [costs.group(Group(names)) for costs in found.values()]
        assert together.group(Group(names)) == pytest.approx(2.0 * each[0] + each[1])
