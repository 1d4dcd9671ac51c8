"""Constants of the wrong type, and those that are given fewer values than they hold, or none."""

import numpy as np
import pytest

from placewise import advise, execute, kernel_from, make_case, predict_counters, predict_time
from placewise.errors import CaseError
from placewise.executor.device_memory.device_memory import DeviceMemory

SOURCE = """
__constant__ float weights[4] = {1.0f, 2.0f, 3.0f, 4.0f};
__constant__ float unset[4];
extern "C" __global__ void weighted(float *out) {
    out[threadIdx.x] = weights[threadIdx.x] + 10.0f * unset[threadIdx.x];
}"""


def case(weights, unset):
    given = {"weights": np.array(weights, np.float32), "unset": np.array(unset, np.float32)}
    arguments = [np.zeros(4, np.float32)]
    return make_case("weighted", SOURCE, arguments, block=4, grid=1, constants=given)


def test_the_rest_stays_as_the_source_initialises_it():
    run = execute(case([7, 8], [1, 1, 1]))
    assert run.output("out").tolist() == [17, 18, 13, 4]
    assert run.notes == (
        "constant 'weights' is given 8 of its 16 bytes: the others stay as the source initialises "
        "them",
        "constant 'unset' is given 12 of its 16 bytes: the others stay as the source initialises "
        "them",
    )


def test_predictions_say_so_too_and_full_constants_need_no_note():
    partly = case([7, 8], [1, 1, 1, 1])
    for notes in (
        predict_counters(partly, "A100").notes,
        predict_time(partly, "A100").prediction.notes,
    ):
        assert sum("'weights' is given 8 of its 16 bytes" in note for note in notes) == 1
        assert not any("'unset'" in note for note in notes)
    assert execute(case([7, 8, 9, 9], [1, 1, 1, 1])).notes == ()


def test_more_than_a_constant_holds_is_refused():
    with pytest.raises(CaseError, match=r"constant 'unset'.*20 bytes, but the variable has 16"):
        execute(case([7], [1] * 5))


SEVERAL = """
struct Part { float a; int n; };
__constant__ float taps[5];
__constant__ double scale;
__constant__ Part part;
__constant__ float4 planes[2];
__constant__ int unread[7];
__constant__ float zeros[2] = {};
__constant__ int one = 1;
extern "C" __global__ void k(float *out) {
    out[threadIdx.x] = taps[threadIdx.x] * scale + part.a + planes[1].y + zeros[1] + one;
}
extern "C" __global__ void other(int *out) { out[0] = unread[threadIdx.x]; }"""
RIGHT = {
    "taps": np.arange(5, dtype=np.float32),
    "scale": np.float64(2),
    "part": np.ones((), [("a", "f4"), ("n", "i4")])[()],
    "planes": np.ones((2, 4), np.float32),
}


def several(**constants):
    return make_case("k", SEVERAL, [np.zeros(4, np.float32)], block=4, grid=1, constants=constants)


def test_constants_of_the_declared_types_are_taken():
    run = execute(several(**RIGHT))
    assert run.output("out").tolist() == [3, 5, 7, 9]
    assert run.notes == ()


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("taps", np.ones(5, np.int32), "expects float32 elements, the array has int32"),
        ("taps", np.ones(2, np.float64), "float64"),
        ("taps", np.ones(10, np.float32), r"float32 of shape \(10,\) has 40 bytes"),
        ("scale", np.float32(2), "expects float64"),
        ("part", np.ones((), [("a", "i4"), ("n", "i4")])[()], "member 'a' is int32"),
        ("planes", np.ones((2, 4), np.int32), "float4"),
    ],
)
def test_constants_of_other_types_are_refused(name, value, says):
    with pytest.raises(CaseError, match=rf"constant '{name}': .*{says}"):
        execute(several(**(RIGHT | {name: value})))


def test_device_memory_refuses_them_too():
    kernel = kernel_from(SEVERAL, "k")
    memory = DeviceMemory()
    for name, value in RIGHT.items():
        memory.constant(kernel, name, value)
    memory.constant(kernel, "part", np.int32(3), offset_bytes=4)
    memory.constant(kernel, "taps", np.float32(3), offset_bytes=16)
    with pytest.raises(CaseError, match="expects float32 elements, the array has int32"):
        memory.constant(kernel, "taps", np.ones(5, np.int32))
    with pytest.raises(CaseError, match="expects float32 elements, the array has int32"):
        memory.constant(kernel, "taps", np.int32(3), offset_bytes=16)


def test_of_ptx_the_numbers_and_alignments_are_checked(tmp_path):
    path = tmp_path / "k.ptx"
    path.write_text(kernel_from(SEVERAL, "k").ptx)
    kernel, memory = kernel_from(path, "k"), DeviceMemory()
    for name, value in RIGHT.items():
        memory.constant(kernel, name, value)
    for wrong in (np.float32(2), np.int64(2)):
        with pytest.raises(CaseError, match=r"constant 'scale': the kernel's variable is \.f64"):
            memory.constant(kernel, "scale", wrong)
    with pytest.raises(CaseError, match="aligned to 4 bytes, the array has float64"):
        memory.constant(kernel, "taps", np.ones(2), offset_bytes=0)


def test_constants_that_nobody_sets_are_named_once():
    nothing = several(taps=RIGHT["taps"], planes=RIGHT["planes"])
    for notes in (
        execute(nothing).notes,
        predict_counters(nothing, "A100").notes,
        predict_time(nothing, "A100").prediction.notes,
        advise(nothing, "A100").notes,
    ):
        named = [note for note in notes if "never set" in note]
        assert len(named) == 2, notes
        assert named[0].startswith("constant 'scale' is never set: it is all zeros; give constants")
        assert "'part'" in named[1]
