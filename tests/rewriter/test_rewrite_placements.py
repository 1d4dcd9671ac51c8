"""Every reachable placement of kernels as users write them, compiled."""

from dataclasses import replace

import numpy as np
import pytest
from corpus import SAMPLES

from placewise import make_case
from placewise.advisor.forms.agnostic import write_placement
from placewise.errors import UnsupportedError
from placewise.kernel.cases.case import Case
from placewise.kernel.frontends.nvrtc import compile_kernel
from placewise.kernel.source import source_obstacle
from placewise.kernel.view import analyse_source
from placewise.rewriter import rewrite
from placewise.space import Placement

ARCHS = ("sm_75", "sm_90", "sm_100")
SPACES = ("readonly", "texture", "constant", "shared")


def compiles(case: Case, arch: str = "sm_80") -> None:
    options = replace(case.options, arch=arch)
    compile_kernel(case.source, case.filename, case.kernel, options)


@pytest.fixture(scope="module", params=SAMPLES)
def sample(request):
    return SAMPLES[request.param]


def test_reachable_spaces_are_those_that_a_reader_expects(sample, machine):
    view = analyse_source(sample.make())
    for use in view.arrays:
        reachable = {
            space.name
            for space in machine.spaces
            if not space.is_cache_hint
            and not space.way.facts.by_row  # tests/rewriter/ways/test_pitched.py
            and space.way != use.present
            and source_obstacle(view, use.name, space.way) is None
        }
        assert reachable == set(sample.reachable[use.name].split()), use.name


@pytest.mark.parametrize("hint", ["l2only", "streaming", "no_allocate", "once"])
def test_all_that_is_loaded_can_be_hinted(sample, hint, machine):
    """Whatever may be read-only, and what is written, too, if it has loads of its own."""
    case = sample.make()
    view = analyse_source(case)
    space = machine.space(hint)
    moved = {
        use.name: hint
        for use in view.arrays
        if source_obstacle(view, use.name, space.way, writable=True) is None
    }
    readable = {a for a, spaces in sample.reachable.items() if "readonly" in spaces.split()}
    assert readable <= set(moved)
    if moved:
        rewritten = rewrite(case, Placement.of(moved), machine, view)
        loaded = any(p.kind == "load" for u in view.arrays if u.name in moved for p in u.accesses)
        assert (space.intrinsic in rewritten.case.source) == loaded
        compiles(rewritten.case)


@pytest.mark.slow
def test_every_single_move_compiles(sample, machine):
    case = sample.make()
    view = analyse_source(case)
    for array, spaces in sample.reachable.items():
        for space in spaces.split():
            rewritten = rewrite(case, Placement.of({array: space}), machine, view)
            assert rewritten.case.source != case.source
            assert rewritten.edits
            compiles(rewritten.case)


def test_arrays_spread_over_the_spaces_compile(sample, machine):
    """Each array in another of its spaces: the rewrites must not get in one another's way. The
    architectures take turns."""
    case = sample.make()
    arch = ARCHS[list(SAMPLES.values()).index(sample) % len(ARCHS)]
    view = analyse_source(case)
    moved = {}
    for number, (array, spaces) in enumerate(sample.reachable.items()):
        if spaces:
            moved[array] = spaces.split()[number % len(spaces.split())]
    compiles(rewrite(case, Placement.of(moved), machine, view).case, arch)


@pytest.mark.slow
@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("space", SPACES)
def test_all_arrays_moved_together_compile_for_every_architecture(sample, space, arch, machine):
    case = sample.make()
    view = analyse_source(case)
    moved = {a: space for a, spaces in sample.reachable.items() if space in spaces.split()}
    if moved:
        compiles(rewrite(case, Placement.of(moved), machine, view).case, arch)


def test_what_is_not_reachable_is_refused(sample, machine):
    case = sample.make()
    view = analyse_source(case)
    for array, spaces in sample.reachable.items():
        for space in machine.spaces:
            if space.name in spaces.split() or space.way == view.array(array).present:
                continue
            if space.is_cache_hint or space.way.facts.by_row:
                continue
            with pytest.raises(UnsupportedError, match=f"'{array}' cannot be placed in"):
                rewrite(case, Placement.of({array: space.name}), machine, view)


def test_the_present_placement_changes_nothing(sample, machine):
    case = sample.make()
    view = analyse_source(case)
    present = {
        a.name: next(s.name for s in machine.spaces if s.way == a.present) for a in view.arrays
    }
    rewritten = rewrite(case, Placement.of(present), machine, view)
    assert rewritten.case.source == case.source
    assert rewritten.edits == ()


@pytest.mark.parametrize(("kind", "dtype"), [("unsigned char", np.uint8), ("short", np.int16)])
def test_narrow_texels_are_legal_and_proven(kind, dtype):
    source = (
        f"__global__ void k(const {kind} *a, int *o)"
        "{ int i = threadIdx.x; o[i] = a[i * 7 % 64] * 3 - a[63 - i]; }"
    )
    data = np.random.default_rng(1).integers(0, 256, 64).astype(dtype)
    one = make_case("k", source, [data, np.zeros(64, np.int32)], block=64, grid=1)
    assert write_placement(one, "A100", {"a": "texture"}).verification.identical
