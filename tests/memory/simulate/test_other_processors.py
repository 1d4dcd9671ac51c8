"""The same counters whatever the processor that the simulation is compiled for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest
from llvmlite.binding import get_host_cpu_features

COMMAND = "import sys; from placewise.cli.main import main; sys.exit(main())"


def counters(**environment: str) -> Any:
    """What a new process predicts of gathers, by the caches of an A100 (random) and its L2."""
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, "counters", "spmv", "--machine", "A100", "--json"],
        capture_output=True, text=True, env=os.environ | environment, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.skipif(
    not get_host_cpu_features().get("avx2"), reason="a processor without vectors of 256 bits"
)
def test_without_vectors_of_512_bits():
    """Those of this processor may have them."""
    assert counters(NUMBA_CPU_NAME="x86-64-v3", NUMBA_CPU_FEATURES="+avx2") == counters()
