"""The declarative case file: every source of values, and a located error for every bad key."""

import gzip
import re

import numpy as np
import pytest
import scipy.io
import scipy.sparse
from PIL import Image

from placewise.errors import CaseError
from placewise.kernel.cases.array_sources import drawn
from placewise.kernel.cases.case_file import read_case_file

HEAD = """schema = 1
name = "test"
kernel = "k"
code = "__global__ void k() {}"
"""
LAUNCH = """
[launch]
grid = [1]
block = [32]
"""


def read(folder, body, head=HEAD, launch=LAUNCH):
    path = folder / "test.toml"
    path.write_text(head + body + launch)
    return read_case_file(path)


def argument(folder, body, before=""):
    """The one argument of a case whose argument table is ``body``."""
    entry = before + '\n[[arguments]]\nname = "a"\n' + body
    (given,) = read(folder, entry).inputs.arguments
    return given


def fails(folder, *args, **kwargs):
    with pytest.raises(CaseError) as caught:
        read(folder, *args, **kwargs)
    return str(caught.value).replace(f"{folder}/", "")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("values = [1, 2.5]\ndtype = 'float64'", np.array([1, 2.5])),
        ("values = [1, 2, 3, 4]\nshape = [2, 2]\ndtype = 'int8'", np.int8([[1, 2], [3, 4]])),
        ("fill = 0\nshape = [3]\ndtype = 'float32'", np.zeros(3, np.float32)),
        ("fill = true\nshape = [2]\ndtype = 'bool'", np.array([True, True])),
        ("arange = {}\nshape = [4]\ndtype = 'int32'", np.arange(4, dtype=np.int32)),
        (
            "arange = { start = 1, step = 0.5 }\nshape = [2, 2]\ndtype = 'float32'",
            np.float32([[1, 1.5], [2, 2.5]]),
        ),
        (
            "uniform = { low = -1.0, high = 1.0, seed = 3 }\nshape = [5]\ndtype = 'float32'",
            np.random.default_rng(3).uniform(-1, 1, 5).astype(np.float32),
        ),
        (
            "normal = { mean = 2.0, seed = 4 }\nshape = [5]\ndtype = 'float64'",
            np.random.default_rng(4).normal(2, 1, 5),
        ),
        (
            "integers = { low = -3, high = 9, seed = 5 }\nshape = [7]\ndtype = 'int16'",
            np.random.default_rng(5).integers(-3, 9, 7).astype(np.int16),
        ),
    ],
)
def test_generators(tmp_path, body, expected):
    data = argument(tmp_path, body).data
    assert data.dtype == expected.dtype
    np.testing.assert_array_equal(data, expected)


def test_gaussian_taps_are_symmetric_and_sum_to_one(tmp_path):
    taps = argument(tmp_path, "gaussian = { radius = 3, sigma = 2.0 }\ndtype = 'float64'").data
    assert taps.shape == (7,)
    np.testing.assert_allclose(taps.sum(), 1, rtol=1e-15)
    np.testing.assert_array_equal(taps, taps[::-1])
    np.testing.assert_allclose(taps[3] / taps[1], np.exp(0.5), rtol=1e-12)


def test_scalars_and_sizes(tmp_path):
    value = argument(tmp_path, "value = 'n'\ndtype = 'int32'", "[sizes]\nn = 12").value
    assert value == 12
    assert value.dtype == np.int32
    assert argument(tmp_path, "value = 0.1\ndtype = 'float32'").value == np.float32(0.1)
    assert argument(tmp_path, "value = true\ndtype = 'bool'").value


def test_problem_size_by_name(tmp_path):
    case = read(
        tmp_path,
        "arguments = []\n[sizes]\nn = 100\n",
        launch="[launch]\nproblem = ['n', 3]\nblock = [32, 2]\nshared_bytes = 'n'\n",
    )
    assert case.launch.grid == (4, 2, 1)
    assert case.launch.shared_bytes == 100


