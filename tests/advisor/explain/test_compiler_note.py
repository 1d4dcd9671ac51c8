"""Whose machine code advice is about."""

from dataclasses import replace

import numpy as np
import pytest

from placewise.advisor.explain.notes import compiler_note
from placewise.errors import CaseError
from placewise.kernel.cases.case import CompileOptions, Language
from placewise.kernel.cases.make_case import make_case
from placewise.kernel.frontends.nvrtc import compile_kernel, compiler_version
from placewise.kernel.toolchain import nvcc_version, toolkit

SOURCE = "__global__ void zero(float *a) { a[threadIdx.x] = 0; }"
CASE = make_case("zero", SOURCE, [np.ones(32, np.float32)], block=32, grid=1)


@pytest.fixture
def kernel():
    return compile_kernel(SOURCE, "zero.cu", "zero", CompileOptions())


@pytest.fixture
def nvcc(tmp_path, monkeypatch):
    """Put an ``nvcc`` of a release on the path."""

    def install(release):
        program = tmp_path / "nvcc"
        program.write_text(f'#!/bin/sh\necho "Cuda compilation tools, release {release}, V1.2.3"\n')
        program.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path))
        nvcc_version.cache_clear()

    yield install
    nvcc_version.cache_clear()


def test_another_nvcc_is_named_with_the_option_that_takes_it(kernel, nvcc):
    nvcc("12.4")
    (note,) = compiler_note(CASE, kernel)
    assert f"NVRTC {compiler_version()}" in note
    assert "nvcc on this machine is 12.4" in note
    assert "--nvrtc 12.4" in note
    assert 'nvrtc="12.4"' in note


def test_a_release_that_is_not_installed_is_told_with_the_command(kernel, nvcc):
    there = compiler_version()
    other = "13.0" if there != "13.0" else "13.1"
    nvcc(other)
    (note,) = compiler_note(CASE, kernel)
    with pytest.raises(CaseError) as refused:
        toolkit(other)
    command = note.partition("once it is installed (")[2].removesuffix(")")
    assert command.startswith("pip install")
    assert command in refused.value.hint


def test_an_installed_release_needs_no_command(kernel, nvcc):
    nvcc(there := compiler_version())
    (note,) = compiler_note(CASE, replace(kernel, compiler="12.0"))
    assert f"--nvrtc {there}" in note
    assert "installed" not in note


@pytest.mark.parametrize("language", [Language.PTX, Language.NUMBA])
def test_kernels_that_nvrtc_does_not_compile_have_no_note(kernel, nvcc, language):
    nvcc("12.4")
    assert compiler_note(replace(CASE, language=language), kernel) == ()


def test_the_same_release_needs_no_note(kernel, nvcc):
    nvcc(compiler_version())
    assert compiler_note(CASE, kernel) == ()


def test_without_an_nvcc_the_option_is_told(kernel, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    nvcc_version.cache_clear()
    (note,) = compiler_note(CASE, kernel)
    nvcc_version.cache_clear()
    assert "--nvrtc" in note
    assert "on this machine" not in note


@pytest.mark.parametrize("text", ["exit 1", "echo 'no such thing'"])
def test_an_nvcc_that_does_not_say_its_release_counts_as_none(nvcc, tmp_path, text):
    nvcc("12.4")
    (tmp_path / "nvcc").write_text(f"#!/bin/sh\n{text}\n")
    assert nvcc_version() is None


def test_code_of_no_compiler_has_no_note(kernel):
    assert compiler_note(CASE, replace(kernel, compiler=None)) == ()
