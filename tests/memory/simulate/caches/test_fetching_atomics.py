"""An atomic reads what was there before: sectors that L2 lacks come from DRAM, whatever the cache
is like. By hand: 1,024 threads each add to a word of their own, 128 sectors."""

import numpy as np
import pytest

from placewise import make_case
from placewise.advisor.predictions.predicted_counters import predict_counters

SOURCE = """
extern "C" __global__ void add(float *out) {
    atomicAdd(out + threadIdx.x + blockIdx.x * blockDim.x, 1.0f);
}
"""
MACHINE = """
machine Plain;
die = 6 tpc; tpc = 1 sm; sm = 32 core;
limits {{ compute_capability = 7.5; }}
globalMem 1 Y RW na 1GB 32B ? 400clk <L2> <> die ?
  warp{{floor(address1/blockSize) != floor(address2/blockSize)}};
L2 2 N RW na 64KB 32B ? 200clk <> <globalMem> die ?
  warp{{floor(address1/blockSize) != floor(address2/blockSize)}};
sharedMem 4 Y RW na 48KB ? 32 20clk <> <> sm ?
  block{{word1 != word2 && word1 % banks == word2 % banks}};
detail L2 {{ line = 128 B; sector = 32 B; ways = 16; {detail} }}
{entry}
space global G direct <L2 globalMem> global RW;
space shared S kernel_buffer <sharedMem> global RW;
"""
DRAM = """dram {
  channels = 2; banks = 2; row = 2 KB; columns = <6 7 9 10>; rows = <15 16 17>;
  bank = <8 15>; channel = <11 16>;
}"""


@pytest.mark.parametrize(
    ("detail", "entry", "requests"),
    [
        ("policy = lru;", "", None),
        ("policy = fifo;", "", None),
        ("policy = plru;", "", None),
        ("policy = random;", "", None),
        ("writes = through;", "", None),
        ("policy = lru;", DRAM, 1024 * 4 // 128),
    ],
)
def test_what_atomics_lack_is_read_from_dram(detail, entry, requests, tmp_path):
    path = tmp_path / "plain.msl"
    path.write_text(MACHINE.format(detail=detail, entry=entry))
    case = make_case("add", SOURCE, [np.zeros(1024, np.float32)], block=128, grid=8)
    report = predict_counters(case, str(path))
    values = {m.name: m.value for m in report.metrics}
    assert values["lts__t_sectors_op_red.sum"] == 128
    assert values["dram__sectors_read.sum"] == 128
    banks = report.run.traffic.banks
    assert (banks is None) == (requests is None)
    if banks is not None:
        assert banks.requests.sum() == requests
