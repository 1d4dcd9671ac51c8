"""Which device Numba takes for the current one while it compiles."""

from threading import Thread

import pytest

from placewise.kernel.frontends.numba_device import compiling_for

pytest.importorskip("numba_cuda")
dispatcher = pytest.importorskip("numba.cuda.dispatcher")


def test_another_thread_still_asks_the_driver() -> None:
    before = dispatcher.get_current_device
    asked = []
    try:
        dispatcher.get_current_device = lambda: "the driver's"
        with compiling_for((9, 0)):
            other = Thread(target=lambda: asked.append(dispatcher.get_current_device()))
            other.start()
            other.join()
            assert dispatcher.get_current_device().compute_capability == (9, 0)
        assert dispatcher.get_current_device() == "the driver's"
    finally:
        dispatcher.get_current_device = before
    assert asked == ["the driver's"]
