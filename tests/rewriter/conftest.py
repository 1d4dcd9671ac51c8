"""What the tests of the rewriter share."""

import pytest

from placewise.executor import execute
from placewise.executor.check import Checker
from placewise.kernel.cases.prepare_case import compile_case, named_case
from placewise.machine import Machine
from placewise.machine.load import load_machine


@pytest.fixture(scope="session")
def machine() -> Machine:
    """A machine whose spaces cover the five ways of access."""
    return load_machine("A100")


@pytest.fixture(scope="session")
def clean_output():
    """A function that runs a case under the checker, which must find nothing, and returns the bytes
    that one of its arrays ends with."""

    def run(case, array):
        named, checker = named_case(case), Checker()
        found = execute(compile_case(case), named.launch, named.inputs, check=checker)
        assert not checker.findings
        return found.output(array).tobytes()

    return run
