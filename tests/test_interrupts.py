"""Ctrl-C at moments at which Python cannot pass an exception on."""

import subprocess
import sys

LOST = """
import os, signal, time
from placewise import interrupts

signal.signal(signal.SIGINT, signal.SIG_DFL)
interrupts.raise_soon()

class Finalized:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)

try:
    one = Finalized()
    del one
    time.sleep(30)
except KeyboardInterrupt:
    print("raised")
"""


def test_an_interrupt_in_a_finalizer_is_raised_behind_it():
    done = subprocess.run(
        [sys.executable, "-c", LOST], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout, done.stderr) == ("raised\n", "")
