// Which of N points lie in a polygon of VERTICES vertices, by the crossing number of a ray to the
// right: an edge is crossed where the point's y is between those of its ends (BETWEEN, four ways to
// say so) and the point is left of the edge. The slope of an edge is shared by the TILE points of a
// thread. METHOD: three ways to count.
__constant__ float2 corners[VERTICES];

__device__ __forceinline__ int between(float y, float one, float other) {
#if BETWEEN == 0
    return (one > y) != (other > y);
#elif BETWEEN == 1
    return (one <= y && other > y) || (other <= y && one > y);
#elif BETWEEN == 2
    return y - one == 0.0f || (y - one) * (y - other) < 0.0f;
#else
    return (y - one) * (y - other) < 0.0f || y - one == 0.0f;
#endif
}

extern "C" __global__ void inside(int *bitmap, const float2 *points, int n) {
    const int first = blockIdx.x * BLOCK_X * TILE + threadIdx.x;
    if (first >= n) return;
    int crossed[TILE];
    float2 point[TILE];
#pragma unroll
    for (int t = 0; t < TILE; t++) {
        crossed[t] = 0;
        if (first + BLOCK_X * t < n) point[t] = points[first + BLOCK_X * t];
    }
    int k = VERTICES - 1;
    for (int j = 0; j < VERTICES; k = j++) {
        const float2 a = corners[j], b = corners[k];
        const float slope = (b.x - a.x) / (b.y - a.y);
#pragma unroll
        for (int t = 0; t < TILE; t++) {
            const float2 p = point[t];
#if METHOD == 0
            if (between(p.y, a.y, b.y) && p.x < slope * (p.y - a.y) + a.x) crossed[t] = !crossed[t];
#elif METHOD == 1
            const int inside = between(p.y, a.y, b.y);
            crossed[t] += inside && p.x < a.x + slope * (p.y - a.y);
#else
            if (between(p.y, a.y, b.y) && p.x < slope * (p.y - a.y) + a.x) crossed[t]++;
#endif
        }
    }
#pragma unroll
    for (int t = 0; t < TILE; t++) {
#if METHOD == 0
        // Nought or one already.
        if (first + BLOCK_X * t < n) bitmap[first + BLOCK_X * t] = crossed[t];
#else
        if (first + BLOCK_X * t < n) bitmap[first + BLOCK_X * t] = crossed[t] & 1;
#endif
    }
}
