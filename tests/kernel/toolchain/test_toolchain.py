"""The compilers side by side: which is used, what each says where it is missing or refuses."""

import locale

import pytest

from placewise.disk_cache import DiskCache
from placewise.errors import CaseError, CompileError
from placewise.kernel.binary.cubin import read_cubin
from placewise.kernel.cases.case import CompileOptions
from placewise.kernel.frontends.nvrtc import compile_kernel, compile_module, compiler_version
from placewise.kernel.target import target_for
from placewise.kernel.toolchain import Target, assemble, disassemble, spills_of, toolkit, wheels
from placewise.kernel.toolchain.nvcc import nvcc_toolkit, nvcc_version
from placewise.kernel.toolchain.nvrtc_library import COMPILATIONS

SOURCE = """\
#include <cuda_fp16.h>
#include <cooperative_groups.h>
#include <cuda/std/array>
__device__ float twice(float x) { return 2 * x; }
__global__ void scale(float* a, __half* h, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    cuda::std::array<int, 3> list{1, 2, 3};
    cooperative_groups::this_thread_block().sync();
    if (i < n) a[i] = twice(a[i]) / list[n & 1] + __half2float(__hadd(h[0], h[i]));
}
template <typename T> __global__ void fill(T* a, T value) { a[threadIdx.x] = value; }
"""
ALONE = """\
__device__ float twice(float x) { return 2 * x; }
__global__ void scale(float *x, int n) { if (threadIdx.x < n) x[threadIdx.x] = twice(x[n]) / n; }
template <typename T> __global__ void fill(T *a, T value) { a[threadIdx.x] = value; }
"""
"""A source that includes nothing, so that it compiles in a tenth of the time."""


def needs(nvrtc):
    try:
        toolkit(nvrtc)
    except CaseError:
        pytest.skip(f"NVRTC {nvrtc} is not installed")


@pytest.mark.parametrize(
    ("nvrtc", "arch"),
    [("13", "sm_75"), ("13", "sm_90"), ("12.9", "sm_70"), ("12.9", "sm_86"), ("11.8", "sm_35"),
     ("11.8", "sm_37"), ("11.8", "sm_80")],
)  # fmt: skip
def test_each_release_reads_the_headers_it_comes_with(nvrtc, arch):
    needs(nvrtc)
    kernel = compile_kernel(SOURCE, "s.cu", "scale", CompileOptions(arch=arch, nvrtc=nvrtc))
    assert kernel.compiler.startswith(nvrtc)
    assert f".target {arch}" in kernel.ptx
    assert f"release {kernel.compiler}" in kernel.ptx
    facts = read_cubin(kernel.cubin, kernel.entry)
    assert facts.target == int(arch.removeprefix("sm_"))


def test_the_locale_stays_that_of_python():
    needs("11.8")
    before = locale.getencoding(), locale.nl_langinfo(locale.CODESET)
    compile_kernel(SOURCE, "s.cu", "fill<int>", CompileOptions(arch="sm_52", nvrtc="11.8"))
    assert (locale.getencoding(), locale.nl_langinfo(locale.CODESET)) == before


def test_a_version_in_full_must_be_the_one_installed():
    assert compile_kernel(
        SOURCE, "s.cu", "scale", CompileOptions(nvrtc=compiler_version())
    ).compiler == (compiler_version())
    with pytest.raises(CaseError) as caught:
        compile_kernel(SOURCE, "s.cu", "scale", CompileOptions(nvrtc="13.99"))
    assert f"{compiler_version()} is installed" in caught.value.message
    with pytest.raises(CaseError, match=r"no NVRTC '10\.2'") as caught:
        compile_kernel(SOURCE, "s.cu", "scale", CompileOptions(nvrtc="10.2"))
    assert "12.9" in (caught.value.hint or "")


def test_another_version_of_a_release_lies_in_a_folder_of_its_own(tmp_path, monkeypatch):
    needs("13")
    installed = toolkit("13")
    place = tmp_path / "toolchains" / "13.99" / "nvidia" / "cu13" / "lib" / "libnvrtc.so.13"
    monkeypatch.setattr(wheels.sys, "prefix", str(tmp_path))
    with pytest.raises(CaseError, match=r"13\.99 is asked for") as caught:
        toolkit("13.99")
    assert f"--target {tmp_path / 'toolchains' / '13.99'}" in (caught.value.hint or "")
    place.parent.mkdir(parents=True)
    place.touch()
    found = toolkit("13.99")
    toolkit.cache_clear()
    assert (found.version, found.nvrtc) == ("13.99", place)
    assert found.headers == installed.headers


