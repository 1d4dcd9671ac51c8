"""Texel formats, against the driver's own descriptors."""

import numpy as np
import pytest
from cuda.bindings import driver

from placewise.errors import UnsupportedError
from placewise.gpu.texture import texture_descriptors


@pytest.mark.parametrize(
    ("data", "texel", "channels", "integer"),
    [
        (np.zeros(10, np.float32), "FLOAT", 1, False),
        (np.zeros(10, np.float16), "HALF", 1, False),
        (np.zeros(10, np.int32), "SIGNED_INT32", 1, True),
        (np.zeros(10, np.uint8), "UNSIGNED_INT8", 1, True),
        (np.zeros((5, 2), np.int32), "SIGNED_INT32", 2, True),
        (np.zeros((5, 4), np.float32), "FLOAT", 4, False),
        (np.zeros((5, 3), np.float32), "FLOAT", 1, False),
        (np.zeros(10, np.float64), "SIGNED_INT32", 2, True),
        (np.zeros(10, np.complex128), "SIGNED_INT32", 4, True),
    ],
)
def test_texel_of_each_element_type(data, texel, channels, integer):
    resource, sampling = texture_descriptors(driver, driver.CUdeviceptr(256), data)
    linear = resource.res.linear
    assert linear.format == getattr(driver.CUarray_format, f"CU_AD_FORMAT_{texel}")
    assert linear.numChannels == channels
    assert linear.sizeInBytes == data.nbytes
    assert int(linear.devPtr) == 256
    assert sampling.flags == (driver.CU_TRSF_READ_AS_INTEGER if integer else 0)


def test_structs_have_no_texel():
    data = np.zeros(4, [("a", "f4"), ("b", "f8")])
    with pytest.raises(UnsupportedError, match="no texel type"):
        texture_descriptors(driver, driver.CUdeviceptr(256), data)
