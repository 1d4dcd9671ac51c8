"""What became of an input: one word for how its process ended and what it left."""

from __future__ import annotations

import json
import re
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.fuzz.hostile_input import HostileInput

PEAK_BYTES = 4 * 2**30
ANSWER_S = 10.0
"""An interrupt that is answered later is a hang."""
EARLY = "before its first line"
"""An interrupt came before Placewise ran at all: Python shows a traceback of its own modules."""
GOOD = ("clean error", "accepted", EARLY)
BAD = {
    "traceback": "tracebacks",
    "internal error": "errors of Placewise itself (one line that asks for a report)",
    "crash": "crashes (ended by a signal)",
    "hang": "hangs",
    "peak": "peaks over 4 GB",
    "unclear": "failures without exactly one message",
    "partial files": "failures that leave files",
    "helpers left": "processes that leave helpers running",
    "bad output": "accepted, with output that is no JSON or no number",
}
"""Outcomes that must not be, with the name of their figure."""
INTERNAL = "please report"
_TRACEBACK = re.compile(
    r"Traceback \(most recent call last\)|^Exception ignored in|^Fatal Python", re.M
)
_COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_OWN_LINE = re.compile(r"File \"[^\"]*placewise/")
_ERROR = re.compile(r"^error:", re.M)
_USAGE = re.compile(r"^(?:Usage:.*|.*─ Error ─.*)$", re.M)
_NO_NUMBER = re.compile(r"(?<![\w./])[-+]?(?:nan|inf|NaN|Infinity)(?![\w/-])")
"""No parts of paths: a folder may be named so."""
_FOUND = 1
_INTERRUPTED = 130
_ADVISING = ("advise", "counters", "validate", "lint", "machine")


@dataclass(frozen=True)
class Verdict:
    """How one process ended."""

    outcome: str
    seconds: float
    peak_bytes: int


def judge(made: HostileInput, end: dict[str, Any], folder: Path, number: int) -> Verdict:
    """``end`` is the server's answer, ``folder`` holds the outputs and the working folder."""
    stdout = _text(folder / f"stdout{number}")
    stderr = _text(folder / f"stderr{number}")
    own = bool(_OWN_LINE.search(stderr))
    outcome = _outcome(made, end, stdout, stderr, own)
    if outcome in GOOD and end["left"]:
        outcome = "helpers left"
    # Where standard output is lost, what was asked for as files is there.
    failed = outcome == "clean error" and made.surroundings.stdout == "file"
    if failed and not made.surroundings.delete_folder and _left_files(made, folder / "work"):
        outcome = "partial files"
    return Verdict(outcome, end["seconds"], end["peak_bytes"])


def _outcome(made: HostileInput, end: dict[str, Any], stdout: str, stderr: str, own: bool) -> str:
    status, interrupted = end["status"], made.surroundings.interrupt_s is not None
    if end["hung"] or (interrupted and end["answered_s"] > ANSWER_S):
        return "hang"
    if _TRACEBACK.search(stderr):
        early = interrupted and not own and "KeyboardInterrupt" in stderr
        return EARLY if early else "traceback"
    if interrupted and status == -signal.SIGINT:
        return "clean error"
    if status < 0:
        return "crash"
    if INTERNAL in stderr:
        return "internal error"
    if end["peak_bytes"] > PEAK_BYTES:
        return "peak"
    messages = len(_ERROR.findall(stderr)) + bool(_USAGE.search(stderr))
    lost = made.surroundings.stdout != "file"
    if status == 0 or (status == _FOUND and stdout and not messages):
        return _accepted(made, stdout, status) if not messages else "unclear"
    if status == _INTERRUPTED and "interrupted" in stderr:
        return "clean error"
    # A reader that has seen enough, or a lost output beside a lost error, need no word.
    return "clean error" if messages == 1 or (lost and status and not messages) else "unclear"


def _accepted(made: HostileInput, stdout: str, status: int) -> str:
    if made.surroundings.stdout != "file" or made.surroundings.environment:
        return "accepted"
    if "--json" in made.command and "--help" not in made.command:
        try:
            json.loads(stdout, parse_constant=_refuse)
        except ValueError:
            return "bad output"
    elif made.command[0] in _ADVISING and status == 0 and _NO_NUMBER.search(stdout):
        return "bad output"
    return "accepted"


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _left_files(made: HostileInput, folder: Path) -> bool:
    kept = {folder / name for name in made.files}
    return any(path not in kept for path in folder.rglob("*") if not path.is_dir())


def _text(path: Path) -> str:
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        text = file.read(50_000_000).replace(b"\0", b"").decode("utf-8", "replace")
    # Of UTF-16, colours and lines that are written over, only the letters count.
    return _COLOUR.sub("", text).replace("\r", "\n").replace("\ufffd", "")