def test_one_extent_needs_no_brackets(tmp_path):
    body = "[sizes]\nn = 100\n[[arguments]]\nname='a'\ndtype='int8'\nfill=0\nshape='n'\n"
    case = read(tmp_path, body, launch="[launch]\nproblem = 'n'\nblock = 32\n")
    assert case.launch.grid == (4, 1, 1)
    assert case.launch.block == (32, 1, 1)
    assert case.inputs.arrays[0].data.shape == (100,)


def test_numpy_files(tmp_path):
    array = np.arange(6.0).reshape(2, 3)
    np.save(tmp_path / "a.npy", array)
    np.savez(tmp_path / "b.npz", u=array, v=array + 1)
    np.savez_compressed(tmp_path / "c.npz", only=array)
    np.testing.assert_array_equal(argument(tmp_path, "file = 'a.npy'").data, array)
    np.testing.assert_array_equal(
        argument(tmp_path, "file = 'b.npz'\nmember = 'v'").data, array + 1
    )
    np.testing.assert_array_equal(argument(tmp_path, "file = 'c.npz'").data, array)


def test_fortran_order_file_keeps_its_values(tmp_path):
    array = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    np.save(tmp_path / "a.npy", array)
    data = argument(tmp_path, "file = 'a.npy'").data
    assert data.flags.c_contiguous
    np.testing.assert_array_equal(data, array)


@pytest.mark.parametrize("packed", [False, True])
def test_matrix_market_parts(tmp_path, packed):
    matrix = scipy.sparse.random_array((5, 7), density=0.5, rng=np.random.default_rng(1))
    scipy.io.mmwrite(tmp_path / "m.mtx", scipy.sparse.coo_array(matrix))
    name = "m.mtx"
    if packed:
        (tmp_path / "m.mtx.gz").write_bytes(gzip.compress((tmp_path / name).read_bytes()))
        name = "m.mtx.gz"
    entries = "".join(
        f"[[arguments]]\nname='{n}'\nmatrix='M'\npart='{n}'\ndtype='{t}'\n"
        for n, t in (("indptr", "int32"), ("indices", "int32"), ("data", "float64"))
    )
    sizes = "".join(
        f"[[arguments]]\nname='{n}'\nvalue='M.{n}'\ndtype='int32'\n"
        for n in ("rows", "columns", "nnz")
    )
    case = read(tmp_path, f"[matrices.M]\nfile = '{name}'\n{entries}{sizes}")
    indptr, indices, data = (a.data for a in case.inputs.arrays)
    back = scipy.sparse.csr_array((data, indices, indptr), shape=(5, 7))
    np.testing.assert_allclose(back.toarray(), matrix.toarray(), rtol=1e-12)
    assert [int(a.value) for a in case.inputs.arguments[3:]] == [5, 7, matrix.nnz]
    assert indices.dtype == np.int32


def test_symmetric_matrix_market_file_is_expanded(tmp_path):
    (tmp_path / "s.mtx").write_text(
        "%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 4\n2 1 3\n"
    )
    data = argument(
        tmp_path,
        "matrix = 'M'\npart = 'data'\ndtype = 'float32'",
        "[matrices.M]\nfile = 's.mtx'\n",
    ).data
    np.testing.assert_array_equal(data, np.float32([4, 3, 3]))


def test_image_is_grey(tmp_path):
    grey = np.random.default_rng(0).integers(0, 256, (4, 6), dtype=np.uint8)
    Image.fromarray(grey).save(tmp_path / "p.png")
    before = "[images.p]\nfile = 'p.png'\n"
    for dtype in ("uint8", "float32"):
        data = argument(tmp_path, f"image = 'p'\ndtype = '{dtype}'", before).data
        assert data.dtype == dtype
        np.testing.assert_array_equal(data, grey)
    assert argument(tmp_path, "value = 'p.width'\ndtype = 'int32'", before).value == 6
    assert argument(tmp_path, "value = 'p.height'\ndtype = 'int32'", before).value == 4


