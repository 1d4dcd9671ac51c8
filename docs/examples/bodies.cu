struct Body { float x, y, z; float vx, vy, vz; float mass; int kind; };

// Moves a body by its velocity.
__device__ void advance(Body *body, float dt) {
    body->x += body->vx * dt;
    body->y += body->vy * dt;
    body->z += body->vz * dt;
}

__global__ void drift(Body *bodies, int n, float dt) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) advance(&bodies[i], dt);
}

__global__ void kick(const Body *bodies, const int *near, float *pull, int n, int neighbours) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0;
    for (int k = 0; k < neighbours; k++) {
        const Body &other = bodies[near[k * n + i]];
        float dx = bodies[i].x - other.x, dy = bodies[i].y - other.y, dz = bodies[i].z - other.z;
        sum += other.mass / (dx * dx + dy * dy + dz * dz + 0.01f);
    }
    pull[i] = sum;
}

__global__ void speed_up(Body *b, const float *pull, int n, float dt) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    b[i].vx += pull[i] * dt;
    b[i].vy += pull[i] * dt;
    b[i].vz -= pull[i] * dt;
}
