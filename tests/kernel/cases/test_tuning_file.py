"""Tuning problems in the T1 format as cases."""

import copy
import json

import numpy as np
import pytest

from placewise.cases import load_case
from placewise.errors import PlacewiseError
from placewise.executor import execute
from placewise.kernel.cases.case_file import read_case_family
from placewise.kernel.cases.prepare_case import compile_case, named_case

SOURCE = """
__constant__ float weights[4];
extern __shared__ float4 kept[];
extern "C" __global__ void blend(const float2 *in, float *out, int n, float scale) {
    int first = (blockIdx.x * blockDim.x + threadIdx.x) * TILE;
    kept[threadIdx.x].x = weights[threadIdx.x % 4];
    for (int i = first; i < first + TILE && i < n; i++)
        out[i] = scale * (in[i].x + in[i].y) * kept[threadIdx.x].x;
}
"""
PROBLEM = {
    "General": {"BenchmarkName": "blend two"},
    "ConfigurationSpace": {
        "TuningParameters": [
            {"Name": "block_size_x", "Type": "int", "Values": "[32, 64]", "Default": 64},
            {"Name": "TILE", "Type": "int", "Values": "list(range(1, 9))"},
        ],
        "Conditions": [{"Expression": "TILE < 9", "Parameters": ["TILE"]}],
    },
    "KernelSpecification": {
        "Language": "CUDA",
        "CompilerOptions": ["-std=c++14", "-DSPARE=1", "--use_fast_math"],
        "KernelName": "blend",
        "KernelFile": "blend.cu",
        "GlobalSizeType": "CUDA",
        "GlobalSize": {"X": "(1024 // block_size_x) // TILE", "Y": "1"},
        "LocalSize": {"X": "block_size_x", "Y": "1"},
        "SharedMemory": 0,
        "Arguments": [
            {"Name": "a", "Type": "float2", "MemoryType": "Vector", "Size": 1024,
             "FillType": "Random", "FillValue": 2.0, "AccessType": "ReadOnly"},
            {"Name": "b", "Type": "float", "MemoryType": "Vector", "Size": "1000 + 24",
             "FillType": "Constant", "FillValue": 7},
            {"Name": "count", "Type": "int32", "MemoryType": "Scalar", "FillValue": 1000.0},
            {"Type": "float", "MemoryType": "Scalar", "FillValue": 0.5},
            {"Name": "weights", "Type": "float", "MemoryType": "Symbol", "Size": 4,
             "FillType": "Constant", "FillValue": 3.0},
            {"Type": "float4", "MemoryType": "Local", "Size": "block_size_x"},
        ],
    },
}  # fmt: skip


def written(folder, problem=PROBLEM):
    (folder / "blend.cu").write_text(SOURCE)
    path = folder / "problem.json"
    path.write_text(json.dumps(problem))
    return path


def test_a_problem_runs_with_its_defaults(tmp_path):
    case = load_case(written(tmp_path))
    assert (case.description, case.options.std) == ("blend two", "c++14")
    assert dict(case.options.defines) == {"TILE": "1", "block_size_x": "64", "SPARE": "1"}
    assert case.options.flags == ("--use_fast_math",)
    assert (case.launch.grid, case.launch.block) == ((16, 1, 1), (64, 1, 1))
    named = named_case(case)
    done = execute(compile_case(case), case.launch, named.inputs)
    pairs = named.inputs.arguments[0].data
    assert pairs.shape == (1024, 2)
    assert 0 <= pairs.min() < pairs.max() < 2
    expected = 1.5 * pairs.sum(axis=1)
    np.testing.assert_allclose(done.output("out")[:1000], expected[:1000], rtol=1e-6)
    assert (done.output("out")[1000:] == 7).all()


def changed(**parts):
    """The problem with other parts of its kernel or configuration space."""
    problem = copy.deepcopy(PROBLEM)
    for where in ("KernelSpecification", "ConfigurationSpace"):
        problem[where] |= {k: v for k, v in parts.items() if k in problem[where] or k[:4] == "Grid"
                           or k == "ProblemSize"}  # fmt: skip
    return problem


def test_defaults_that_break_a_condition_give_way_as_few_as_can(tmp_path):
    parameters = [
        {"Name": "block_size_x", "Type": "int", "Values": "[2**i for i in range(5, 9)]",
         "Default": 64},
        {"Name": "TILE", "Type": "int", "Values": "[1] + [2 * i for i in range(1, 5)]",
         "Default": 3},
        {"Name": "SPARE_TOO", "Type": "int", "Values": "list(range(0, 8, 4))", "Default": 0},
    ]  # fmt: skip
    conditions = [{"Expression": "TILE % 4 == 0"}, {"Expression": "block_size_x >= SPARE_TOO"}]
    problem = changed()
    problem["ConfigurationSpace"] = {"TuningParameters": parameters, "Conditions": conditions}
    case = load_case(written(tmp_path, problem))
    defines = dict(case.options.defines)
    assert (defines["TILE"], defines["block_size_x"], defines["SPARE_TOO"]) == ("4", "64", "0")
    assert case.description == "blend two; defaults break the conditions: TILE = 4 in place of 3"


