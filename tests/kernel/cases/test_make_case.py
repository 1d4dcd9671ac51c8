"""make_case, bind_names and check_launch."""

import re

import numpy as np
import pytest

from placewise.errors import CaseError
from placewise.executor.run_case import run_case
from placewise.kernel.cases.bind_names import bind_names
from placewise.kernel.cases.check_launch import check_launch
from placewise.kernel.cases.make_case import make_case
from placewise.kernel.frontends.kernel_from import kernel_from
from placewise.kernel.launch import Launch
from placewise.kernel.source import Parameter, SourceView
from placewise.machine.machine import Limits

SOURCE = "__global__ void scale(const float *vals, float *out, float factor, int n) {}"
VALS = np.arange(6, dtype=np.float32)


def parameter(name, element, *, pointer):
    size = np.dtype(element).itemsize
    text = {"float32": "float", "int32": "int"}[element]
    return Parameter(name, f"{text} *" if pointer else text, pointer, text, size, element)


VIEW = SourceView(
    kernel="scale",
    parameters=(
        parameter("vals", "float32", pointer=True),
        parameter("out", "float32", pointer=True),
        parameter("factor", "float32", pointer=False),
        parameter("n", "int32", pointer=False),
    ),
    arrays=(),
    body_start=0,
    body_end=0,
    signature_start=0,
)


def scale(*arguments, **options):
    return make_case("scale", SOURCE, list(arguments), block=64, **{"problem": 6, **options})


GOOD = (VALS, np.zeros(6, np.float32), np.float32(2), np.int32(6))


def error(call, *args, **kwargs):
    with pytest.raises(CaseError) as caught:
        call(*args, **kwargs)
    return caught.value


@pytest.mark.parametrize(
    ("problem", "block", "per_block", "grid"),
    [
        (1000, 256, None, (4, 1, 1)),
        (1024, 256, None, (4, 1, 1)),
        ((2560, 1600), (32, 8), None, (80, 200, 1)),
        ((33, 9, 5), (32, 8, 2), None, (2, 2, 3)),
        (100, (32, 8), None, (4, 1, 1)),
        (40460, 256, 8, (5058, 1, 1)),
    ],
)
def test_grid_is_problem_over_block_rounded_up(problem, block, per_block, grid):
    case = make_case("scale", SOURCE, GOOD, problem=problem, block=block, per_block=per_block)
    assert case.launch.grid == grid


def test_text_and_path_give_the_same_case(tmp_path):
    path = tmp_path / "scale.cu"
    path.write_text(SOURCE)
    text, file = scale(*GOOD), make_case("scale", path, GOOD, problem=6, block=64)
    assert text.source == file.source
    assert file.path == path
    assert file.name == "scale"
    assert text.filename == "<scale>"
    assert text.file_name == file.file_name == "scale.cu"


def test_options_reach_the_compiler_settings():
    case = scale(*GOOD, defines={"N": 4}, std="c++20", arch="sm_90", include_paths=["inc"])
    assert case.options.defines == (("N", "4"),)
    assert case.options.std == "c++20"
    assert case.options.arch == "sm_90"
    assert [str(p) for p in case.options.include_paths] == ["inc"]


def test_arrays_are_neither_copied_nor_writable_through_the_case():
    case = scale(*GOOD)
    assert np.shares_memory(case.inputs.arrays[0].data, VALS)
    with pytest.raises(ValueError, match="read-only"):
        case.inputs.arrays[0].data[0] = 1
    assert VALS.flags.writeable


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (3, ["argument 3", "Python int", "np.int32(3)"]),
        (2.5, ["argument 3", "np.float32(2.5)"]),
        ([1.0, 2.0], ["argument 3", "not list", "np.asarray"]),
        (np.array([object()]), ["argument 3", "object"]),
        (np.array(["a"]), ["argument 3"]),
        (np.zeros((4, 4), np.float32).T[::2], ["argument 3", "ascontiguousarray"]),
        (np.zeros(0, np.float32), ["argument 3", "empty"]),
        (np.zeros(4, ">f4"), ["argument 3", "byte order"]),
    ],
)
def test_unfit_values_are_refused_with_their_place(bad, words):
    text = str(error(scale, VALS, VALS, bad, np.int32(6)))
    assert all(word in text for word in words), text


