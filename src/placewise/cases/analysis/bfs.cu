// One step of a breadth-first search on a graph in compressed sparse rows. Each warp looks at 32
// nodes; where one was reached in the step before, its lanes visit the edges. Several threads may
// reach the same node, and all write the same level.

__global__ void visit(const int *edge_starts, const int *edges, int *levels, int *reached,
                      int nodes, int level) {
    int lane = threadIdx.x % 32;
    int first = (blockIdx.x * blockDim.x + threadIdx.x) / 32 * 32;
    for (int node = first; node < first + 32 && node < nodes; node++) {
        if (levels[node] != level) continue;
        for (int j = edge_starts[node] + lane; j < edge_starts[node + 1]; j += 32) {
            int neighbour = edges[j];
            if (levels[neighbour] == -1) {
                levels[neighbour] = level + 1;
                *reached = 1;
            }
        }
    }
}
