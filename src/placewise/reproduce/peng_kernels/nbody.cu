struct Body { float x, y, z, vx, vy, vz; };

__global__ void nbody(Body *p, float dt) {
    int tid = blockIdx.x * blockDim.x + threadIdx.x;
    float fx = 0, fy = 0, fz = 0;
    float x = p[tid].x;
    float y = p[tid].y;
    float z = p[tid].z;
    for (int j = 0; j < 512; j++) {
        float dx = p[j].x - x;
        float dy = p[j].y - y;
        float dz = p[j].z - z;
        float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 1e-9f);
        float weight = inverse * inverse * inverse;
        fx += dx * weight;
        fy += dy * weight;
        fz += dz * weight;
    }
    p[tid].vx += dt * fx;
    p[tid].vy += dt * fy;
    p[tid].vz += dt * fz;
}
