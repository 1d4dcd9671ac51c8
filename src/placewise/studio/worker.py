"""The process of one run of the studio: it reads a request from standard input and writes events to
standard output, one JSON object per line. It can be killed at any moment."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from placewise.errors import PlacewiseError
from placewise.helper_process import end_with_parent
from placewise.progress import Progress

Say = Callable[[dict[str, Any]], None]


def main() -> None:
    """Serve one request and end."""
    end_with_parent()
    # Output that libraries print must not get between the events.
    events = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())

    def say(event: dict[str, Any]) -> None:
        from placewise.report.formats import finite

        events.write(json.dumps(finite(event), allow_nan=False) + "\n")
        events.flush()

    with tempfile.TemporaryDirectory(prefix="placewise-studio-") as folder:
        # The folder of a source without a file is the working folder.
        os.chdir(folder)
        serve(sys.stdin.buffer.read(), Path(folder), say)


def serve(request: bytes, folder: Path, say: Say) -> None:
    """Report progress, then either the page of the result or one error."""
    from placewise.studio.requests import asked_run

    def progress(step: str, done: int, total: int) -> None:
        say({"event": "progress", "step": step, "done": done, "total": total})

    try:
        say({"event": "done", "page": page_of_run(asked_run(request), folder, progress)})
    except PlacewiseError as error:
        told = [
            None if t is None else t.replace(f"{folder}/", "") for t in (error.where, error.hint)
        ]
        message = error.message.replace(f"{folder}/", "")
        say({"event": "failed", "message": message, "where": told[0], "hint": told[1]})
    except (MemoryError, RecursionError):
        message = "the input is too large or nested too deeply"
        say({"event": "failed", "message": message, "where": None, "hint": None})
    except Exception as error:
        # Errors in Placewise are shown in the browser, too, since its user sees no terminal.
        message = f"Placewise failed: {type(error).__name__}: {error}"[:500]
        say({"event": "failed", "message": message, "where": None, "hint": "please report this"})


def page_of_run(asked: Any, folder: Path, progress: Progress) -> dict[str, Any]:
    """The page of the result as JSON types."""
    from placewise.studio.requests import case_of, machine_of

    progress("reading", 0, 0)
    case = case_of(asked.case, folder)
    machines = [machine_of(machine) for machine in asked.machines]
    from placewise.studio.run_kinds import KINDS

    return KINDS[asked.kind](case, machines, progress).to_dict()


if __name__ == "__main__":
    main()
