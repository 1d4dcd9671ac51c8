"""Machine code is found by other processes, and made anew where it is missing or damaged."""

import subprocess
import sys
from pathlib import Path

import pytest

from placewise import compiled_code
from placewise.compiled_code import (
    _own_digest_and_imports,
    compiled,
    text_digest,
    told_of_compiling,
    written_to,
)
from placewise.disk_cache import DiskCache

PROGRAM = """
import sys
from pathlib import Path
from placewise import compiled_code
from placewise.disk_cache import DiskCache
compiled_code._INSTALLED = DiskCache("none", files=0, place=Path("/nonexistent"))
compiled_code.USER_CACHE = DiskCache("own", files=9, place=Path(sys.argv[1]))
compiled_code._setting.cache = compiled_code.USER_CACHE
sys.path.insert(0, sys.argv[2])
told = []
with compiled_code.told_of_compiling(lambda: told.append(1)):
    from doubling import double, filled, triple
    numbers = filled(14)
    print(double(21), triple(numbers[0]), len(told), int("scipy.linalg" in sys.modules))
"""
FUNCTION = """
import numpy as np
from placewise.compiled_code import compiled

@compiled(nogil=True)
def double(x):
    return 2 * x

@compiled("int64(int64)", nogil=True)
def triple(x):
    return 3 * x

@compiled(nogil=True)
def filled(x):
    return np.full(3, x)
"""


@pytest.fixture
def run(tmp_path):
    (tmp_path / "module").mkdir()
    (tmp_path / "module" / "doubling.py").write_text(FUNCTION)

    def start(cache: Path) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", PROGRAM, str(cache), str(tmp_path / "module")]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    return start


def answer(process):
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    return out.split()


def test_the_second_process_compiles_nothing_and_the_first_is_told_once(run, tmp_path):
    cache = tmp_path / "cache"
    assert answer(run(cache)) == ["42", "42", "1", "1"]
    assert len(list(cache.iterdir())) == 3
    assert answer(run(cache)) == ["42", "42", "0", "0"]


def test_code_that_is_missing_is_compiled_after_other_code_was_loaded(run, tmp_path):
    cache = tmp_path / "cache"
    answer(run(cache))
    for path in sorted(cache.iterdir()):
        path.unlink()
        assert answer(run(cache)) == ["42", "42", "1", "1"]
        assert path.is_file()


def test_damaged_code_is_made_again(run, tmp_path):
    cache = tmp_path / "cache"
    answer(run(cache))
    whole = {path: path.read_bytes() for path in cache.iterdir()}
    for number, path in enumerate(whole):
        path.write_bytes(whole[path][: 100 * number])
    assert answer(run(cache))[:3] == ["42", "42", "1"]
    assert [len(p.read_bytes()) for p in whole] == [len(data) for data in whole.values()]


def test_a_folder_that_cannot_be_written_is_done_without(run, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    assert answer(run(blocked / "cache"))[:3] == ["42", "42", "1"]


def test_two_processes_at_once_share_an_empty_cache(run, tmp_path):
    cache = tmp_path / "cache"
    both = [run(cache), run(cache)]
    assert [answer(p)[:2] for p in both] == [["42", "42"]] * 2
    assert len(list(cache.iterdir())) == 3


def test_code_goes_to_the_folder_that_is_asked_for(tmp_path):
    with written_to(tmp_path):
        assert compiled(nogil=True)(_add)(1, 2) == 3
    assert len(list(tmp_path.iterdir())) == 1


def test_code_that_was_kept_elsewhere_goes_there_too(tmp_path, monkeypatch):
    monkeypatch.setattr(compiled_code, "USER_CACHE", DiskCache("x", files=9, place=tmp_path / "a"))
    monkeypatch.setattr(compiled_code._setting, "cache", compiled_code.USER_CACHE)
    assert compiled(nogil=True)(_add)(1, 2) == 3
    with written_to(tmp_path / "b"):
        assert compiled(nogil=True)(_add)(1, 2) == 3
    names = [sorted(p.name for p in (tmp_path / folder).iterdir()) for folder in "ab"]
    assert names[0] == names[1] != []


def _add(a, b):
    return a + b


def test_advice_starts_without_scipy_where_all_code_is_at_hand():
    program = "import sys, placewise.advisor; print('scipy.linalg' in sys.modules)"
    for _ in range(2):  # the first may have to compile
        ran = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert ran.stdout.split() == ["False"]


def test_nobody_is_told_after_the_block(tmp_path, monkeypatch):
    told = []
    monkeypatch.setattr(compiled_code, "USER_CACHE", DiskCache("x", files=9, place=tmp_path))
    with told_of_compiling(lambda: told.append(1)):
        pass
    assert compiled(nogil=True)(_add)(1, 2) == 3
    assert told == []


def test_the_digest_follows_imports(tmp_path, monkeypatch):
    package = tmp_path / "placewise"
    (package / "deep").mkdir(parents=True)
    (package / "deep" / "__init__.py").write_text("")
    (package / "deep" / "leaf.py").write_text("X = 1\n")
    (package / "other.py").write_text("Y = 1\n")
    (package / "top.py").write_text("from placewise.deep import (\n    leaf,\n)\n")
    monkeypatch.setattr(compiled_code, "ROOT", package)

    def digest():
        text_digest.cache_clear()
        _own_digest_and_imports.cache_clear()
        return text_digest("placewise.top")

    before = digest()
    (package / "other.py").write_text("Y = 2\n")
    assert digest() == before
    (package / "deep" / "leaf.py").write_text("X = 2\n")
    assert digest() != before
    text_digest.cache_clear()
    _own_digest_and_imports.cache_clear()