@pytest.mark.parametrize(
    ("options", "where"),
    [
        ({"problem": None}, "launch"),
        ({"grid": 2}, "launch"),
        ({"problem": (1, 2, 3, 4)}, "launch.problem"),
        ({"problem": 0}, "launch.problem"),
        ({"problem": "6"}, "launch.problem"),
        ({"problem": None, "grid": 1, "per_block": 2}, "launch.per_block"),
    ],
)
def test_bad_launches_are_located(options, where):
    assert error(scale, *GOOD, **options).where == where


def test_missing_source_file_is_named(tmp_path):
    raised = error(make_case, "k", tmp_path / "none.cu", [], grid=1, block=1)
    assert raised.where == str(tmp_path / "none.cu")


def test_positional_arguments_get_the_parameters_names():
    bound = bind_names(scale(*GOOD), VIEW)
    assert [a.name for a in bound.inputs.arguments] == ["vals", "out", "factor", "n"]


def test_named_arguments_are_put_in_parameter_order():
    named = dict(zip(["n", "factor", "out", "vals"], reversed(GOOD), strict=True))
    bound = bind_names(make_case("scale", SOURCE, named, problem=6, block=64), VIEW)
    assert [a.name for a in bound.inputs.arguments] == ["vals", "out", "factor", "n"]
    assert bound.inputs.arrays[0].data is not None


@pytest.mark.parametrize(
    ("arguments", "pattern"),
    [
        (
            (VALS.astype(np.float64), *GOOD[1:]),
            r"argument 1 \('vals'\): the kernel expects float32 elements, the array has float64"
            r"\n.*\.astype\(np\.float32\)",
        ),
        ((*GOOD[:2], np.float64(2), GOOD[3]), r"argument 3 \('factor'\).*float32.*float64"),
        ((*GOOD[:3], np.int64(6)), r"argument 4 \('n'\).*int32.*int64"),
        ((*GOOD[:2], VALS, GOOD[3]), r"argument 3 \('factor'\).*expects a scalar.*an array"),
        ((np.float32(1), *GOOD[1:]), r"argument 1 \('vals'\).*expects an array.*scalar"),
        (GOOD[:2], r"missing: float factor, int n"),
        ((*GOOD, VALS), r"too many: argument 5 \(an array of float32"),
    ],
)
def test_misfits_are_located(arguments, pattern):
    text = str(error(bind_names, scale(*arguments), VIEW))
    assert re.search(pattern, text, re.S), text


def test_wrong_names_are_told_apart():
    named = {"vals": GOOD[0], "oout": GOOD[1], "factor": GOOD[2], "n": GOOD[3]}
    text = str(error(bind_names, make_case("scale", SOURCE, named, problem=6, block=64), VIEW))
    assert "missing: float *out" in text
    assert "not a parameter: oout" in text
    assert "scale(float *vals, float *out, float factor, int n)" in text


def test_unsigned_stands_for_signed_of_the_same_size():
    bind_names(scale(*GOOD[:3], np.uint32(6)), VIEW)


def test_struct_elements_are_checked_by_size():
    pixel = Parameter("p", "float4 *", True, "float4", 16, None)
    view = SourceView("k", (pixel,), (), 0, 0, 0)
    make = lambda count: make_case("k", "{", [np.zeros(count, np.float32)], grid=1, block=1)  # noqa: E731
    bind_names(make(8), view)
    assert "float4" in str(error(bind_names, make(7), view))


LIMITS = Limits(
    compute_capability=(8, 0),
    clock_mhz=None,
    max_threads_per_block=1024,
    max_block=(1024, 1024, 64),
    max_grid=(2**31 - 1, 65535, 65535),
    max_threads_per_sm=2048,
    max_blocks_per_sm=32,
    registers_per_sm=65536,
    max_registers_per_thread=255,
    shared_bytes_per_block=166912,
    shared_bytes_per_sm=167936,
    copy_bandwidth_gb_per_s=None,
    dram_bandwidth_gb_per_s=None,
)


