"""``placewise draft``: a case file to start from, or one clear error."""

import json

import pytest
from typer.testing import CliRunner

from placewise.cli.main import app
from placewise.errors import CaseError, CompileError
from placewise.kernel.cases.case_file import read_case_file

TWO = "__global__ void a(float *x, int n) { }\n__global__ void b(float *x, int n) { }\n"


def draft(*arguments):
    return CliRunner().invoke(app, ["draft", *map(str, arguments)])


@pytest.fixture
def source(tmp_path):
    file = tmp_path / "my.cu"
    file.write_text(TWO)
    return file


def test_the_file_lies_beside_the_source_and_can_be_read(source):
    done = draft(source, "-k", "b")
    assert done.exit_code == 0
    file = source.with_suffix(".toml")
    assert f"placewise advise {file}" in done.stdout.replace("\n", " ").replace("  ", " ")
    assert read_case_file(file).kernel == "b"


def test_it_says_whether_the_kernel_runs(source):
    assert "The kernel runs with these guesses." in draft(source, "-k", "a").stdout
    source.write_text("__global__ void a(float *x) { __trap(); }\n")
    source.with_suffix(".toml").unlink()
    done = draft(source)
    assert done.exit_code == 0
    assert "does not run with these guesses yet" in done.stdout
    assert "the kernel trapped" in done.stdout
    source.with_suffix(".toml").unlink()
    data = json.loads(draft(source, "--no-run", "--json").stdout)
    assert (data["runs"], data["stopped_by"]) == (None, None)


def test_what_does_not_run_has_to_be_completed_first(source):
    source.write_text(
        "template <typename T> __global__ void a(const T *x, T *y, int n) { y[0] = x[0].z; }\n"
    )
    shown = " ".join(draft(source).stdout.split())
    assert "does not run with these guesses yet" in shown
    assert "your own sizes, data and template arguments" in shown


def test_elsewhere_the_file_names_the_source_by_its_path(source, tmp_path):
    file = tmp_path / "cases" / "b.toml"
    assert draft(source, "-k", "b", "--out", file).exit_code == 0
    assert 'source = "../my.cu"' in file.read_text()
    assert read_case_file(file).kernel == "b"


def test_a_file_that_exists_is_kept(source):
    kept = source.with_suffix(".toml")
    kept.write_text("mine")
    done = draft(source, "-k", "a")
    assert isinstance(done.exception, CaseError)
    assert "exists already" in str(done.exception)
    assert kept.read_text() == "mine"


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (TWO, (), "several kernels.*a, b"),
        (TWO, ("--kernel", "c"), "no such kernel.*a, b"),
        ("int main() { }", (), "no __global__ kernel"),
        (None, (), "no such file"),
    ],
)
def test_what_cannot_be_drafted_is_one_located_error(source, text, options, message):
    if text is None:
        source.unlink()
    else:
        source.write_text(text)
    with pytest.raises(CaseError, match=rf"(?s)my\.cu: {message}"):
        raise draft(source, *options).exception
    assert not source.with_suffix(".toml").exists()


def test_a_kernel_in_a_header_beside_the_source_is_found(source, tmp_path):
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "k.cuh").write_text('#include "types.h"\n' + TWO)
    source.write_text(
        '#include <cstdio>\n#include "missing.h"\n#include "kernels/k.cuh"\n'
        "void launch(float *x) { b<<<8, 96>>>(x, 768); }\n"
    )
    assert draft(source, "-k", "b").exit_code == 0
    written = source.with_suffix(".toml")
    assert read_case_file(written).kernel == "b"
    assert "block = [96]" in written.read_text()
    assert 'source = "my.cu"' in written.read_text()


def test_kernels_that_are_only_declared_are_looked_for_beside(source, tmp_path):
    (tmp_path / "kernels.cu").write_text(TWO)
    source.write_text("__global__ void a(float *x, int n);\nint main() {}\n")
    with pytest.raises(CaseError, match=r"kernels are defined in kernels\.cu"):
        raise draft(source).exception


def test_headers_in_a_folder_of_their_own_are_found(tmp_path):
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "factor.cuh").write_text("#define FACTOR 2.0f\n")
    (tmp_path / "lessons").mkdir()
    source = tmp_path / "lessons" / "scale.cu"
    source.write_text(
        '#include "factor.cuh"\n'
        "__global__ void scale(float *a, int n) {\n"
        "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "  if (i < n) a[i] *= FACTOR;\n"
        "}\n"
    )
    case = tmp_path / "scale.toml"
    found = draft(source, "--out", case, "--json")
    assert found.exit_code == 0
    assert json.loads(found.stdout)["runs"] is True
    assert 'include = ["include"]' in case.read_text()
    # Without that line the error says where the header lies.
    case.write_text(case.read_text().replace('include = ["include"]\n', ""))
    refused = CliRunner().invoke(app, ["run", str(case)]).exception
    assert isinstance(refused, CompileError)
    assert refused.hint.startswith(f"it lies in {tmp_path / 'include'}: ")
