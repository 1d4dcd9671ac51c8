"""What the bundled cases promise: their data, their names, and that they compile."""

import functools
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

import placewise.cases
from placewise import advise
from placewise.cases import GROUPS, bundled_cases, case_names, case_path, load_case
from placewise.cases.papers import HUANG_LI, PORPLE, PORPLE_IRREGULAR, papers_of_cases
from placewise.errors import CaseError
from placewise.kernel.frontends.nvrtc import compile_kernel
from placewise.kernel.launch import ArrayArgument


def data(case, name):
    return {a.name: a for a in case.inputs.arguments}[name].data


def test_names():
    assert {"convolution-columns", "matmul", "particlefilter", "spmv", "bfs"} <= set(case_names())
    assert list(case_names()) == sorted(case_names())
    assert load_case("convolution").kernel == "convolve_rows"


def test_no_case_file_is_outside_the_groups():
    files = Path(placewise.cases.__file__).parent.rglob("*.toml")
    assert sorted(path.stem for path in files) == list(case_names())


LISTED = {case.name: case for case in bundled_cases()}
load = functools.cache(load_case)
"""Loads a case once for all tests."""


def test_the_list_has_all_cases_by_group():
    assert sorted(LISTED) == list(case_names())
    groups = [case.group for case in LISTED.values()]
    assert list(dict.fromkeys(groups)) == list(GROUPS.values())
    assert groups == sorted(groups, key=list(GROUPS.values()).index)
    assert "PORPLE glassForce" in LISTED["hourglass-force"].papers


@pytest.mark.parametrize("name", case_names())
def test_the_list_tells_what_a_case_is(name):
    case, listed = load(name), LISTED[name]
    assert (listed.kernel, listed.description) == (case.kernel, case.description)
    assert (listed.grid, listed.block) == (case.launch.grid, case.launch.block)
    # One line of the list.
    assert 0 < len(case.description) <= 80


def test_the_sixteen_kernels_of_porple_have_cases():
    assert len(PORPLE) == len(set(PORPLE.values())) == 16
    assert set(PORPLE.values()) <= set(case_names())
    assert set(PORPLE_IRREGULAR) <= set(PORPLE)
    for name in ("glassForce", "glassControl"):
        arrays = [
            a for a in load_case(PORPLE[name]).inputs.arguments if isinstance(a, ArrayArgument)
        ]
        assert len(arrays) == 16


@pytest.mark.parametrize("case", sorted({tried.case for tried in HUANG_LI}))
def test_tried_placements_name_arrays_of_the_case(case):
    loaded = load(case)
    arguments = {a.name for a in loaded.inputs.arguments if isinstance(a, ArrayArgument)}
    for tried in HUANG_LI:
        if tried.case != case:
            continue
        for array, before, after in tried.moves:
            # Arrays in shared memory are declared in the kernel.
            declared = re.search(rf"__shared__ \w+ {array}\[", loaded.source) is not None
            assert declared if before == "S" else array in arguments
            assert before != after
            assert {before, after} <= {"G", "S", "C", "T", "2T"}


def test_tables_of_papers_name_bundled_cases():
    assert set(papers_of_cases()) <= set(case_names())
    assert len({(t.benchmark, t.moves) for t in HUANG_LI}) == len(HUANG_LI)


@pytest.mark.slow
@pytest.mark.parametrize("name", case_names())
@pytest.mark.parametrize("arch", ["sm_75", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"])
def test_case_compiles_for_every_architecture(name, arch):
    case = load_case(name)
    options = replace(case.options, arch=arch)
    compile_kernel(case.source, case.filename, case.kernel, options)


@pytest.mark.slow
@pytest.mark.parametrize("name", case_names())
def test_advice_on_every_case(name):
    """The present placement is among the options, and nothing recommended is slower."""
    advice = advise(name, "A100")
    if advice.recommended is not None:
        assert advice.recommended.ratio < 1.0


@pytest.mark.parametrize("name", case_names())
def test_case_compiles_under_its_own_name(name):
    case = load(name)
    assert case.name == name
    assert case.description
    kernel = compile_kernel(case.source, case.filename, case.kernel, case.options)
    assert f".entry {kernel.entry}(" in kernel.ptx
    assert ".ld.const" not in kernel.ptx
    assert not case.inputs.constants


def test_spmv_matrix_is_sound_and_large():
    case = load("spmv")
    start, columns, values = (data(case, n) for n in ("row_start", "columns", "values"))
    rows = len(start) - 1
    matrix = scipy.sparse.csr_array((values, columns, start), shape=(rows, rows))
    assert matrix.nnz >= 1_000_000
    assert matrix.has_canonical_format
    assert np.diff(start).max() == 27
    assert len(data(case, "x")) == len(data(case, "y")) == rows
    threads = case.launch.blocks * case.launch.threads_per_block
    assert 32 * rows <= threads < 32 * rows + case.launch.threads_per_block


def test_matmul_is_1024_squared():
    case = load_case("matmul")
    assert data(case, "A").shape == data(case, "B").shape == (1024, 1024)
    assert np.array_equal(np.multiply(case.launch.grid, case.launch.block), (1024, 1024, 1))


def test_particles_have_a_cumulative_distribution():
    case = load_case("particlefilter")
    cdf, u = data(case, "CDF"), data(case, "u")
    assert len(cdf) == len(u) == 8000
    assert (np.diff(cdf) > 0).all()
    assert (cdf[0], cdf[-1]) == (pytest.approx(0, abs=1e-3), pytest.approx(1, abs=1e-3))
    assert np.allclose(np.diff(u), 1 / 8000)
    assert cdf.nbytes < 64 * 1024


@pytest.mark.parametrize("name", ["convolution-rows", "convolution-columns"])
def test_photograph_has_four_megapixels(name):
    image = data(load_case(name), "image")
    assert image.size >= 4_000_000
    assert image.dtype == np.float32
    assert 0 <= image.min() < image.max() <= 255
    # A photograph, not noise nor a flat surface: neighbours agree, the whole varies.
    assert np.abs(np.diff(image, axis=1)).mean() < 0.2 * image.std()


def test_every_data_file_has_its_licence_recorded():
    folder = Path(placewise.cases.__file__).parent / "data"
    notes = (folder / "LICENSE.md").read_text()
    for path in folder.iterdir():
        assert path.name == "LICENSE.md" or path.name in notes


def test_unknown_case_names_the_nearest():
    with pytest.raises(CaseError) as caught:
        load_case("matmull")
    assert "did you mean matmul?" in str(caught.value)
    with pytest.raises(CaseError) as caught:
        load_case("zzz")
    assert "`placewise cases` lists the bundled ones" in str(caught.value)


def test_a_source_is_no_case(tmp_path):
    path = tmp_path / "scale.cu"
    path.write_text("__global__ void scale(float *a) { *a = 1; }")
    with pytest.raises(CaseError, match="does not say what is launched") as caught:
        load_case(path)
    assert "`placewise draft scale.cu`" in str(caught.value)


def test_path_of_a_case_file():
    assert load_case(case_path("matmul")).kernel == "matmul"
    with pytest.raises(CaseError, match="no such file"):
        load_case("nowhere/case.toml")


def test_a_folder_is_no_case(tmp_path):
    with pytest.raises(CaseError, match="is a folder"):
        load_case(tmp_path)
