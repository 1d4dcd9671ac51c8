"""Whose machine code advice is about."""

from dataclasses import replace

import pytest

from placewise.advisor.explain.notes import compiler_note
from placewise.kernel.cases.case import CompileOptions
from placewise.kernel.frontends.nvrtc import compile_kernel, compiler_version
from placewise.kernel.toolchain import nvcc_version


@pytest.fixture
def kernel():
    source = "__global__ void zero(float *a) { a[threadIdx.x] = 0; }"
    return compile_kernel(source, "zero.cu", "zero", CompileOptions())


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
    (note,) = compiler_note(kernel)
    assert f"NVRTC {compiler_version()}" in note
    assert "nvcc on this machine is 12.4" in note
    assert "--nvrtc 12.4" in note


def test_the_same_release_needs_no_note(kernel, nvcc):
    nvcc(compiler_version())
    assert compiler_note(kernel) == ()


def test_without_an_nvcc_the_option_is_told(kernel, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    nvcc_version.cache_clear()
    (note,) = compiler_note(kernel)
    nvcc_version.cache_clear()
    assert "--nvrtc" in note
    assert "on this machine" not in note


@pytest.mark.parametrize("text", ["exit 1", "echo 'no such thing'"])
def test_an_nvcc_that_does_not_say_its_release_counts_as_none(nvcc, tmp_path, text):
    nvcc("12.4")
    (tmp_path / "nvcc").write_text(f"#!/bin/sh\n{text}\n")
    assert nvcc_version() is None


def test_code_of_no_compiler_has_no_note(kernel):
    assert compiler_note(replace(kernel, compiler=None)) == ()
