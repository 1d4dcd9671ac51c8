"""Placements predicted from one measured sample: scaling, legality, profiles, and bad input."""

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from placewise.advisor.predictions.one_sample import predict_targets
from placewise.cli.main import app
from placewise.errors import CaseError
from placewise.kernel.cases.make_case import make_case

SOURCE = """
__global__ void scale(const float *table, const int *index, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2 * table[index[i]];
}
"""
N = 1 << 16
HEADER = '"Kernel Name","Metric Name","Metric Unit","Metric Value"\n'


@pytest.fixture(scope="module")
def case():
    index = np.random.default_rng(1).integers(0, 4096, N).astype(np.int32)
    arrays = [np.ones(4096, np.float32), index, np.zeros(N, np.float32), np.int32(N)]
    return make_case("scale", SOURCE, arrays, block=256, problem=N, arch="sm_80")


def profile(folder: Path, kernel="scale", **metrics):
    path = folder / "profile.csv"
    rows = [
        f'"{kernel}","{name.replace("-", ".")}","","{value}"\n' for name, value in metrics.items()
    ]
    path.write_text(HEADER + "".join(rows))
    return path


@pytest.fixture(scope="module")
def found(case):
    return predict_targets(case, "A100", measured_ms=0.5)


@pytest.mark.slow
def test_every_legal_placement_scales_the_measured_time(found):
    assert found.measured_ms == 0.5
    assert found.placements == len(found.targets) + 1
    times = [target.milliseconds for target in found.targets]
    assert times == sorted(times)
    for target in found.targets:
        expected = 0.5 * target.parts.total / found.sample_parts.total
        assert target.milliseconds == pytest.approx(expected)
        assert target.placement["out"] not in ("texture", "constant", "readonly")
    # 32 lanes look up different words of a table in constant memory: replays.
    in_constant = next(t for t in found.targets if t.placement["table"] == "constant")
    assert in_constant.parts.t_comp > found.sample_parts.t_comp


def test_one_target_is_that_of_all(found, case):
    one = predict_targets(case, "A100", measured_ms=0.5, moves={"table": "constant"})
    (target,) = one.targets
    same = next(t for t in found.targets if t.placement == target.placement)
    assert target.milliseconds == pytest.approx(same.milliseconds)


def test_profile_gives_time_and_replays(case, found, tmp_path):
    """Eq. 3: the replays that the profile has beyond the counted ones go to every target."""
    metrics = {"gpu__time_duration-sum": 250000, "smsp__inst_executed-sum": 30000}
    plain = predict_targets(case, "A100", profile=profile(tmp_path, **metrics))
    assert plain.measured_ms == pytest.approx(0.25)
    many = metrics | {"smsp__inst_issued-sum": 3e6}
    replayed = predict_targets(case, "A100", profile=profile(tmp_path, **many))
    assert replayed.sample_parts.t_comp > plain.sample_parts.t_comp
    assert max(t.ratio for t in replayed.targets) != max(t.ratio for t in plain.targets)


def test_profile_without_a_time_or_of_another_kernel_is_refused(case, tmp_path):
    timeless = profile(tmp_path, **{"smsp__inst_executed-sum": 30000})
    with pytest.raises(CaseError, match="the sample has no time") as error:
        predict_targets(case, "A100", profile=timeless)
    assert error.value.where == str(timeless)
    other = profile(tmp_path, kernel="other", **{"gpu__time_duration-sum": 1000})
    with pytest.raises(CaseError, match="no launch of 'scale'"):
        predict_targets(case, "A100", profile=other)
    with pytest.raises(CaseError, match="none is given"):
        predict_targets(case, "A100")


@pytest.mark.parametrize(
    ("moves", "why"),
    [
        ({"out": "texture"}, "out cannot be in texture memory"),
        ({"tabel": "texture"}, "no array 'tabel'"),
        ({"table": "textur"}, "no space 'textur'"),
    ],
)
def test_target_that_is_not_legal_is_refused(case, moves, why):
    with pytest.raises(CaseError, match=why) as error:
        predict_targets(case, "A100", measured_ms=1.0, moves=moves)
    (move,) = moves.items()
    assert error.value.where == "--place {}={}".format(*move)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--place", "x=texture"], "--place goes with --model"),
        (["--model", "huang-li", "--measured", "1ms", "--layouts"], "goes with none of"),
    ],
)
def test_options_that_do_not_go_together(options, why):
    with pytest.raises(CaseError, match=why):
        CliRunner().invoke(app, ["advise", "spmv", "-m", "A100", *options], catch_exceptions=False)