def test_constants_defines_and_source(tmp_path):
    (tmp_path / "k.cu").write_text("// kernel")
    (tmp_path / "inc").mkdir()
    case = read(
        tmp_path,
        "[defines]\nN = 3\nON = true\n[[arguments]]\nname='x'\nvalue=1\ndtype='int32'\n"
        "[[constants]]\nname='c'\nvalues=[1, 2]\ndtype='float32'\n",
        head="schema=1\nname='t'\nkernel='k'\nsource='k.cu'\ninclude=['inc']\nstd='c++20'\n",
    )
    assert case.options.defines == (("N", "3"), ("ON", "true"))
    assert case.options.include_paths == (tmp_path / "inc",)
    assert case.options.std == "c++20"
    assert case.path == tmp_path / "k.cu"
    ((symbol, data),) = case.inputs.constants
    assert symbol == "c"
    np.testing.assert_array_equal(data, np.float32([1, 2]))


ARG = "[[arguments]]\nname = 'vals'\n"


@pytest.mark.parametrize(
    ("body", "pattern"),
    [
        (ARG + "dtype = 'float33'\nfill = 0\nshape = [1]", r"test.toml: arguments.vals.dtype: "),
        (ARG + "dtype='flaot32'\nvalue=1", r"did you mean 'float32'\?"),
        (ARG + "dtype='int'\nvalue=1", r"did you mean 'int32'\?"),
        (ARG + "dtype='float32'\nvalue=1e300", r"arguments.vals.value: values do not fit float32"),
        (ARG + "dtype='int8'\nfill='a'\nshape=[1]", r"vals.fill: input should be a number"),
        (ARG + "dtype = 'int32'", r"arguments.vals: needs exactly one source of values: value,"),
        (ARG + "dtype='int32'\nvalue=1\nfill=2", r"arguments.vals: needs exactly one source"),
        (ARG + "dtype='int32'\nvalue=1\nshap=[2]", r"arguments.vals.shap: unknown key"),
        (ARG + "dtpye='int32'\nvalue=1", r"vals.dtpye: unknown key"),
        (ARG + "dtpye='int32'\nvalue=1", r"did you mean 'dtype' instead of 'dtpye'\?"),
        (ARG + "dtype='int32'\nvlaue=1", r"did you mean 'value' instead of 'vlaue'\?"),
        (ARG + "dtype='float32'\nuniform={sede=1}\nshape=[9]", r"'seed' instead of 'sede'"),
        (ARG + "fill=1\nshape=[2]", r"arguments.vals.dtype: is missing"),
        (ARG + "dtype='int32'\nfill=1", r"arguments.vals.shape: is missing"),
        (ARG + "dtype='int32'\nfill='x'\nshape=[1]", r"arguments.vals.fill: .*'x'"),
        (ARG + "dtype='int32'\nfill=0\nshape=['m']", r"vals.shape: no size is called 'm'"),
        (ARG + "dtype='int32'\nfill=0\nshape=[0]", r"vals.shape: shape \(0,\) holds no elements"),
        (ARG + "dtype='int32'\nfill=0\nshape=[1000000, 1000000]", r"vals.shape: .*than 1 GiB"),
        (ARG + "dtype='int32'\nfill=0.5\nshape=[1]", r"vals.fill: values with fractions"),
        (ARG + "dtype='uint8'\nvalue=300", r"vals.value: values do not fit uint8"),
        (ARG + "dtype='int32'\nvalue=99999999999999999999999", r"vals.value"),
        (ARG + "dtype='uint8'\narange={step=100}\nshape=[9]", r"vals: values do not fit uint8"),
        (ARG + "dtype='int8'\nintegers={high=0, seed=1}\nshape=[9]", r"vals.integers: no whole"),
        (ARG + "dtype='float32'\nuniform={}\nshape=[9]", r"vals.uniform.seed: is missing"),
        (ARG + "dtype='float32'\nnormal={seed=1, deviation=-1}\nshape=[9]", r"normal.deviation"),
        (ARG + "dtype='int32'\nvalues=[1,2,3]\nshape=[2]", r"vals.shape: \(2,\) does not hold 3"),
        (ARG + "dtype='int32'\nmatrix='M'\npart='data'", r"vals.matrix: no matrix 'M'"),
        (ARG + "dtype='uint8'\nimage='I'", r"vals.image: no image 'I'"),
        (ARG + "dtype='float64'\nimage='I'", r"vals.dtype: "),
        (ARG + "file='none.npy'", r"none.npy: no such file"),
        (ARG + "dtype='int32'\nvalue=1\n" + ARG + "dtype='int32'\nvalue=1", r"vals: is declared"),
        ("[[arguments]]\ndtype='int32'\nvalue=1", r"arguments.1.name: is missing"),
        ("arguments = [3]\n", r"arguments.1: needs exactly one"),
        ("arguments = []\nextra = 1\n", r"test.toml: extra: unknown key"),
        ("arguments = []\nsource = 'x.cu'\n", r"test.toml: needs either source"),
        ("arguments = []\n[sizes]\nn = 1.5\n", r"sizes.n: "),
        ("arguments = []\n[matrices.M]\ngenerate='tetrahedra'\nnodes=[2,2,2]\n", r"M: needs a"),
        ("arguments = []\n[matrices.M]\ngenerate='hexahedra'\nnodes=[2,2]\n", r"matrices.M.nodes"),
        (ARG + "dtype='float32'\ngaussian={radius=9000000000, sigma=1}", r"radius: .*than 1 GiB"),
        (
            ARG + "value='M.nnz'\ndtype='int32'\n"
            "[matrices.M]\ngenerate='hexahedra'\nnodes=[9999,9999,99]\n",
            r"matrices.M.nodes: .*more than 1 GiB",
        ),
        ("arguments = [\n", r"not a readable TOML file: .*line"),
    ],
)  # fmt: skip
def test_bad_keys_are_located(tmp_path, body, pattern):
    text = fails(tmp_path, body)
    assert re.search(pattern, text), text
    assert "\n" not in text.split("\n  hint:")[0]


