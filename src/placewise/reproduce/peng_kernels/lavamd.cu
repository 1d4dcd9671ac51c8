struct Particle { float rv, rx, ry, rz, fv, fx, fy, fz; };

__global__ void lavamd(Particle *p, const int *neighbours, float a2) {
    int own = blockIdx.x * 128 + threadIdx.x;
    for (int k = 0; k < 27; k++) {
        int first = neighbours[blockIdx.x * 27 + k] * 128;
        for (int j = 0; j < 128; j++) {
            float r2 = p[own].rv + p[first + j].rv;
            r2 -= p[own].rx * p[first + j].rx;
            r2 -= p[own].ry * p[first + j].ry;
            r2 -= p[own].rz * p[first + j].rz;
            float weight = expf(-a2 * r2);
            p[own].fv += weight;
            p[own].fx += weight * (p[own].rx - p[first + j].rx);
            p[own].fy += weight * (p[own].ry - p[first + j].ry);
            p[own].fz += weight * (p[own].rz - p[first + j].rz);
        }
    }
}
