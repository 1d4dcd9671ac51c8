"""``placewise doctor``: what works here, and the caches."""

import json

import pytest
from typer.testing import CliRunner

from placewise.cli.main import app
from placewise.disk_cache import DiskCache
from placewise.doctor import checks
from placewise.errors import CompileError


@pytest.fixture
def empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "placewise"


def test_all_that_is_needed_works(empty_cache):
    done = CliRunner().invoke(app, ["doctor"])
    assert done.exit_code == 0, done.output
    assert "everything needed works" in done.stdout
    assert "nvdisasm" in done.stdout
    assert str(empty_cache) in done.stdout.replace("\n", "").replace(" ", "")


def test_what_is_missing_fails_and_says_how_to_get_it(empty_cache, monkeypatch):
    def gone():
        raise CompileError("nvdisasm is not installed", hint="pip install nvdisasm")

    monkeypatch.setattr(checks, "nvdisasm", gone)
    done = CliRunner().invoke(app, ["doctor"])
    assert done.exit_code == 1
    assert "not working: disassembler (nvdisasm)" in done.stdout
    assert "pip install nvdisasm" in done.stdout
    data = json.loads(CliRunner().invoke(app, ["doctor", "--json"]).stdout)
    assert not data["healthy"]
    assert [c["name"] for c in data["checks"] if c["state"] == "fails"] == [
        "disassembler (nvdisasm)"
    ]


def test_caches_are_measured_and_cleared(empty_cache, tmp_path):
    listings = DiskCache("listings", files=3)
    listings.write("one", b"x" * 1000)
    kept = tmp_path / "cache" / "other-program"
    kept.mkdir()
    (kept / "file").write_bytes(b"y")
    (empty_cache / "link").symlink_to(kept)

    def sizes(*options):
        done = CliRunner().invoke(app, ["doctor", "--json", *options])
        data = json.loads(done.stdout)
        return {c["what"]: c["bytes"] for c in data["caches"]}, data["freed_bytes"]

    found, freed = sizes()
    assert found["disassembled kernels"] == 1032
    assert freed is None
    found, freed = sizes("--clear-caches")
    assert set(found.values()) == {0}
    assert freed == 1032
    assert (kept / "file").read_bytes() == b"y"
    assert listings.read("one") is None
