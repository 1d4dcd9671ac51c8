// Index of the nearest centre of each point: one thread per point, points row by row.
__global__ void assign(const float *points, const float *centres, int *nearest,
                       int n, int clusters, int dims) {
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p < n) {
        float best = 3.4e38f;
        int index = 0;
        for (int c = 0; c < clusters; c++) {
            float distance = 0.0f;
            for (int d = 0; d < dims; d++) {
                float diff = points[p * dims + d] - centres[c * dims + d];
                distance += diff * diff;
            }
            if (distance < best) {
                best = distance;
                index = c;
            }
        }
        nearest[p] = index;
    }
}
