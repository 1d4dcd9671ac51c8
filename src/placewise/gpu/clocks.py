"""Driver version and clocks from NVML, where it is installed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Clocks:
    """Frequencies in MHz, read while the GPU was busy or had just been."""

    sm_mhz: int | None
    memory_mhz: int | None
    sm_max_mhz: int | None
    memory_max_mhz: int | None
    driver: str | None
    """Version of the display driver, such as ``580.65.06``."""


UNKNOWN = Clocks(None, None, None, None, None)


def read_clocks(bus_id: str) -> Clocks:
    """Clocks of the GPU at PCI address ``bus_id``; unknown where NVML is missing or refuses."""
    try:
        from cuda.bindings import nvml
    except ImportError:
        # Bindings before 13.1 have none.
        return UNKNOWN
    try:
        nvml.init_v2()
    except (RuntimeError, nvml.NvmlError):
        return UNKNOWN
    try:
        handle = nvml.device_get_handle_by_pci_bus_id_v2(bus_id)
        # Older bindings (13.3) lack the shorter names.
        sm, memory = nvml.ClockType.CLOCK_SM, nvml.ClockType.CLOCK_MEM
        return Clocks(
            sm_mhz=int(nvml.device_get_clock_info(handle, sm)),
            memory_mhz=int(nvml.device_get_clock_info(handle, memory)),
            sm_max_mhz=int(nvml.device_get_max_clock_info(handle, sm)),
            memory_max_mhz=int(nvml.device_get_max_clock_info(handle, memory)),
            driver=str(nvml.system_get_driver_version()),
        )
    except nvml.NvmlError:
        return UNKNOWN
    finally:
        nvml.shutdown()
