"""A real GPU, where one is asked for: launch, check, time."""

from placewise.gpu.device import DeviceError
from placewise.gpu.measure import measure
from placewise.gpu.record import Measurement, PlacementRecord, Timing
from placewise.gpu.timing import Options

__all__ = ["DeviceError", "Measurement", "Options", "PlacementRecord", "Timing", "measure"]
