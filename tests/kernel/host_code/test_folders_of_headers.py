"""Headers that a Makefile's -I names, found near the source."""

from pathlib import Path

import pytest

from placewise.kernel.host_code.includes import folder_with, folders_of_headers


@pytest.fixture
def program(tmp_path):
    """A repository with sources in ``src/heat`` and headers in ``include`` and ``src/common``."""
    files = {
        ".git/HEAD": "",
        "include/check.cuh": '#include "own/types.h"\n',
        "include/own/types.h": '#include <sizes.h>\n#include "beside.h"\n',
        "include/own/beside.h": "",
        "src/common/sizes.h": "#define N 16\n",
        "src/heat/heat.cu": "",
        "src/heat/local.h": "",
    }
    for name, text in files.items():
        path = tmp_path / "program" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "outside.h").write_text("")
    return tmp_path / "program"


def test_folders_come_in_the_order_of_need_each_once(program):
    text = '#include <vector>\n#include "local.h"\n#include "check.cuh"\n#include "sizes.h"\n'
    found = folders_of_headers(text, program / "src/heat")
    assert found == (program / "include", program / "src/common")


def test_nothing_is_added_for_what_is_found_without_or_nowhere(program):
    folder = program / "src/heat"
    assert folders_of_headers('#include "local.h"\n', folder) == ()
    assert folders_of_headers('#include "no_such.h"\n#include <cuda_fp16.h>\n', folder) == ()
    # The host's own headers do no harm where they are missing.
    (program / "include/vector").write_text("")
    assert folders_of_headers("#include <vector>\n", folder) == ()


def test_what_lies_outside_the_repository_is_not_looked_at(program):
    assert folder_with("outside.h", program / "src/heat") is None
    assert folder_with("own/types.h", program / "src/heat") == program / "include"
    (program / ".git/HEAD").unlink()
    (program / ".git").rmdir()
    assert folder_with("outside.h", program / "src/heat") == program.parent


def test_headers_that_include_each_other_end(program):
    (program / "include/check.cuh").write_text('#include "check.cuh"\n#include "own/types.h"\n')
    (program / "include/own/types.h").write_text('#include "check.cuh"\n')
    found = folders_of_headers('#include "check.cuh"\n', program / "src/heat")
    assert found == (program / "include",)


def test_a_folder_that_does_not_exist_has_no_headers():
    assert folder_with("any.h", Path("/no/such/folder/at/all")) is None


def test_what_a_makefile_names_comes_first(program):
    # Without it, the folder that comes first by name.
    for name in ("apart", "common"):
        (program / f"src/{name}").mkdir(exist_ok=True)
        (program / f"src/{name}/util.h").write_text("")
    heat = program / "src/heat"
    assert folder_with("util.h", heat) == program / "src/apart"
    (heat / "Makefile").write_text("FLAGS := -O3 -I$(CUDA)/include -I../none -I ../common -Ix\n")
    assert folder_with("util.h", heat) == program / "src/common"
    assert folder_with("own/types.h", heat) == program / "include"
