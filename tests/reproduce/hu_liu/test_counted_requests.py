"""Counted requests of the kernels of Hu and Liu against arithmetic on addresses."""

import numpy as np
import pytest

from placewise.reproduce.hu_liu.counted_requests import counted_requests, strided_transactions

STRIDES = (1, 3, 10, 15, 32, 40)


def test_a_stride_makes_as_many_transactions_up_to_a_warp():
    """The lines of 128 bytes that 32 elements of 4 bytes touch, ``stride`` elements apart."""
    found = strided_transactions(STRIDES, 512)
    for stride in STRIDES:
        starts = np.arange(0, 512, 32)[:, None] * stride * 4
        lines = (starts + np.arange(32) * stride * 4) // 128
        mean = np.mean([len(set(warp)) for warp in lines.tolist()])
        assert found[stride] == pytest.approx(mean)


def test_threads_of_fan1_read_a_row_each():
    """Table III: 32 transactions of a strided request. Of Fan1's three requests two are strided;
    the third reads the pivot, which is the same for all threads."""
    fan1 = counted_requests()["Fan1"]
    assert fan1.requests == 3
    # 767 rows in 24 warps: the last has 31.
    assert fan1.transactions == pytest.approx((2 * 767 + 24) / (3 * 24))
