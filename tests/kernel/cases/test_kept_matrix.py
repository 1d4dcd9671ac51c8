"""Generated matrices that a second run reads from disk."""

import numpy as np
import pytest

from placewise.kernel.cases.generators import kept_matrix as kept_matrix_module
from placewise.kernel.cases.generators.finite_element import hexahedra
from placewise.kernel.cases.generators.kept_matrix import MATRICES, kept_matrix

SETTINGS = ((3, 4, 5), 0.25, 7)


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def assert_is_made(matrix):
    expected = hexahedra(*SETTINGS)
    for part in ("data", "indices", "indptr"):
        found, wanted = getattr(matrix, part), getattr(expected, part)
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)


def test_a_second_run_reads_what_the_first_made():
    assert_is_made(kept_matrix(hexahedra, *SETTINGS))
    (file,) = MATRICES.folder().iterdir()
    assert_is_made(kept_matrix(hexahedra, *SETTINGS))
    assert list(MATRICES.folder().iterdir()) == [file]


def test_a_damaged_file_is_made_again():
    kept_matrix(hexahedra, *SETTINGS)
    (file,) = MATRICES.folder().iterdir()
    file.write_bytes(file.read_bytes()[:100])
    assert_is_made(kept_matrix(hexahedra, *SETTINGS))


def test_other_settings_and_other_code_make_another_matrix(monkeypatch):
    first = kept_matrix(hexahedra, *SETTINGS)
    other = kept_matrix(hexahedra, SETTINGS[0], 0.25, 8)
    assert first.shape == other.shape
    assert not np.array_equal(first.data, other.data)
    monkeypatch.setattr(kept_matrix_module.inspect, "getsource", lambda module: "other")
    kept_matrix(hexahedra, *SETTINGS)
    assert len(list(MATRICES.folder().iterdir())) == 3
