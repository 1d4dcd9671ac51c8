// Assigns each point to the nearest of the centres.
struct Point {
    float x, y, z, w;
    float distance;
    int cluster;
    int previous;
    int label;
};

struct Centre {
    float x, y, z, w;
};

__device__ float squared(const Point &p, const Centre &c) {
    float dx = p.x - c.x, dy = p.y - c.y, dz = p.z - c.z, dw = p.w - c.w;
    return dx * dx + dy * dy + dz * dz + dw * dw;
}

__global__ void kmeans_points(Point *points, const Centre *centres, int n, int k) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float best = 1e30f;
    int nearest = 0;
    for (int c = 0; c < k; c++) {
        float d = squared(points[i], centres[c]);
        if (d < best) {
            best = d;
            nearest = c;
        }
    }
    points[i].cluster = nearest;
}
