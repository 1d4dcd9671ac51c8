"""What the bundled cases promise: their data, their names, and that they compile."""

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

import placewise.cases
from placewise.cases import case_names, load_case
from placewise.errors import CaseError
from placewise.kernel.frontends.nvrtc import compile_kernel


def data(case, name):
    return {a.name: a for a in case.inputs.arguments}[name].data


def test_names():
    assert case_names() == (
        "convolution-columns",
        "convolution-rows",
        "matmul",
        "particlefilter",
        "spmv",
    )
    assert load_case("convolution").kernel == "convolve_rows"


@pytest.mark.parametrize("name", case_names())
def test_case_compiles_under_its_own_name(name):
    case = load_case(name)
    assert case.name == name
    assert case.description
    kernel = compile_kernel(case.source, case.filename, case.kernel, case.options)
    assert f".entry {kernel.entry}(" in kernel.ptx
    assert ".ld.const" not in kernel.ptx
    assert not case.inputs.constants


def test_spmv_matrix_is_sound_and_large():
    case = load_case("spmv")
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
    assert "bundled cases: convolution-columns" in str(caught.value)


def test_a_source_is_no_case(tmp_path):
    path = tmp_path / "scale.cu"
    path.write_text("__global__ void scale(float *a) { *a = 1; }")
    with pytest.raises(CaseError, match="does not say what is launched") as caught:
        load_case(path)
    assert 'source = "scale.cu"' in str(caught.value)


def test_path_of_a_case_file():
    folder = Path(placewise.cases.__file__).parent
    assert load_case(folder / "matmul.toml").kernel == "matmul"
    with pytest.raises(CaseError, match="no such file"):
        load_case("nowhere/case.toml")


def test_a_folder_is_no_case(tmp_path):
    with pytest.raises(CaseError, match="is a folder"):
        load_case(tmp_path)
