"""The same counters whatever the processor that the simulation is compiled for."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from typing import Any

import pytest

COMMAND = "import sys; from placewise.cli.main import main; sys.exit(main())"


def counters(**environment: str) -> Any:
    """What a new process predicts of gathers, by the caches of an A100 (random) and its L2."""
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, "counters", "spmv", "--machine", "A100", "--json"],
        capture_output=True, text=True, env=os.environ | environment, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the processor is named")
def test_without_any_but_the_oldest_vectors():
    """Registers of 128 bits, as every x86-64 has them; this processor's may have 512."""
    assert counters(NUMBA_CPU_NAME="x86-64", NUMBA_CPU_FEATURES="") == counters()
