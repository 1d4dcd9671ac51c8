"""What lanes of a warp compute together."""

from reference.integers import number


def meet(what, lanes):
    """Result for each lane from ``lanes``: lane to the values it brings."""
    name = what[0]
    if name == "bar":
        return dict.fromkeys(lanes)
    if name == "shfl":
        return _shuffle(what, lanes)
    if name == "activemask":
        return dict.fromkeys(lanes, (sum(1 << lane for lane in lanes),))
    if name == "elect":
        first = min(lanes)
        return {lane: (first, int(lane == first)) for lane in lanes}
    values = {lane: brought[0] for lane, brought in lanes.items()}
    if name == "vote":
        return dict.fromkeys(values, (_vote(what, values),))
    if name == "redux":
        return dict.fromkeys(values, (_reduce(what, list(values.values())),))
    everyone = sum(1 << lane for lane in values)
    if "any" in what:
        return {
            lane: (sum(1 << other for other, v in values.items() if v == mine),)
            for lane, mine in values.items()
        }
    same = len(set(values.values())) == 1
    return dict.fromkeys(values, (everyone if same else 0, int(same)))


def _vote(what, values):
    if "ballot" in what:
        return sum(1 << lane for lane, v in values.items() if v)
    if "all" in what:
        return int(all(values.values()))
    if "any" in what:
        return int(any(values.values()))
    return int(len(set(values.values())) == 1)


def _reduce(what, values):
    numbers = [number(v, what[-1]) for v in values]
    if "add" in what:
        return sum(numbers)
    if "min" in what:
        return min(numbers)
    if "max" in what:
        return max(numbers)
    total = numbers[0]
    for n in numbers[1:]:
        total = total & n if "and" in what else total | n if "or" in what else total ^ n
    return total


def _shuffle(what, lanes):
    mode = next(p for p in what if p in ("up", "down", "bfly", "idx"))
    results = {}
    for lane, (_, b, c) in lanes.items():
        segment, clamp, step = c >> 8 & 31, c & 31, b & 31
        highest = lane & segment | clamp & ~segment
        lowest = lane & segment
        source = {
            "up": lane - step,
            "down": lane + step,
            "bfly": lane ^ step,
            "idx": lowest | step & ~segment,
        }[mode]
        inside = source >= highest if mode == "up" else source <= highest
        if not inside:
            source = lane
        # The value of a lane that is not there is undefined; zero will do.
        results[lane] = (lanes[source][0] if source in lanes else 0, int(inside))
    return results
