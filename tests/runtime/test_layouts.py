"""Kernels whose arrays of structs are converted at each launch."""

import numpy as np
import pytest

import placewise
from placewise import kernel_from, make_case
from placewise.advisor.finalists import Demand
from placewise.kernel.cases.prepare_case import compile_case, read_case
from placewise.kernel.launch import Launch
from placewise.kernel.view import find_struct_arrays
from placewise.rewriter.layouts import rewrite_layout
from placewise.runtime import choice
from placewise.runtime.devices.executor_place import ExecutorPlace
from placewise.runtime.devices.pieces import cut, put_back
from placewise.runtime.form import form_document, form_from_document, form_of_layout
from placewise.runtime.launches.call import Call
from placewise.runtime.launches.facts import written_parameters
from placewise.runtime.launches.values import read_value
from placewise.space.layout import parse_layout

BODIES = """
struct Body { float x, y, z, mass; double charge; float ax, ay, az; char kind; };
__global__ void pull(Body *bodies, const float *factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float a = 0.0f;
    for (int j = 0; j < n; j++) {
        float d = bodies[j].x - bodies[i].x;
        a += d * factor[i] / (1.0f + d * d);
    }
    bodies[i].ax = a;
}
"""
BODY = np.dtype(
    [
        *((name, "f4") for name in ("x", "y", "z", "mass")),
        ("charge", "f8"),
        *((name, "f4") for name in ("ax", "ay", "az")),
        ("kind", "i1"),
    ],
    align=True,
)


def bodies(n, seed=0):
    """All bytes are random, those between the fields too, and all numbers are finite."""
    rng = np.random.default_rng(seed)
    made = rng.integers(0, 60, n * BODY.itemsize, dtype=np.uint8).view(BODY)
    for name in ("x", "y", "z", "ax"):
        made[name] = rng.random(n)
    return made


def given(n, seed=0):
    factor = np.random.default_rng(seed).random(n, dtype=np.float32)
    return bodies(n, seed), factor, np.int32(n)


def pull(array, factor):
    d = array["x"][None].astype(np.float64) - array["x"][:, None]
    return (d * factor[:, None] / (1 + d * d)).sum(1)


@pytest.fixture(scope="module", params=["soa", "aosoa:8"])
def relaid(request):
    case = make_case("pull", BODIES, list(given(100)), block=32, grid=4)
    read = read_case(case)
    (structs,) = find_struct_arrays(read.case)
    layout = parse_layout(request.param, structs.record)
    return rewrite_layout(read.case, read.view, structs, layout), read.case


def test_pieces_are_the_layouts_arrays(relaid):
    made, original = relaid
    form = form_of_layout(made, original)
    array = original.inputs.arguments[0].data
    arguments = {a.name: a for a in made.case.inputs.arguments}
    for name, piece in zip(arguments, form.parameters, strict=True):
        if not isinstance(piece, int):
            expected = arguments[name].data.reshape(-1).view(np.uint8)
            np.testing.assert_array_equal(cut(array, piece), expected)


def test_pieces_put_back_leave_what_lies_between_fields(relaid):
    form = form_of_layout(*relaid)
    before = bodies(100, seed=3)
    after = bodies(100, seed=4)
    for piece in form.pieces:
        put_back(after, piece, cut(before, piece))
    for name in BODY.names:
        np.testing.assert_array_equal(after[name], before[name])
    raw = after.view(np.uint8).reshape(100, -1), bodies(100, seed=4).view(np.uint8).reshape(100, -1)
    np.testing.assert_array_equal(raw[0][:, 37:40], raw[1][:, 37:40])


def test_a_form_with_pieces_on_the_executor(relaid):
    form = form_from_document(form_document(form_of_layout(*relaid)))
    original = kernel_from(BODIES, "pull")
    place = ExecutorPlace()
    ready = place.prepare(form, original)
    one, other = given(100, seed=1), given(100, seed=1)
    calls = [
        Call(Launch((4, 1, 1), (32, 1, 1)), tuple(read_value(v) for v in values))
        for values in (one, other)
    ]
    place.run_original(calls[0], original)
    outputs = dict(place.attempt(ready, calls[1], place.snapshot(calls[1], original)))
    assert outputs[0].tobytes() == one[0].tobytes()
    assert other[0].tobytes() != one[0].tobytes()
    place.launcher(ready, calls[1])()
    assert other[0].tobytes() == one[0].tobytes()


def test_pieces_that_are_written(relaid):
    """Of the struct's fields one is written; of AoSoA that is the one piece that there is."""
    made, original = relaid
    form = form_of_layout(made, original)
    kernel = compile_case(made.case)
    pieces = {n for n, p in enumerate(form.parameters) if not isinstance(p, int)}
    written = written_parameters(kernel, frozenset(pieces))
    assert len(written) == 1
    assert "ax" in made.case.inputs.arguments[min(written)].name or len(pieces) == 1


@pytest.mark.slow
def test_tune_converts_where_that_is_asked_for(tmp_path, monkeypatch):
    """Each launch reads four million elements and converts 2000."""
    monkeypatch.setattr(choice, "_placed", lambda *_: choice.keep_original("not searched"))
    tuned = placewise.tune(
        BODIES,
        "pull",
        machine="A100",
        cache=tmp_path,
        layouts=True,
        demand=Demand(probability=0.5, gain=0.0),
        patience=float("inf"),
    )
    for seed in range(3):
        array, factor, n = given(2000, seed)
        tuned(16, 128, (array, factor, n))
        np.testing.assert_allclose(array["ax"], pull(array, factor), rtol=1e-2, atol=1e-2)
    (one,) = tuned.report().classes
    assert one.moves
    assert one.tuned_launches == 2