@pytest.mark.parametrize(
    ("launch", "pattern"),
    [
        ("", r"launch: is missing"),
        ("[launch]\nblock=[32]\n", r"launch: needs either grid"),
        ("[launch]\nblock=[32]\ngrid=[1]\nproblem=[1]\n", r"launch: needs either grid"),
        ("[launch]\nblock=[32]\ngrid=[1,1,1,1]\n", r"launch.grid: "),
        ("[launch]\nblock=[0]\ngrid=[1]\n", r"launch.block: "),
        ("[launch]\nblock=['b']\ngrid=[1]\n", r"launch.block: no size is called 'b'"),
        ("[launch]\nblock=[1.5]\ngrid=[1]\n", r"launch.block.0: "),
        ("[launch]\nblock=true\ngrid=[1]\n", r"launch.block: "),
        ("[launch]\nblock=0\ngrid=[1]\n", r"launch.block: "),
        ("[launch]\nblock=[32]\ngrid=[1]\nshared_bytes=-1\n", r"launch.shared_bytes: "),
    ],
)
def test_bad_launch_is_located(tmp_path, launch, pattern):
    assert re.search("test.toml: " + pattern, fails(tmp_path, "arguments=[]\n", launch=launch))


@pytest.mark.parametrize("version", ["", "schema = 2\n", "schema = '1'\n"])
def test_schema_version_is_required(tmp_path, version):
    assert "test.toml: schema: " in fails(tmp_path, "", head=version)


def test_missing_source_file(tmp_path):
    text = fails(tmp_path, "arguments=[]\n", head="schema=1\nname='t'\nkernel='k'\nsource='x.cu'\n")
    assert text.startswith("test.toml: source: no such file: x.cu")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("cut.npy", "cut"),
        ("text.npy", b"hello"),
        ("empty.npy", b""),
        ("cut.npz", "cut"),
        ("object.npy", "object"),
    ],
)
def test_bad_numpy_files(tmp_path, name, content):
    path = tmp_path / name
    if content == "object":
        np.save(path, np.array([{}]), allow_pickle=True)
    elif content == "cut":
        (np.save if name.endswith("npy") else np.savez)(path, np.arange(1000))
        path.write_bytes(path.read_bytes()[:700])
    else:
        path.write_bytes(content)
    text = fails(tmp_path, ARG + f"file = '{name}'")
    assert text.startswith(f"{name}: not a readable NumPy file"), text


