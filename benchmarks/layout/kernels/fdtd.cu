// Updates the electric field of a 3-D Yee grid from the magnetic one.
struct YeeCell {
    float ex, ey, ez;
    float hx, hy, hz;
    float epsilon, sigma;
};

__global__ void fdtd(YeeCell *cells, int nx, int ny, int nz, float dt) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z;
    if (x < 1 || y < 1 || z < 1 || x >= nx || y >= ny) return;
    int at = (z * ny + y) * nx + x;
    YeeCell &cell = cells[at];
    const YeeCell &west = cells[at - 1];
    const YeeCell &south = cells[at - nx];
    const YeeCell &below = cells[at - nx * ny];
    float factor = dt / cell.epsilon;
    cell.ex += factor * (cell.hz - south.hz - cell.hy + below.hy);
    cell.ey += factor * (cell.hx - below.hx - cell.hz + west.hz);
    cell.ez += factor * (cell.hy - west.hy - cell.hx + south.hx);
}
