// Moves particles by their velocity and reflects them at the walls.
struct Particle {
    float x, y, z;
    float vx, vy, vz;
    float charge, mass;
    int cell;
    int species;
};

__global__ void particle_push(Particle *p, int n, float dt, float box) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    p[i].x += p[i].vx * dt;
    p[i].y += p[i].vy * dt;
    p[i].z += p[i].vz * dt;
    if (p[i].x < 0 || p[i].x > box) p[i].vx = -p[i].vx;
    if (p[i].y < 0 || p[i].y > box) p[i].vy = -p[i].vy;
    if (p[i].z < 0 || p[i].z > box) p[i].vz = -p[i].vz;
}
