"""One layout for the arrays of structs that several launches share."""

import json
from dataclasses import replace

import numpy as np
import pytest
from pydantic import TypeAdapter
from typer.testing import CliRunner

from placewise import (
    KernelLaunch,
    PointerTo,
    Uninitialised,
    advise_program_jointly,
    advise_program_layout,
    make_program,
)
from placewise.advisor import Demand
from placewise.cli.main import app
from placewise.errors import UnsupportedError
from placewise.executor import execute
from placewise.kernel.cases.prepare_case import compile_case
from placewise.report.layouts.program_layout import write_program_layout_files
from placewise.rewriter.layouts import accessors
from placewise.schemas import DOCUMENTS

STRUCT = "struct P { float x, y, z, w, vx, vy, vz; int cold; };\n"
MOVE = """__device__ void advance(P *p, float dt) { p->x += p->vx * dt; p->y += p->vy * dt; }
__global__ void move(P *p, int n, float dt) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) advance(&p[i], dt);
}
"""
SUM = """__device__ float length(const P *p) { return p->x * p->x + p->y * p->y; }
__global__ void lengths(const P *q, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = length(q + i);
}
"""
SCALE = """__global__ void scale(float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] *= 0.5f;
}
"""
OTHER = """struct Other { float x, y, z, w, vx, vy, vz; int cold; };
__global__ void stop(Other *others) { others[threadIdx.x].x = 0; }
"""
DTYPE = np.dtype([(f, "f4") for f in ("x", "y", "z", "w", "vx", "vy", "vz")] + [("cold", "i4")])
N = 4096


def particles(n=N):
    made = np.zeros(n, DTYPE)
    random = np.random.default_rng(5)
    for name in ("x", "y", "vx", "vy"):
        made[name] = random.normal(size=n)
    made["cold"] = np.arange(n)
    return made


def program(source=STRUCT + MOVE + SUM + SCALE, *more, rounds=50, values=(), n=N):
    shape = {"problem": n, "block": 128}
    given = {"bodies": particles(n), "out": np.zeros(n, np.float32), "n": np.int32(n),
             "dt": np.float32(0.25)} | dict(values)  # fmt: skip
    launches = [
        KernelLaunch("move", ["bodies", "n", "dt"], **shape, times=2),
        KernelLaunch("lengths", ["bodies", "out", "n"], **shape),
        KernelLaunch("scale", ["out", "n"], **shape),
        *more,
    ]
    return make_program(source, given, launches, rounds=rounds)


@pytest.mark.slow
def test_one_layout_is_written_into_all_kernels_and_its_cost_is_a_sum():
    advice = advise_program_layout(
        program(n=1 << 16), "A100", layouts=["soa", "{x y vx vy} {z w vz cold}"]
    )
    (found,) = advice.structs
    assert found.structs.names == ("bodies",)
    assert set(found.structs.kernels) == {1, 2}
    assert [launch.launches for launch in advice.launches] == [100, 50, 50]
    for option in found.options:
        assert option.proven
        times = [t.ms for t in option.launches]
        assert times[2] == advice.launches[2].timed.ms
        assert option.total_ms == pytest.approx(100 * times[0] + 50 * times[1] + 50 * times[2])
        # In and out: every struct is 32 bytes in either layout.
        assert option.conversion.bytes == 2 * (2 * 32 << 16)
        converted = option.total_ms + option.conversion.milliseconds
        assert option.ratio.ratio == pytest.approx(converted / advice.present_ms)
        assert option.kernels_ratio.ratio == pytest.approx(option.total_ms / advice.present_ms)
    assert found.best is not None
    assert found.best.speedup > 1.03
    document = advice.to_dict()
    TypeAdapter(DOCUMENTS["placewise-program-layout"]).validate_python(document)


