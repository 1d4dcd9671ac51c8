"""One process at a time on a GPU."""

import os
import subprocess
import sys
import tempfile

import pytest

from placewise.gpu.exclusive import exclusive_use

WAITER = """
from placewise.gpu.exclusive import exclusive_use
print("asks", flush=True)
with exclusive_use("0000:01:00.0"):
    print("has it", flush=True)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


def test_another_process_waits_until_the_gpu_is_free(folder):
    with exclusive_use("0000:01:00.0"):
        other = subprocess.Popen([sys.executable, "-c", WAITER], stdout=subprocess.PIPE, text=True)
        assert other.stdout.readline() == "asks\n"
        with pytest.raises(subprocess.TimeoutExpired):
            other.wait(timeout=0.3)
    assert other.communicate(timeout=60)[0] == "has it\n"
    assert other.returncode == 0


def test_another_gpu_is_another_matter():
    with exclusive_use("0000:01:00.0"), exclusive_use("0000:02:00.0"):
        pass


def test_a_link_of_the_lock_files_name_is_not_followed(folder):
    (folder / f"placewise-{os.getuid()}-gpu-0000-01-00-0.lock").symlink_to(folder / "elsewhere")
    with exclusive_use("0000:01:00.0"):
        pass
    assert not (folder / "elsewhere").exists()
