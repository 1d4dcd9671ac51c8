"""Texture and surface objects in device memory: what a program holds instead of their handles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from placewise.errors import CaseError
from placewise.executor.device_memory.address_space import handle
from placewise.executor.device_memory.device import Region
from placewise.executor.device_memory.device_array import DeviceArray, Owner
from placewise.executor.texture.texture_words import TexelRead
from placewise.kernel.texture import SurfaceArgument, TextureArgument


@dataclass(frozen=True, eq=False)
class DeviceTexture:
    """A texture or surface object. Pass it to launches, or store its :attr:`address`."""

    owner: Owner
    region: Region
    argument: TextureArgument | SurfaceArgument
    array: DeviceArray
    """The array whose memory it shows."""
    read: TexelRead

    @property
    def name(self) -> str:
        return self.region.name

    @property
    def address(self) -> np.uint64:
        """The ``cudaTextureObject_t`` or ``cudaSurfaceObject_t``, for arrays and structs."""
        if not self.owner.is_live(self.region):
            raise CaseError("the object's memory was freed", where=f"texture '{self.name}'")
        return np.uint64(handle(self.region.window))