@pytest.mark.parametrize(
    ("launch", "static", "where"),
    [
        (Launch((1, 1, 1), (2000, 1, 1)), 0, "launch.block"),
        (Launch((1, 1, 1), (1, 1, 65)), 0, "launch.block"),
        (Launch((1, 65536, 1), (32, 1, 1)), 0, "launch.grid"),
        (Launch((1, 1, 1), (32, 1, 1), 166913), 0, "launch.shared_bytes"),
        (Launch((1, 1, 1), (32, 1, 1), 166912), 4, "launch.shared_bytes"),
    ],
)
def test_launches_beyond_the_machine_are_refused(launch, static, where):
    assert error(check_launch, launch, LIMITS, static).where == where


def test_the_largest_launch_passes():
    check_launch(Launch((2**31 - 1, 65535, 65535), (1024, 1, 1), 166912), LIMITS)


class ElementwiseKernel:
    """A kernel of a library that has no CUDA C++ of its own."""


@pytest.mark.parametrize("thing", [ElementwiseKernel(), np.add, None, 3, b"__global__"])
def test_what_is_no_kernel_is_named(thing):
    for make in (
        lambda: make_case("k", thing, [np.ones(4, np.float32)], block=1, grid=1),
        lambda: kernel_from(thing, "k"),
    ):
        with pytest.raises(CaseError, match=f"this {type(thing).__name__} is no kernel") as caught:
            make()
        assert "RawKernel" in str(caught.value)


@pytest.mark.parametrize("grid", [128 / 32, (2.0, 1), np.float32(4)])
def test_fractions_are_no_extents(grid):
    with pytest.raises(CaseError, match=r"launch\.grid: .* whole numbers(.|\n)*//"):
        make_case("k", "__global__ void k() {}", [], block=1, grid=grid)


def test_an_output_that_does_not_exist_names_those_that_do():
    source = "__global__ void k(float *first, float *second) { first[0] = second[0]; }"
    arrays = [np.ones(4, np.float32), np.ones(4, np.float32)]
    run = run_case(make_case("k", source, arrays, block=1, grid=1))
    with pytest.raises(CaseError, match=r"output 'third'(.|\n)*first, second"):
        run.output("third")


def doubled(x, out):
    """A Numba kernel, which is not compiled here."""


def test_a_dict_of_a_numba_function_goes_by_name() -> None:
    x, out = np.ones(6), np.zeros(6)
    case = make_case("doubled", doubled, {"out": out, "x": x}, block=6, grid=1)
    assert [(a.name, a.data[0]) for a in case.inputs.arrays] == [("x", 1), ("out", 0)]
    for given, message in (
        ({"x": x}, "missing: out"),
        ({"x": x, "o": out}, "missing: out; not a parameter: o"),
        ({"x": x, "out": out, "n": np.int32(6)}, "not a parameter: n"),
    ):
        found = error(make_case, "doubled", doubled, given, block=6, grid=1)
        assert (found.where, found.message) == ("arguments", message)
        assert found.hint == "doubled(x, out)"


def test_options_of_nvrtc_are_refused_for_a_numba_function() -> None:
    arguments = [np.ones(6), np.zeros(6)]
    for name, value in (
        ("flags", ["--use_fast_math"]),
        ("defines", {"N": 6}),
        ("include_paths", ["."]),
        ("std", "c++20"),
    ):
        found = error(make_case, "doubled", doubled, arguments, block=6, grid=1, **{name: value})
        assert found.where == name
        assert "not NVRTC" in found.message


def test_a_dict_of_ptx_goes_in_its_order() -> None:
    ptx = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n"
    given = {"out": np.zeros(6), "x": np.ones(6)}
    case = make_case("k", ptx, given, block=6, grid=1)
    assert [(a.name, a.data[0]) for a in case.inputs.arrays] == [("out", 0), ("x", 1)]
