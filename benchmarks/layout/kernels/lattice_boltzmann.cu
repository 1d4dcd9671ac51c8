// One step of D2Q9 lattice Boltzmann (BGK), pulling from the neighbours.
struct Cell {
    float c, e, n, w, s, ne, nw, sw, se;
    float obstacle;
};

__device__ float equilibrium(float weight, float rho, float cu, float uu) {
    return weight * rho * (1.0f + 3.0f * cu + 4.5f * cu * cu - 1.5f * uu);
}

__global__ void lattice_boltzmann(const Cell *src, Cell *dst, int nx, int ny, float omega) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= nx || y >= ny) return;
    int xe = x + 1 < nx ? x + 1 : 0, xw = x > 0 ? x - 1 : nx - 1;
    int yn = y + 1 < ny ? y + 1 : 0, ys = y > 0 ? y - 1 : ny - 1;
    float c = src[y * nx + x].c;
    float e = src[y * nx + xw].e, w = src[y * nx + xe].w;
    float n = src[ys * nx + x].n, s = src[yn * nx + x].s;
    float ne = src[ys * nx + xw].ne, nw = src[ys * nx + xe].nw;
    float se = src[yn * nx + xw].se, sw = src[yn * nx + xe].sw;
    float rho = c + e + w + n + s + ne + nw + se + sw;
    float ux = (e + ne + se - w - nw - sw) / rho;
    float uy = (n + ne + nw - s - se - sw) / rho;
    float uu = ux * ux + uy * uy;
    Cell *out = &dst[y * nx + x];
    out->c = c + omega * (equilibrium(4.0f / 9, rho, 0, uu) - c);
    out->e = e + omega * (equilibrium(1.0f / 9, rho, ux, uu) - e);
    out->w = w + omega * (equilibrium(1.0f / 9, rho, -ux, uu) - w);
    out->n = n + omega * (equilibrium(1.0f / 9, rho, uy, uu) - n);
    out->s = s + omega * (equilibrium(1.0f / 9, rho, -uy, uu) - s);
    out->ne = ne + omega * (equilibrium(1.0f / 36, rho, ux + uy, uu) - ne);
    out->nw = nw + omega * (equilibrium(1.0f / 36, rho, uy - ux, uu) - nw);
    out->se = se + omega * (equilibrium(1.0f / 36, rho, ux - uy, uu) - se);
    out->sw = sw + omega * (equilibrium(1.0f / 36, rho, -ux - uy, uu) - sw);
}