def test_the_written_program_computes_what_numpy_does():
    """Two rounds by hand: every launch of the written source on what the ones before it left."""
    advice = advise_program_layout(program(rounds=2), "A100", layouts=["soa"])
    relaid = advice.structs[0].options[0].relaid
    now = {"bodies_" + f: particles()[f].copy() for f in DTYPE.names}
    expected = particles()
    out = np.zeros(N, np.float32)
    moved = {}
    for _ in range(2):
        for launch in relaid.program.launches:
            case = launch.case
            arrays = launch.arrays_of(case)
            names = {a.name for a in case.inputs.arrays}
            assert names == set(arrays)
            inputs = _with(case.inputs, arrays, now | moved)
            run = execute(compile_case(case), case.launch, inputs)
            moved |= {arrays[n]: v for n, v in run.outputs if n in arrays}
        expected["x"] += expected["vx"] * np.float32(0.25)
        expected["y"] += expected["vy"] * np.float32(0.25)
        out = (expected["x"] ** 2 + expected["y"] ** 2) * np.float32(0.5)
    # ``times`` is how often in a row; here each launch ran once.
    assert np.allclose(moved["bodies_x"], expected["x"], rtol=1e-6)
    assert np.allclose(moved["out"], out, rtol=1e-5)
    assert (moved["bodies_cold"] == expected["cold"]).all()


def _with(inputs, arrays, values):
    arguments = tuple(
        replace(a, data=values[arrays[a.name]].reshape(a.data.shape))
        if a.name in arrays and arrays[a.name] in values
        else a
        for a in inputs.arguments
    )
    return replace(inputs, arguments=arguments)


@pytest.mark.slow
def test_arrays_that_only_the_gpu_sees_are_not_converted():
    fill = """__global__ void fill(P *p, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { p[i].x = i; p[i].y = 1; p[i].vx = 0.5f; p[i].vy = 2; }
}
"""
    shape = {"problem": N, "block": 128}
    made = make_program(
        STRUCT + MOVE + fill,
        {"bodies": Uninitialised((N,), DTYPE), "n": np.int32(N), "dt": np.float32(1)},
        [
            KernelLaunch("fill", ["bodies", "n"], **shape),
            KernelLaunch("move", ["bodies", "n", "dt"], **shape),
        ],
    )
    advice = advise_program_layout(made, "A100", layouts=["soa"])
    (option,) = advice.structs[0].options
    assert option.proven
    assert option.conversion.bytes == 0


@pytest.mark.slow
def test_an_array_that_another_kernel_gets_as_another_type_stays():
    made = program(
        STRUCT + MOVE + SUM + SCALE + OTHER, KernelLaunch("stop", ["bodies"], grid=1, block=32)
    )
    first, second = advise_program_layout(made, "A100", layouts=["soa"]).structs
    assert first.structs.obstacle == "launch 4 (stop) gets bodies as another type"
    assert second.structs.obstacle == "launch 1 (move) gets bodies as another type"
    assert first.options == second.options == ()


@pytest.mark.slow
def test_an_array_that_another_argument_points_into_stays():
    source = (
        STRUCT + MOVE + SUM.replace("*q, float *out, int n", "*bodies, float *out, int n, P *v")
    )
    source = source.replace("length(q + i)", "length(bodies + i) + v->x")
    made = make_program(
        source + SCALE,
        {"bodies": particles(), "out": np.zeros(N, np.float32), "n": np.int32(N),
         "dt": np.float32(1), "v": PointerTo("bodies")},
        [
            KernelLaunch("move", ["bodies", "n", "dt"], problem=N, block=128),
            KernelLaunch("lengths", ["bodies", "out", "n", "v"], problem=N, block=128),
        ],
    )  # fmt: skip
    (found,) = advise_program_layout(made, "A100", layouts=["soa"]).structs
    assert found.structs.obstacle == "launch 2 (lengths): 'v' points into it"
    assert found.options == ()


def test_a_wrong_layout_is_found_in_sequence(monkeypatch):
    honest = accessors._place

    def swapped(arrays, layout, names, field, index):
        field = {"vx": "vz", "vz": "vx"}.get(field, field)
        return honest(arrays, layout, names, field, index)

    monkeypatch.setattr(accessors, "_place", swapped)
    (found,) = advise_program_layout(program(), "A100", layouts=["soa"]).structs
    assert not found.options[0].proven
    assert found.options[0].detail == "p differs behind launch 1 (move)"


def test_programs_are_not_weighed_without_times():
    with pytest.raises(UnsupportedError, match="weighed by their predicted times"):
        advise_program_layout(program(), "K20c")


