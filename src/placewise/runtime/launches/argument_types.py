"""Whether a launch's arguments are of the types that the kernel declares."""

from __future__ import annotations

from placewise.kernel.cases.prepare_case import named_case
from placewise.kernel.kernel import Kernel
from placewise.runtime.devices.place import Where
from placewise.runtime.launches.call import Call
from placewise.runtime.launches.doubt import DoubtError
from placewise.runtime.originals import Original


def check_types(original: Original, call: Call, where: Where, kernel: Kernel) -> None:
    """Raises CaseError where an argument of ``call`` does not fit its parameter, and the launch
    would take its bits for another type's.

    Launches of the user's own library are left to it; empty arrays have no bits, and those that are
    not contiguous are not launched.
    """
    unfit = any(not array.nbytes or not array.contiguous for _, array in call.arrays)
    if unfit or not where.place.checks_types:
        return
    try:
        before = where.place.snapshot(call, kernel)
    except DoubtError:
        return
    named_case(original.case(call.launch, before))
