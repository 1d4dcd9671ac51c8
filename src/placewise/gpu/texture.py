"""Texture objects over linear memory: which texel stands for which element type."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from placewise.errors import UnsupportedError

_FORMATS = {
    "float32": "FLOAT",
    "float16": "HALF",
    "int8": "SIGNED_INT8",
    "int16": "SIGNED_INT16",
    "int32": "SIGNED_INT32",
    "uint8": "UNSIGNED_INT8",
    "uint16": "UNSIGNED_INT16",
    "uint32": "UNSIGNED_INT32",
}
"""Element type to the driver's ``CU_AD_FORMAT_`` of a texel with one channel."""


def texture_descriptors(cuda: Any, pointer: Any, data: NDArray[np.generic]) -> tuple[Any, Any]:
    """Resource and sampling descriptor for element reads of ``data`` at ``pointer``.

    Data of shape (n, 2) or (n, 4) holds texels of so many channels. Elements of 8 and 16 bytes
    have no texel of their own and are read as int2 and int4. Raises UnsupportedError for other
    element types.
    """
    dtype = data.dtype
    channels = data.shape[1] if data.ndim == 2 and data.shape[1] in (2, 4) else 1
    name = _FORMATS.get(dtype.name)
    if name is None:
        if dtype.itemsize not in (8, 16) or channels > 1:
            raise UnsupportedError(f"no texel type for {dtype}")
        name, channels = "SIGNED_INT32", dtype.itemsize // 4
    resource = cuda.CUDA_RESOURCE_DESC()
    resource.resType = cuda.CUresourcetype.CU_RESOURCE_TYPE_LINEAR
    resource.res.linear.devPtr = pointer
    resource.res.linear.format = getattr(cuda.CUarray_format, f"CU_AD_FORMAT_{name}")
    resource.res.linear.numChannels = channels
    resource.res.linear.sizeInBytes = data.nbytes
    sampling = cuda.CUDA_TEXTURE_DESC()
    sampling.filterMode = cuda.CUfilter_mode.CU_TR_FILTER_MODE_POINT
    # Without this flag the driver turns integers into fractions of their range.
    if "INT" in name:
        sampling.flags = cuda.CU_TRSF_READ_AS_INTEGER
    return resource, sampling
