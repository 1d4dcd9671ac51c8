"""The executor's tests run optimised code; that of other stages and of ``test_better_code`` is what
is made first."""

from collections.abc import Iterator
from functools import partial

import pytest

from placewise.executor import translate
from placewise.executor.codegen.module import compile_program


@pytest.fixture(autouse=True, scope="session")
def optimised_code() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(translate, "compile_program", partial(compile_program, quick_first=False))
        yield
