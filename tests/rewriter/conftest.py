"""A machine whose spaces cover the five ways of access."""

import pytest

from placewise.machine import Machine
from placewise.machine.load import load_machine


@pytest.fixture(scope="session")
def machine() -> Machine:
    return load_machine("A100")