def test_sizes_ask_for_the_problem_and_for_extremes_of_parameters(tmp_path):
    problem = changed(ProblemSize=[50, 20])
    kernel = problem["KernelSpecification"]
    kernel["Arguments"][0]["Size"] = "ProblemSize[0]*ProblemSize[1] + max(TILE) - min(TILE)"
    case = load_case(written(tmp_path, problem))
    assert case.inputs.arguments[0].data.shape == (50 * 20 + 8 - 1, 2)
    for wrong, words in (("ProblemSize[2]", "2 extents"), ("max(tile)", "'tile'")):
        kernel["Arguments"][0]["Size"] = wrong
        with pytest.raises(PlacewiseError, match=words):
            load_case(written(tmp_path, problem))


def test_generators_that_are_straight_lines_are_made(tmp_path):
    problem = changed()
    first = problem["KernelSpecification"]["Arguments"][1]
    first |= {"FillType": "Generator", "DataSource": "2 * i + 3"}
    case = load_case(written(tmp_path, problem))
    np.testing.assert_array_equal(case.inputs.arguments[1].data, 2.0 * np.arange(1024) + 3)
    first["DataSource"] = "i % 4"
    with pytest.raises(PlacewiseError, match="i % 4"):
        load_case(written(tmp_path, problem))


def test_kernel_tuners_constant_arguments_are_arguments_and_symbols(tmp_path):
    problem = changed()
    arguments = problem["KernelSpecification"]["Arguments"]
    arguments[4] |= {"MemoryType": "Vector", "MemType": "Constant"}
    case = load_case(written(tmp_path, problem))
    assert len(case.inputs.arguments) == 5
    assert [name for name, _ in case.inputs.constants] == ["weights"]


def test_chosen_parameters_change_launch_and_defines(tmp_path):
    case = read_case_family(written(tmp_path)).case({"TILE": 4, "block_size_x": 32})
    assert (case.launch.grid, case.launch.block) == ((8, 1, 1), (32, 1, 1))
    assert case.launch.shared_bytes == 32 * 16
    assert dict(case.options.defines)["TILE"] == "4"


def test_kernel_tuners_problem_size_goes_first(tmp_path):
    problem = copy.deepcopy(PROBLEM)
    problem["KernelSpecification"] |= {
        "ProblemSize": [1000, 3],
        "GridDivX": ["block_size_x", "TILE"],
    }
    case = read_case_family(written(tmp_path, problem)).case({"TILE": 2})
    assert case.launch.grid == (8, 3, 1)


def test_opencls_global_size_counts_threads(tmp_path):
    problem = copy.deepcopy(PROBLEM)
    problem["KernelSpecification"] |= {"GlobalSizeType": "OpenCL", "GlobalSize": {"X": "1000"}}
    assert load_case(written(tmp_path, problem)).launch.grid == (16, 1, 1)


@pytest.mark.parametrize(
    ("part", "changed", "message"),
    [
        ("kernel", {"Language": "OpenCL"}, "Language: the kernel is OpenCL, only CUDA"),
        ("kernel", {"KernelName": None}, "KernelSpecification.KernelName: is missing"),
        ("kernel", {"KernelFile": "gone.cu"}, "source: no such file"),
        ("kernel", {"LocalSize": {}}, "KernelSpecification.LocalSize.X: is missing"),
        ("kernel", {"LocalSize": 3}, "KernelSpecification.LocalSize: is missing"),
        ("kernel", {"GlobalSize": {"X": "m // 2"}}, "launch.grid: no size is called 'm'"),
        ("kernel", {"CompilerOptions": ["-odd"]}, "compiler option -odd is not covered"),
        ("kernel", {"Arguments": 3}, "Arguments: is not a list of objects"),
        ("argument", {"Type": "custom"}, "Arguments.a.Type: the type 'custom' is not known"),
        ("argument", {"FillType": "Script"}, "Arguments.a: data of FillType 'Script'"),
        ("argument", {"Size": None}, "arguments.a.shape"),
        ("argument", {"FillValue": "x"}, "Arguments.a.FillValue: 'x' is no number"),
        ("parameter", {"Values": "primes()"}, "TuningParameters.TILE: the values 'primes()'"),
    ],
)
def test_what_cannot_be_a_case_is_located(tmp_path, part, changed, message):
    problem = copy.deepcopy(PROBLEM)
    kernel = problem["KernelSpecification"]
    parameters = problem["ConfigurationSpace"]["TuningParameters"]
    {"kernel": kernel, "argument": kernel["Arguments"][0], "parameter": parameters[1]}[part].update(
        changed
    )
    with pytest.raises(PlacewiseError) as caught:
        load_case(written(tmp_path, problem))
    assert str(caught.value).startswith(str(tmp_path))
    assert message in str(caught.value)


@pytest.mark.parametrize("text", ["", "[1, 2]", "{}", '{"KernelSpecification": 3}', "[" * 100_000])
def test_what_is_no_problem_is_located(tmp_path, text):
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(PlacewiseError) as caught:
        load_case(path)
    assert "other.json" in str(caught.value)