@pytest.mark.slow
def test_layouts_and_placements_of_a_program_together():
    table = """__global__ void look(const P *q, const float *table, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < 64; k++) sum += table[k];
    if (i < n) out[i] = q[i].x * sum;
}
"""
    n = 1 << 13
    made = program(
        STRUCT + MOVE + SUM + SCALE + table,
        KernelLaunch("look", ["bodies", "table", "out", "n"], problem=n, block=128),
        values={"table": np.linspace(0, 1, 64, dtype=np.float32)},
        n=n,
    )
    advice = advise_program_jointly(made, "A100", finalists=1, demand=Demand(0.5, 0.0))
    document = advice.to_dict()
    TypeAdapter(DOCUMENTS["placewise-program-joint"]).validate_python(document)
    best = advice.recommended
    assert best is not None
    assert best.layout is not None
    assert best.ratio.ratio <= min(f.ratio.ratio for f in advice.forms) * 1.02
    for form in advice.forms:
        if form.is_moved:
            assert form.verification.identical


FILE = """schema = 1
name = "pair"
source = "pair.cu"
rounds = 20
[[arguments]]
name = "bodies"
shape = [16384]
structs = [
{members}
]
[[arguments]]
name = "out"
dtype = "float32"
shape = [16384]
fill = 0
[[arguments]]
name = "n"
dtype = "int32"
value = 16384
[[arguments]]
name = "dt"
dtype = "float32"
value = 0.5
[[launches]]
kernel = "move"
problem = [16384]
block = [128]
arguments = ["bodies", "n", "dt"]
[[launches]]
kernel = "lengths"
problem = [16384]
block = [128]
arguments = ["bodies", "out", "n"]
"""


@pytest.mark.slow
def test_the_command_writes_the_program_and_its_conversions(tmp_path):
    (tmp_path / "pair.cu").write_text(STRUCT + MOVE + SUM)
    members = ",\n".join(
        f'    {{ name = "{f}", dtype = "{DTYPE[f].name}", fill = 1 }}' for f in DTYPE.names
    )
    file = tmp_path / "pair.toml"
    file.write_text(FILE.replace("{members}", members))
    options = ["-m", "A100", "--layout", "soa", "--quiet", "--least-gain", "0.001"]
    options += ["--probability", "0.5"]
    found = CliRunner().invoke(app, ["layout", str(file), *options, "--out", str(tmp_path / "out")])
    assert found.exit_code == 0, found.output
    assert "Lay bodies (P) out as SoA" in found.output
    names = {f.name for f in (tmp_path / "out").iterdir()}
    assert names == {"layout.json", "pair.cu", "pair-convert.cuh", "pair_convert.py"}
    document = json.loads((tmp_path / "out" / "layout.json").read_text())
    assert document["schema"] == "placewise-program-layout"
    page = tmp_path / "page.html"
    found = CliRunner().invoke(app, ["layout", str(file), *options, "--html", str(page)])
    assert found.exit_code == 0, found.output
    assert "Lay bodies (P) out as SoA" in page.read_text()


PAIR = """struct P { float x, y; int cold[6]; };
struct Q { float a, b; int cold[6]; };
__global__ void step(const P *in, P *out, Q *q, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[i] = in[(i + 1) % n];
    out[i].x += q[i].a;
    q[i].b += in[i].y;
}
"""


@pytest.mark.slow
def test_two_struct_types_and_two_arrays_in_turns_are_laid_out_together(tmp_path):
    n = 2048
    first = np.zeros(n, np.dtype([("x", "f4"), ("y", "f4"), ("cold", "i4", 6)]))
    first["x"], first["cold"] = np.arange(n), 3
    values = {"one": first, "other": np.zeros_like(first), "n": np.int32(n)}
    values["q"] = np.ones(n, np.dtype([("a", "f4"), ("b", "f4"), ("cold", "i4", 6)]))
    made = make_program(
        PAIR,
        values,
        [
            KernelLaunch("step", ["one", "other", "q", "n"], problem=n, block=128),
            KernelLaunch("step", ["other", "one", "q", "n"], problem=n, block=128),
        ],
        rounds=50,
    )
    advice = advise_program_layout(made, "A100", layouts=["soa"], demand=Demand(0.0, -1.0))
    assert [s.structs.names for s in advice.structs] == [("one", "other"), ("q",)]
    together = advice.together
    assert together is not None
    assert together.detail == "bit-identical in sequence over 2 rounds"
    assert "P_layout" in together.source
    assert "Q_layout" in together.source
    files = write_program_layout_files(advice, tmp_path / "out")
    conversions = {f"step-{t}{end}" for t in "PQ" for end in ("-convert.cuh", "_convert.py")}
    assert {f.name for f in files} == {"layout.json", "step.cu"} | conversions
    TypeAdapter(DOCUMENTS["placewise-program-layout"]).validate_python(advice.to_dict())