@pytest.fixture
def nvcc(tmp_path, monkeypatch):
    """A toolkit whose ``nvcc`` is on the path, as a script elsewhere, with the installed NVRTC."""
    needs("13")
    installed = toolkit("13")
    home = tmp_path / "cuda-13.98"
    for folder in ("bin", "lib64"):
        (home / folder).mkdir(parents=True)
    (home / "include").symlink_to(installed.headers[0])
    for library in installed.nvrtc.parent.glob("libnvrtc*"):
        (home / "lib64" / library.name).symlink_to(library)
    script = tmp_path / "path" / "nvcc"
    script.parent.mkdir()
    script.write_text(
        "#!/bin/sh\n"
        'case "$1" in --version) echo "Cuda compilation tools, release 13.98, V13.98.1";;\n'
        f'*) echo "#$ _HERE_={home}/bin" >&2; echo "#$ TOP={home}/bin/.." >&2;; esac\n'
    )
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{script.parent}:/usr/bin:/bin")
    caches = (nvcc_version, nvcc_toolkit, toolkit)
    for one in caches:
        one.cache_clear()
    yield home
    for one in caches:
        one.cache_clear()


def test_the_toolkit_of_the_nvcc_on_the_path_can_be_asked_for(nvcc):
    found = toolkit("13.98")
    assert (found.version, found.nvrtc) == ("13.98", nvcc / "lib64" / "libnvrtc.so.13")
    assert found.headers == (nvcc / "include", nvcc / "include" / "cccl")
    assert found.ptxas is None
    assert compile_kernel(SOURCE, "s.cu", "scale", CompileOptions(nvrtc="13.98")).cubin


def test_a_toolkit_without_nvrtc_is_no_version_that_is_installed(nvcc):
    for library in (nvcc / "lib64").iterdir():
        library.unlink()
    with pytest.raises(CaseError, match=r"13\.98 is asked for"):
        toolkit("13.98")


def test_the_installed_version_goes_before_the_toolkits(nvcc):
    assert nvcc not in toolkit("13").nvrtc.parents


@pytest.mark.parametrize("arch", ["sm_75", "sm_80"])
def test_a_version_beside_the_installed_one_makes_its_own_code(arch):
    needs("12.3")
    kernel = compile_kernel(SOURCE, "s.cu", "scale", CompileOptions(arch=arch, nvrtc="12.3"))
    assert kernel.compiler == "12.3"
    assert "release 12.3" in kernel.ptx


@pytest.mark.parametrize(("nvrtc", "extra"), [("12.9", "cuda12"), ("11.8", "cuda11")])
def test_a_release_that_is_missing_names_the_extra(monkeypatch, nvrtc, extra):
    monkeypatch.setattr(wheels, "_version", lambda _: None)
    toolkit.cache_clear()
    try:
        with pytest.raises(CaseError, match=f"NVRTC {nvrtc} is not installed") as caught:
            toolkit(nvrtc)
    finally:
        toolkit.cache_clear()
    assert caught.value.hint == f"pip install 'placewise[{extra}]'"


def test_a_target_that_a_release_does_not_know_says_which_one_does():
    with pytest.raises(CaseError, match="has no target 'sm_37'") as caught:
        compile_kernel(SOURCE, "s.cu", "scale", CompileOptions(arch="sm_37"))
    assert "11.8" in (caught.value.hint or "")
    with pytest.raises(CaseError, match="has no target 'fast'"):
        compile_kernel(SOURCE, "s.cu", "scale", CompileOptions(arch="fast"))


def test_machines_older_than_a_release_get_its_nearest_target():
    needs("11.8")
    assert target_for((3, 5), "11.8") == ("sm_35", None)
    arch, note = target_for((3, 5))
    assert arch != "sm_35"
    assert compiler_version() in (note or "")


def test_kernels_of_a_module_share_their_code():
    kernels = compile_module(
        ALONE, "s.cu", ["scale", "fill<int>", "fill<double>"], CompileOptions()
    )
    assert len({k.ptx for k in kernels}) == len({k.cubin for k in kernels}) == 1
    assert len({k.entry for k in kernels}) == 3
    with pytest.raises(CaseError, match="no kernel named 'filled<int>'"):
        compile_module(ALONE, "s.cu", ["scale", "filled<int>"], CompileOptions())


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90", "sm_120"])
@pytest.mark.parametrize("nvrtc", ["13", "12.9"])
def test_the_assembler_makes_of_ptx_what_nvrtc_makes(nvrtc, arch):
    needs(nvrtc)
    kernel = compile_kernel(SOURCE, "s.cu", "scale", CompileOptions(arch=arch, nvrtc=nvrtc))
    made = assemble(kernel.ptx, Target(arch, nvrtc), "s.ptx")
    expected = read_cubin(kernel.cubin, kernel.entry)
    found = read_cubin(made.cubin, kernel.entry)
    assert found.code == expected.code
    assert (found.registers, found.parameters) == (expected.registers, expected.parameters)
    assert made.spills[kernel.entry] == kernel.spills


