"""Files are written whole or not at all."""

import stat
from pathlib import Path

import pytest

from placewise.errors import PlacewiseError
from placewise.output_file import write_whole


def test_folders_are_made_and_nothing_else_is_left(tmp_path):
    write_whole(tmp_path / "new" / "a.txt", "é\n")
    assert (tmp_path / "new" / "a.txt").read_bytes() == "é\n".encode()
    assert [p.name for p in (tmp_path / "new").iterdir()] == ["a.txt"]


def test_what_was_there_stays_where_writing_fails(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    path.write_text("before")

    def full(self: Path, text: str, encoding: str) -> None:
        with self.open("w", encoding=encoding) as file:
            file.write(text[:3])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(PlacewiseError, match=r"a\.txt: cannot be written: No space left"):
        write_whole(path, "afterwards")
    with pytest.raises(PlacewiseError, match="No space left"):
        write_whole(tmp_path / "b.txt", "afterwards")
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]
    assert path.read_text() == "before"


def test_links_and_modes_stay(tmp_path):
    (tmp_path / "real.txt").write_text("before")
    (tmp_path / "real.txt").chmod(0o640)
    (tmp_path / "link.txt").symlink_to("real.txt")
    write_whole(tmp_path / "link.txt", "after")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "after"
    assert stat.S_IMODE((tmp_path / "real.txt").stat().st_mode) == 0o640


def test_devices_are_written_to_as_they_are(capfd):
    write_whole(Path("/dev/stdout"), "seen")
    assert capfd.readouterr().out == "seen"


@pytest.mark.parametrize("path", ["/proc/none/x.txt", "/dev/null/x.txt"])
def test_what_cannot_be_made_is_told(path):
    with pytest.raises(PlacewiseError, match="cannot be written"):
        write_whole(Path(path), "text")
