"""The compiler in a process of its own: what its end, its time and its memory do to the caller."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from placewise.disk_cache import DiskCache
from placewise.errors import CompileError
from placewise.kernel.toolchain import nvrtc_process, toolkit
from placewise.kernel.toolchain.nvrtc_library import SECONDS_VARIABLE, NvrtcLibrary
from placewise.kernel.toolchain.wheels import DEFAULT_NVRTC

KERNEL = 'extern "C" __global__ void k(float *a) { a[threadIdx.x] = %s; }'
DOUBLED = "#define M0 a[0]\n" + "".join(f"#define M{n + 1} (M{n} + M{n})\n" for n in range(28))
"""M28 is a sum of 2**28 terms: more than any compiler has the time or the memory for."""
FLAGS = ["--gpu-architecture=sm_80"]


@pytest.fixture
def library(monkeypatch, tmp_path):
    """A compiler that has compiled nothing before."""
    monkeypatch.setattr(DiskCache, "folder", lambda cache: tmp_path / cache.name)
    return NvrtcLibrary(toolkit(DEFAULT_NVRTC).nvrtc)


def compiled(library, term="1.0f", before=""):
    return library.compile(before + KERNEL % term, "k.cu", flags=FLAGS)


def process_of(library):
    return library._idle[0]._process


def test_the_same_process_compiles_again(library):
    first = process_of(library).pid
    assert ".entry k(" in compiled(library).ptx
    assert not compiled(library, "nothing").succeeded
    assert ".entry k(" in compiled(library, "2.0f").ptx
    assert process_of(library).pid == first


def test_what_was_compiled_before_needs_no_process(library):
    first = compiled(library)
    again = NvrtcLibrary(toolkit(DEFAULT_NVRTC).nvrtc)
    assert (again.version, again.archs) == (library.version, library.archs)
    assert compiled(again) == first
    assert not again._idle
    assert compiled(again, "3.0f").succeeded
    assert process_of(again).pid != process_of(library).pid


def test_a_compiler_that_crashes_is_an_error_and_is_replaced(library):
    process_of(library).kill()
    with pytest.raises(CompileError, match="SIGKILL"):
        compiled(library)
    assert compiled(library).succeeded


def test_a_source_that_takes_too_long_or_too_much_is_an_error(library, monkeypatch):
    monkeypatch.setenv(SECONDS_VARIABLE, "2")
    with pytest.raises(CompileError, match=r"did not end in 2 s|itself failed") as caught:
        compiled(library, "M28", DOUBLED)
    assert caught.value.hint is not None
    monkeypatch.delenv(SECONDS_VARIABLE)
    assert compiled(library).succeeded


def test_a_child_process_has_compilers_of_its_own(library):
    child = os.fork()
    if not child:
        status = 1
        try:
            status = 0 if compiled(library, "3.0f").succeeded else 2
        finally:
            os._exit(status)
    assert compiled(library, "4.0f").succeeded
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_it_ends_with_who_started_it(tmp_path):
    """Also while it compiles, and where the other one had no time to end it."""
    path = toolkit(DEFAULT_NVRTC).nvrtc
    parent = f"""
import subprocess, sys, time
child = subprocess.Popen([sys.executable, {nvrtc_process.__file__!r}, {str(path)!r}, str(2**32)],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)
child.stdout.read(1)
print(child.pid, flush=True)
time.sleep(600)
"""
    process = subprocess.Popen([sys.executable, "-c", parent], stdout=subprocess.PIPE, text=True)
    child = int(process.stdout.readline())
    process.send_signal(signal.SIGKILL)
    process.wait()
    state = Path(f"/proc/{child}/stat")
    for _ in range(6000):
        # Who adopts it may take its time to collect what is left of it.
        if not state.exists() or state.read_text().split()[2] == "Z":
            return
        time.sleep(0.01)
    pytest.fail("it is still there a minute later")
