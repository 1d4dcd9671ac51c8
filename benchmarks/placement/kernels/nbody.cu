// Acceleration of each body by all others, softened: one thread per body.
__global__ void nbody(const float *px, const float *py, const float *pz, const float *mass,
                      float *ax, float *ay, float *az, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float x = px[i], y = py[i], z = pz[i];
    float sx = 0.0f, sy = 0.0f, sz = 0.0f;
    for (int j = 0; j < n; j++) {
        float dx = px[j] - x;
        float dy = py[j] - y;
        float dz = pz[j] - z;
        float r2 = dx * dx + dy * dy + dz * dz + 1e-4f;
        float inv = rsqrtf(r2);
        float s = mass[j] * inv * inv * inv;
        sx += s * dx;
        sy += s * dy;
        sz += s * dz;
    }
    ax[i] = sx;
    ay[i] = sy;
    az[i] = sz;
}
