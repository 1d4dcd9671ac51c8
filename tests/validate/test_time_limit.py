"""A configuration's limit of time ends it, whatever code it is in."""

import contextlib

import pytest

from placewise.validate.predict import _TooLongError, _within


def test_code_that_handles_errors_does_not_keep_the_limit_to_itself():
    def work():
        with contextlib.suppress(Exception):
            while True:
                pass

    with pytest.raises(_TooLongError, match=r"no prediction within 0\.01 s"), _within(0.01):
        work()


def test_a_limit_that_was_lost_once_comes_again():
    def work():
        with contextlib.suppress(BaseException):
            while True:
                pass
        while True:
            pass

    with pytest.raises(_TooLongError), _within(0.01):
        work()
