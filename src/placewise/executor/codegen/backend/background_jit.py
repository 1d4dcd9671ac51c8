"""Better code for kernels that run long, made meanwhile by another process.

A kernel starts with code that is compiled quickly. Once it has run for longer than that took, its
optimised code is compiled in another process, which holds neither Python's lock nor LLVM's. The
optimised code takes over as soon as it is ready, since each warp looks up its code when it starts.
It is kept on disk, so the next process starts with it.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import subprocess
import sys
import threading
from pathlib import Path

from placewise.executor.codegen.backend import llvm_code
from placewise.executor.codegen.backend.jit import CODE, OPTIMISED, code_key
from placewise.executor.codegen.backend.processor import Processor
from placewise.helper_process import end_with_parent

_running: set[subprocess.Popen[bytes]] = set()


class BetterCode:
    """Optimised code of one module: wanted, being compiled by another process, or ready."""

    def __init__(self, text: str, processor: Processor) -> None:
        self._request = {
            "text": text,
            "name": processor.name,
            "features": processor.features,
            "optimisation": OPTIMISED,
        }
        self._key = code_key(text, processor, OPTIMISED)
        self._code: bytes | None = None
        self._started = False

    def start(self) -> None:
        """Begin to compile, unless that has begun already."""
        if not self._started and sys.executable:
            self._started = True
            threading.Thread(target=self._make, daemon=True).start()

    def take(self) -> bytes | None:
        """The code when it is ready, the first time it is asked for; None before and afterwards."""
        code, self._code = self._code, None
        return code

    def _make(self) -> None:
        command = [sys.executable, str(Path(llvm_code.__file__))]
        with contextlib.suppress(OSError):
            with subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                preexec_fn=end_with_parent,
            ) as process:
                _running.add(process)
                code, _ = process.communicate(json.dumps(self._request).encode())
                _running.discard(process)
            if process.returncode == 0 and code:
                CODE.write(self._key, code)
                self._code = code


@atexit.register
def _end_all() -> None:
    for process in list(_running):
        process.kill()
