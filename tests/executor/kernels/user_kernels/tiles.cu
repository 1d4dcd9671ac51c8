// Tiles of a warp.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

template <int Size>
__global__ void tile_scan(int* out, const int* in, int n) {
    auto tile = cg::tiled_partition<Size>(cg::this_thread_block());
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int v = i < n ? in[i] : 0;
    for (int d = 1; d < Size; d *= 2) {
        int below = tile.shfl_up(v, d);
        if (tile.thread_rank() >= d) v += below;
    }
    if (i < n) out[i] = v;
}
