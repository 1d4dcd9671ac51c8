"""Whatever goes wrong ends in one message and a status, never in a traceback."""

import errno
import os
import signal
import subprocess
import sys
import time

import pytest

from placewise.cli import guarded
from placewise.errors import CaseError

BEGIN = "import sys; from placewise.cli import main; from placewise.cli.entry import main as run\n"


def ended(error, capsys, monkeypatch):
    def fail():
        raise error

    monkeypatch.setattr("placewise.cli.main.app", fail)
    status = guarded.run_command_line()
    out, err = capsys.readouterr()
    assert out == ""
    assert "Traceback" not in err
    assert err.count("error:") == 1
    return status, err


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (CaseError("no grid", where="a.toml"), "a.toml: no grid"),
        (MemoryError(), "memory"),
        (RecursionError("maximum"), "nested too deeply"),
        (OSError(errno.ENAMETOOLONG, "File name too long", "a" * 300), "a" * 300 + ": File name"),
    ],
)
def test_bad_input_is_said_to_be_bad(error, words, capsys, monkeypatch):
    status, text = ended(error, capsys, monkeypatch)
    assert status == guarded.BAD_INPUT
    assert words in text
    assert "report" not in text


@pytest.mark.parametrize(
    "error", [IndexError("3\n4"), OverflowError(), UnicodeDecodeError("utf-8", b"\xff", 0, 1, "no")]
)
def test_what_is_left_asks_for_a_report_in_one_line(error, capsys, monkeypatch):
    status, text = ended(error, capsys, monkeypatch)
    assert status == guarded.OWN_FAULT
    assert type(error).__name__ in text.splitlines()[0]
    assert "please report" in text.splitlines()[1]
    assert len(text.splitlines()) == 2


def test_the_traceback_can_be_asked_for(capsys, monkeypatch):
    monkeypatch.setenv(guarded.SHOW_TRACEBACK, "1")
    monkeypatch.setattr("placewise.cli.main.app", lambda: [][1])
    assert guarded.run_command_line() == guarded.OWN_FAULT
    assert "IndexError" in capsys.readouterr().err.split("Traceback")[1]


def test_a_deleted_working_folder_is_named(tmp_path):
    (tmp_path / "gone").mkdir()
    script = f"import os; os.chdir({str(tmp_path / 'gone')!r}); os.rmdir('../gone')\n" + BEGIN
    script += "sys.argv = ['placewise', 'run', 'a.toml', '--out', 'o.npz']; run()"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == guarded.BAD_INPUT
    assert done.stderr.count("error:") == 1
    assert "Traceback" not in done.stderr


def test_output_that_is_open_for_reading_only_is_an_error(tmp_path):
    (tmp_path / "out").touch()
    with (tmp_path / "out").open() as output:
        command = [sys.executable, "-m", "placewise", "machine", "list"]
        done = subprocess.run(command, stdout=output, stderr=subprocess.PIPE, text=True)
    assert done.returncode == guarded.OUTPUT_LOST
    assert done.stderr.startswith("error: standard output cannot be written")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_letters_that_the_output_lacks_are_no_error(encoding):
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    command = [sys.executable, "-m", "placewise", "machine", "show", "A100"]
    done = subprocess.run(command, capture_output=True, env=environment)
    assert done.returncode == 0, done.stderr


# A background shell's children ignore Ctrl-C, and a program that begins so goes on doing so.
BUSY = """\
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
def busy():
    print("busy", flush=True)
    {what}
main.app = busy
run()
"""
LIBRARY_CALL = "import hashlib; hashlib.pbkdf2_hmac('sha256', b'', b'', 2**31 - 1)"
"""Minutes in C, which do not look at Python's signals."""


@pytest.mark.parametrize("what", [LIBRARY_CALL, "import time; time.sleep(600)"])
def test_ctrl_c_is_answered_whatever_runs(what):
    process = subprocess.Popen(
        [sys.executable, "-c", BEGIN + BUSY.format(what=what)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout.readline() == "busy\n"
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors == "interrupted\n"


@pytest.mark.parametrize(("argument", "status"), [("--version", 0), ("--no-such", 2)])
def test_the_command_ends_with_its_status_after_all_output_and_cleaning_up(argument, status):
    begin = (
        "import atexit, sys, threading, time; from placewise.cli.entry import script\n"
        "work = lambda: (time.sleep(1), print('worked', flush=True))\n"
        "threading.Thread(target=work).start()\n"
        "atexit.register(lambda: sys.stdout.write('cleaned up'))\n"
        f"sys.argv[1:] = ['{argument}']; script()"
    )
    done = subprocess.run([sys.executable, "-c", begin], capture_output=True, text=True)
    assert done.returncode == status
    assert done.stdout.endswith("worked\ncleaned up")
    assert ("placewise 0" in done.stdout) == (status == 0)
    assert ("No such option" in done.stderr) == (status == 2)
