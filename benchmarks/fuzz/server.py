"""A process that has imported all of Placewise and copies itself for every input.

Importing takes a second, which 2,000 inputs need not pay each. Jobs and answers are lines of JSON
on standard input and output. Every input gets a process and a process group of its own, so
that a crash ends nothing else and helpers that outlive it are found.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import pkgutil
import resource
import signal
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import Any

ADDRESS_SPACE = 8 * 2**30
"""Bytes that a process may map: protects the machine. Peaks are of what it really touched."""
FILE_SIZE = 2 * 2**30
_POLL_S = 0.005
_GRACE_S = 2.0
"""In which helpers may follow the process that started them."""


def main() -> None:
    """Answer jobs until standard input ends."""
    _import_everything()
    gc.freeze()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        print(json.dumps(run(json.loads(line))), file=answers, flush=True)


def _import_everything() -> None:
    import placewise

    for module in pkgutil.walk_packages(placewise.__path__, "placewise."):
        if module.name.endswith("__main__"):
            continue
        # Some modules need what only a machine with a GPU has.
        with contextlib.suppress(ImportError):
            importlib.import_module(module.name)


def run(job: dict[str, Any]) -> list[dict[str, Any]]:
    """Start the job's processes at once, wait for all: how each ended.

    ``status`` is the exit status, or minus the signal; ``left`` whether helpers outlived it.
    """
    started = {_start(job, number): number for number in range(job["copies"])}
    begin = time.monotonic()
    interrupt = job["interrupt_s"]
    ends: dict[int, dict[str, Any]] = {}
    answered_from = begin
    while len(ends) < len(started):
        now = time.monotonic()
        if interrupt is not None and now - begin >= interrupt:
            interrupt, answered_from = None, now
            for pid in started.keys() - ends.keys():
                with contextlib.suppress(ProcessLookupError):
                    (os.killpg if job["whole_group"] else os.kill)(pid, signal.SIGINT)
        for pid in started.keys() - ends.keys():
            done, status, usage = os.wait4(pid, os.WNOHANG)
            hung = not done and now - begin > job["limit_s"] * _busy()
            if hung:
                os.killpg(pid, signal.SIGKILL)
                _, status, usage = os.wait4(pid, 0)
            if done or hung:
                ends[pid] = {
                    "status": os.waitstatus_to_exitcode(status),
                    "hung": hung,
                    "seconds": now - begin,
                    "answered_s": (now - answered_from) / _busy(),
                    "cpu_s": usage.ru_utime + usage.ru_stime,
                    "peak_bytes": usage.ru_maxrss * 1024,
                    "left": _left_running(pid),
                }
        time.sleep(_POLL_S)
    return [ends[pid] for pid in started]


def _busy() -> float:
    """By how much other work stretches the time that a process takes; 1 on an idle machine."""
    return max(1.0, os.getloadavg()[0] / len(os.sched_getaffinity(0)))


def _left_running(group: int) -> bool:
    """Whether processes of ``group`` are still there after some grace; ends them."""
    until = time.monotonic() + _GRACE_S
    with contextlib.suppress(ProcessLookupError):
        while time.monotonic() < until:
            os.killpg(group, 0)
            time.sleep(_POLL_S)
        os.killpg(group, signal.SIGKILL)
        return True
    return False


def _start(job: dict[str, Any], number: int) -> int:
    pid = os.fork()
    if pid:
        # A group that is to be signalled must be there.
        with contextlib.suppress(PermissionError, ProcessLookupError):
            os.setpgid(pid, pid)
        return pid
    status = 70
    try:
        os.setpgid(0, 0)
        # A shell that starts the fuzzer in the background has it ignore SIGINT.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _surround(job, number)
        if job["fresh"]:
            program = [sys.executable, "-m", "placewise", *job["command"]]
            os.execve(sys.executable, list(map(os.fsencode, program)), os.environ)
        status = _call(job["command"])
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def _surround(job: dict[str, Any], number: int) -> None:
    """Limits, folder, environment and the three standard streams."""
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_SIZE, FILE_SIZE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    folder = Path(job["folder"])
    os.environ.update(job["environment"])
    streams = (
        os.open(os.devnull, os.O_RDONLY),
        _output(job["stdout"], folder / f"stdout{number}"),
        os.open(folder / f"stderr{number}", os.O_WRONLY | os.O_CREAT),
    )
    os.chdir(folder / "work")
    if job["delete_folder"]:
        gone = folder / "gone"
        gone.mkdir(exist_ok=True)
        os.chdir(gone)
        with contextlib.suppress(FileNotFoundError):
            gone.rmdir()
    for target, stream in enumerate(streams):
        if stream is None:
            os.close(target)
        else:
            os.dup2(stream, target)
    if not job["fresh"]:
        sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
        sys.stderr = os.fdopen(2, "w", 1, "utf-8", "backslashreplace", closefd=False)


def _output(how: str, path: Path) -> int | None:
    path.touch()
    match how:
        case "read-only":
            return os.open(path, os.O_RDONLY)
        case "closed":
            return None
        case "full":
            return os.open("/dev/full", os.O_WRONLY)
        case "closed pipe":
            reader, writer = os.pipe()
            os.close(reader)
            return writer
        case _:
            return os.open(path, os.O_WRONLY)


def _call(command: list[str]) -> int:
    """What the program's entry point does here, as the interpreter would do it, to its end."""
    from placewise.cli.main import main as placewise

    sys.argv = ["placewise", *command]
    status = 0
    try:
        placewise()
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1 if end.code else 0
    except BaseException:
        traceback.print_exc()
        status = 1
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    return status


if __name__ == "__main__":
    main()
