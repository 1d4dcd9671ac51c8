// Lennard-Jones and Coulomb forces over neighbour lists.
struct Atom {
    float x, y, z;
    float charge;
    float vx, vy, vz;
    float mass;
    float fx, fy, fz;
    int type;
};

__global__ void molecular_dynamics(Atom *atoms, const int *neighbours, int n, int most) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = atoms[i].x, y = atoms[i].y, z = atoms[i].z, charge = atoms[i].charge;
    float fx = 0, fy = 0, fz = 0;
    for (int k = 0; k < most; k++) {
        int j = neighbours[k * n + i];
        float dx = x - atoms[j].x;
        float dy = y - atoms[j].y;
        float dz = z - atoms[j].z;
        float r2 = 1.0f / (dx * dx + dy * dy + dz * dz + 0.01f);
        float r6 = r2 * r2 * r2;
        float force = r2 * r6 * (r6 - 0.5f) + charge * atoms[j].charge * r2;
        fx += dx * force;
        fy += dy * force;
        fz += dz * force;
    }
    atoms[i].fx = fx;
    atoms[i].fy = fy;
    atoms[i].fz = fz;
}
