"""The public functions: values, names and paths are alike, wrong input is one clear error."""

import json
import sys
from dataclasses import is_dataclass
from pathlib import Path

import numpy as np
import pytest

import placewise
from placewise import PlacewiseError
from placewise.errors import CompileError, ExecutionError

ROOT = Path(__file__).parents[1]
CASE = ROOT / "docs" / "examples" / "my-kernel.toml"


SOURCE = """
__global__ void scale(const float *table, const int *index, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2.0f * table[index[i]];
}
"""
N = 5000
RNG = np.random.default_rng(0)
TABLE, INDEX = RNG.random(64, dtype=np.float32), RNG.integers(0, 64, N, dtype=np.int32)


def scaled(source):
    arguments = [TABLE, INDEX, np.zeros(N, np.float32), np.int32(N)]
    return placewise.make_case("scale", source, arguments, block=128, problem=N)


@pytest.fixture(scope="module")
def case():
    return scaled(SOURCE)


def test_every_public_name_is_there_and_listed():
    assert dir(placewise) == placewise.__all__
    assert set(placewise.__all__) == set(placewise._HOMES)
    for name in placewise.__all__:
        assert getattr(placewise, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'advice'"):
        _ = placewise.advice


def test_functions_are_functions_whatever_was_imported_before():
    import placewise.advisor.advise
    import placewise.executor.run_case
    import placewise.rewriter.rewrite

    for name in ("advise", "execute", "rewrite", "verify", "lint", "predict_time"):
        assert callable(getattr(placewise, name)), name


def test_outputs_are_those_of_numpy(case):
    run = placewise.execute(case, check=True)
    assert np.array_equal(run.output("out"), 2 * TABLE[INDEX])
    assert run.checker.clean
    assert json.loads(json.dumps(run.to_dict()))["check"]["clean"]
    frame = run.to_dataframe()
    assert frame["load global"].sum() == 2 * frame["store global"].sum()


def test_names_values_and_paths_are_the_same(case):
    by_name = placewise.predict_time("matmul", "A100")
    by_value = placewise.predict_time(
        placewise.load_case("matmul"), placewise.load_machine(Path("A100"))
    )
    assert by_name.to_dict() == by_value.to_dict()
    by_path = placewise.predict_counters(str(CASE), "T4")
    assert by_path.to_dict() == placewise.predict_counters(CASE, "T4").to_dict()


def test_counters_of_moved_arrays_stand_beside_those_of_the_case(case):
    moves = {"table": "texture"}
    found = placewise.predict_moved_counters(case, placewise.load_machine("A4000"), moves)
    frame = found.to_dataframe().set_index("counter")
    texture = "l1tex__t_requests_pipe_tex_mem_texture.sum"
    loads = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"
    warps = -(-N // 32)
    assert tuple(frame.loc[texture]) == (0, warps)
    assert tuple(frame.loc[loads]) == (2 * warps, warps)
    document = found.to_dict()
    assert document["moves"] == [{"array": "table", "space": "texture"}]
    assert document["counters"][loads]["value"] == warps
    assert document["counters_as_it_is"][loads]["value"] == 2 * warps


def test_a_time_is_within_its_range_and_named_parts_allow_it(case):
    found = placewise.predict_time(case, "A100")
    assert found.range_ms[0] < found.milliseconds < found.range_ms[1]
    frame = found.to_dataframe()
    assert frame["part"][0] == found.limited_by
    assert list(frame["cycles"]) == sorted(frame["cycles"], reverse=True)


def test_a_rewritten_kernel_is_verified_and_a_wrong_one_is_not(case):
    moved = placewise.rewrite(case, {"table": "constant"}, "A100")
    assert "__constant__" in moved.to_dict()["source"]
    assert placewise.verify(moved, case).identical
    found = placewise.verify(moved, scaled(SOURCE.replace("2.0f", "3.0f")))
    assert not found.identical
    assert "out differs" in found.to_dict()["detail"]


def test_advice_and_lint_are_tables(case):
    advice = placewise.advise(case, "K20c")
    frame = advice.to_dataframe()
    assert len(frame) == len(advice.options) + 1
    assert frame["moves"].iloc[-1] == "(present)"
    assert frame["ratio"].is_monotonic_increasing or frame["ratio"].iloc[-1] == 1.0
    report = placewise.lint(case, "A100")
    assert len(report.to_dataframe()) == len(report.remarks) == len(report.to_dict()["remarks"])


def test_a_value_prints_as_a_line_that_names_its_kernel(case):
    moved = placewise.rewrite(case, {"table": "constant"}, "A100")
    time = placewise.predict_time(case, "A100")
    counters = placewise.predict_counters(case, "A100")
    both = placewise.predict_moved_counters(case, "A100", {"table": "constant"})
    code = placewise.inspect_machine_code(case, "A100")
    run = placewise.execute(case, check=True)
    lint = placewise.lint(case, "A100")
    values = (case, moved, time, counters, both, code, code.code, run, run.kernel, lint)
    for value in values:
        text = repr(value)
        assert text.startswith(f"{type(value).__name__}({case.kernel}")
        assert len(text) < 400
        assert "\n" not in text
    assert f"{time.milliseconds * 1e3:.3g} µs" in repr(time)
    assert len(repr(placewise.load_machine("A100"))) < 100


def test_a_text_without_a_file_is_named_by_its_kernel():
    source = """template <class T, int N> __global__ void fill(T *a) {
  a[threadIdx.x * N] = 1;
}"""

    def filled(elements, text=source):
        arguments = [np.ones(elements, np.float32)]
        return placewise.make_case("fill<float, 32>", text, arguments, block=32, grid=1)

    remarks = placewise.lint(filled(1024), "A100").to_dataframe()
    assert set(remarks["file"]) == {"<fill-float-32>"}
    assert {line.file for line in placewise.execute(filled(1024)).lines} == {"<fill-float-32>"}
    with pytest.raises(ExecutionError, match=r"^<fill-float-32>:2: out of bounds"):
        placewise.execute(filled(32))
    with pytest.raises(CompileError, match=r"^<fill-float-32>:2: ") as caught:
        placewise.execute(filled(32, source.replace("= 1", "= b")))
    assert type(caught.value) is CompileError


def test_advice_prints_its_verdict(case):
    advice = placewise.advise(case, "K20c")
    assert advice.verdict in repr(advice)
    assert all(len(repr(option)) < 200 for option in advice.options)


def test_results_are_frozen_dataclasses():
    for name in ("Advice", "CounterReport", "TimePrediction", "LintReport", "Rewritten", "CaseRun"):
        kind = getattr(placewise, name)
        assert is_dataclass(kind)
        assert kind.__dataclass_params__.frozen
        assert callable(kind.to_dict)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: placewise.execute("no-such-case"), "no such case"),
        (lambda: placewise.predict_time("spmv", "A1000"), "no machine named 'A1000'"),
        (lambda: placewise.predict_time("spmv", "K20c"), "no time is predicted"),
        (lambda: placewise.lint(Path("nowhere.toml"), "A100"), "no such file"),
        (lambda: placewise.rewrite("spmv", {"x": "nowhere"}, "A100"), "nowhere"),
        (lambda: placewise.rewrite("spmv", {"z": "texture"}, "A100"), "no array 'z'"),
        (lambda: placewise.rewrite("spmv", {"y": "constant"}, "A100"), "written (line 17)"),
        (lambda: placewise.predict_moved_counters("spmv", "A100", {"z": "texture"}), "array 'z'"),
        (lambda: placewise.json_schema("placewise-advise"), "placewise-advice"),
    ],
)
def test_wrong_input_is_one_clear_error(call, words):
    with pytest.raises(PlacewiseError) as caught:
        call()
    assert words in str(caught.value)


def test_without_pandas_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(PlacewiseError, match="pandas") as caught:
        placewise.predict_time("matmul", "A100").to_dataframe()
    assert "placewise[dataframe]" in str(caught.value.hint)
