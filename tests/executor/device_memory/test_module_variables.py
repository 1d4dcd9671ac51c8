"""Device variables of a module before the first launch."""

import pytest

from placewise.errors import CaseError
from placewise.executor.device_memory.module_memory import initial_content
from placewise.kernel.ptx.module import Variable


def test_a_variable_without_measure_is_refused():
    variable = Variable(name="table", space="global", size=1 << 50, align=4)
    with pytest.raises(CaseError, match=r"variable 'table'.*more than 1 GiB"):
        initial_content(variable, {})


def test_an_array_without_a_size_has_no_content():
    assert not initial_content(Variable(name="v", space="global", size=0, align=4), {}).size
