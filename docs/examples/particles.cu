struct Particle { float x, y, z; float vx, vy, vz; float charge; int cell; };

// Moves every particle by its velocity.
__global__ void push(Particle *p, int n, float dt) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    p[i].x += p[i].vx * dt;
    p[i].y += p[i].vy * dt;
    p[i].z += p[i].vz * dt;
}