def test_bad_ptx_is_refused_at_its_line():
    kernel = compile_kernel(ALONE, "s.cu", "scale", CompileOptions())
    lines = kernel.ptx.splitlines()
    at = next(n for n, line in enumerate(lines) if "\tadd." in line or "\tmad." in line)
    lines[at] = "\tadd.s99 %r1, %r2, %r3;"
    with pytest.raises(CompileError) as caught:
        assemble("\n".join(lines), Target("sm_80"), "s.ptx")
    assert caught.value.where == f"s.ptx:{at + 1}"
    assert "s99" in caught.value.message
    with pytest.raises(CompileError, match="sm_35"):
        assemble(kernel.ptx, Target("sm_35"), "s.ptx")
    with pytest.raises(CompileError):
        assemble("no PTX at all", Target("sm_80"), "s.ptx")


def test_ptx_for_a_release_without_assembler_is_refused():
    needs("11.8")
    with pytest.raises(CaseError, match="no ptxas"):
        assemble(".version 7.8", Target("sm_35", "11.8"), "s.ptx")


def test_listings_name_the_kernel_and_refuse_what_is_none():
    kernel = compile_kernel(ALONE, "s.cu", "scale", CompileOptions(arch="sm_86"))
    assert f".text.{kernel.entry}" in disassemble(kernel.cubin)
    with pytest.raises(CompileError):
        disassemble(kernel.cubin[:200])
    with pytest.raises(CompileError):
        disassemble(b"")


@pytest.fixture
def own_caches(monkeypatch, tmp_path):
    """All caches on disk in a folder of the test's."""
    monkeypatch.setattr(DiskCache, "folder", lambda cache: tmp_path / "caches" / cache.name)
    return tmp_path / "caches"


def test_listings_are_kept_and_made_again_where_damaged(own_caches):
    kernel = compile_kernel(SOURCE, "s.cu", "scale", CompileOptions(arch="sm_89"))
    disassemble.cache_clear()
    expected = disassemble(kernel.cubin)
    (kept,) = (own_caches / "listings").iterdir()
    for damaged in (b"", kept.read_bytes()[:-1] + b"!"):
        kept.write_bytes(damaged)
        disassemble.cache_clear()
        assert disassemble(kernel.cubin) == expected
    disassemble.cache_clear()


def test_compilations_are_kept_and_made_again_where_damaged(own_caches):
    options = CompileOptions(arch="sm_89")
    expected = compile_kernel(ALONE, "s.cu", "scale", options)
    (kept,) = (own_caches / "compilations").iterdir()
    whole = kept.read_bytes()
    for damaged in (whole, b"", whole[:-1] + b"!"):
        kept.write_bytes(damaged)
        assert compile_kernel(ALONE, "s.cu", "scale", options) == expected
    assert COMPILATIONS.read(kept.name) is not None


def test_what_decides_a_compilation_tells_it_apart(own_caches):
    plain = compile_kernel(ALONE, "s.cu", "scale", CompileOptions(arch="sm_89"))
    assert compile_kernel(ALONE, "s.cu", "scale", CompileOptions(arch="sm_86")) != plain
    assert compile_kernel(ALONE + "\n", "s.cu", "scale", CompileOptions(arch="sm_89")) == plain
    assert len([*(own_caches / "compilations").iterdir()]) == 3


def test_a_source_that_includes_a_file_is_compiled_anew(own_caches, tmp_path):
    source = '#include "by.h"\n__global__ void f(float *x) { x[0] *= BY; }'
    made = []
    for by in (2, 3):
        (tmp_path / "by.h").write_text(f"#define BY {by}\n")
        made.append(compile_kernel(source, str(tmp_path / "f.cu"), "f", CompileOptions()).ptx)
    assert made[0] != made[1]
    assert not (own_caches / "compilations").exists()


def test_spills_of_functions_count_for_their_kernel():
    log = """\
ptxas info    : Compiling entry function 'f' for 'sm_80'
ptxas info    : Function properties for f
ptxas         .     24 bytes stack frame, 20 bytes spill stores, 24 bytes spill loads
ptxas info    : Used 24 registers
ptxas info    : Function properties for g
ptxas         .     8 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads
ptxas info    : Compiling entry function 'h' for 'sm_80'
ptxas info    : Function properties for h
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
"""
    found = spills_of(log)
    assert (found["f"].store_bytes, found["f"].load_bytes) == (28, 28)
    assert (found["h"].store_bytes, found["h"].load_bytes) == (0, 0)
    assert spills_of("") == {}
