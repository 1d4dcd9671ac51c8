import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

PARENT = """
import subprocess, sys, time
from placewise.helper_process import end_with_parent
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"],
                         preexec_fn=end_with_parent)
print(child.pid, flush=True)
time.sleep(600)
"""


def test_a_helper_ends_when_its_parent_is_killed():
    process = subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True)
    state = Path(f"/proc/{int(process.stdout.readline())}/stat")
    assert state.exists()
    process.send_signal(signal.SIGKILL)
    process.wait()
    for _ in range(6000):
        # Who adopts it may take its time to collect what is left of it.
        if not state.exists() or state.read_text().split()[2] == "Z":
            return
        time.sleep(0.01)
    pytest.fail("it is still there a minute later")