def test_file_of_other_dtype_shape_or_member(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((2, 3)))
    np.savez(tmp_path / "b.npz", u=np.zeros(1), v=np.zeros(1))
    text = fails(tmp_path, ARG + "file='a.npy'\ndtype='float32'")
    assert "arguments.vals.dtype: a.npy holds float64, not float32" in text
    assert "shape (2, 3), not (3, 2)" in fails(tmp_path, ARG + "file='a.npy'\nshape=[3, 2]")
    assert "has no members" in fails(tmp_path, ARG + "file='a.npy'\nmember='u'")
    assert "its members: u, v" in fails(tmp_path, ARG + "file='b.npz'")
    assert "no member 'w'" in fails(tmp_path, ARG + "file='b.npz'\nmember='w'")


MATRIX = ARG + "matrix='M'\npart='data'\ndtype='float32'\n[matrices.M]\nfile='m.mtx'\n"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "not a matrix\n",
        "%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 1.0\n",
        "%%MatrixMarket matrix coordinate real general\n2 2 1\n5 1 1.0\n",
        "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 x\n",
        "%%MatrixMarket matrix coordinate real general\n2 2 0\n",
        "%%MatrixMarket matrix array real general\n2 1\n1.0\n2.0\n",
    ],
)
def test_bad_matrix_market_files(tmp_path, text):
    (tmp_path / "m.mtx").write_text(text)
    assert fails(tmp_path, MATRIX).startswith("m.mtx: ")


def test_bad_packed_matrix(tmp_path):
    (tmp_path / "m.mtx.gz").write_bytes(b"\x1f\x8bjunk")
    assert fails(tmp_path, MATRIX.replace("m.mtx", "m.mtx.gz")).startswith("m.mtx.gz: ")


def test_bad_image(tmp_path):
    (tmp_path / "p.png").write_bytes(b"\x89PNG\r\n\x1a\n junk")
    body = ARG + "image='p'\ndtype='uint8'\n[images.p]\nfile='p.png'\n"
    assert fails(tmp_path, body).startswith("p.png: not a readable image")


def test_missing_case_file(tmp_path):
    with pytest.raises(CaseError, match="no such file"):
        read_case_file(tmp_path / "none.toml")


@pytest.mark.parametrize("shape", [(0,), (7,), (300, 401)], ids=str)
def test_numbers_drawn_in_pieces_are_those_drawn_at_once(shape):
    pieces = np.random.default_rng(3)
    made = drawn(lambda n: pieces.normal(2.0, 3.0, n), shape, "float32", "x")
    whole = np.random.default_rng(3).normal(2.0, 3.0, shape).astype(np.float32)
    np.testing.assert_array_equal(made, whole)


def test_arrays_of_structs_are_padded_as_c_does(tmp_path):
    members = """structs = [
        { name = "flag", dtype = "int8", fill = 1 },
        { name = "value", dtype = "float64", arange = { start = 2, step = 0.5 } },
        { name = "parts", dtype = "float32", shape = [3], uniform = { seed = 1 } },
    ]"""
    data = argument(tmp_path, f"shape = [4]\n{members}").data
    assert data.dtype.itemsize == 32
    assert data["value"].tolist() == [2.0, 2.5, 3.0, 3.5]
    assert data["parts"].shape == (4, 3)
    assert data["flag"].tolist() == [1] * 4


@pytest.mark.parametrize(
    ("members", "why"),
    [
        ('{ name = "x", dtype = "float32" }', "exactly one source"),
        ('{ name = "x", dtype = "float32", fill = 0 }, { name = "x", dtype = "int8", fill = 0 }',
         "declared twice"),
        ('{ name = "x", dtype = "float32", values = [1, 2] }', "does not hold 2 values"),
        ('{ name = "x", dtype = "float32", fill = 0, shape = "m" }', "no size is called 'm'"),
        ("3", "structs"),
    ],
)  # fmt: skip
def test_bad_members_are_located(tmp_path, members, why):
    with pytest.raises(CaseError, match=why) as error:
        argument(tmp_path, f"shape = [4]\nstructs = [{members}]")
    assert "structs" in str(error.value)
