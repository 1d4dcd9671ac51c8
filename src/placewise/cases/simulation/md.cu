// Lennard-Jones forces of molecular dynamics: each thread sums the forces of one atom's listed
// neighbours that are nearer than the cut-off. Neighbour k of atom i is at k * atoms + i.

__global__ void lennard_jones(const float4 *positions, const int *neighbours, float4 *forces,
                              int atoms, int listed, float cutoff2, float attraction,
                              float repulsion) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= atoms) return;

    float4 here = positions[i];
    float4 force = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    for (int k = 0; k < listed; k++) {
        float4 there = positions[neighbours[k * atoms + i]];
        float dx = here.x - there.x;
        float dy = here.y - there.y;
        float dz = here.z - there.z;
        float distance2 = dx * dx + dy * dy + dz * dz;
        if (distance2 < cutoff2) {
            float inverse2 = 1.0f / distance2;
            float inverse6 = inverse2 * inverse2 * inverse2;
            float scale = inverse2 * inverse6 * (repulsion * inverse6 - attraction);
            force.x += dx * scale;
            force.y += dy * scale;
            force.z += dz * scale;
        }
    }
    forces[i] = force;
}
