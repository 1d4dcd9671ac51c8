// Two kernels of Lagrangian hydrodynamics on hexahedra, one thread per element. Corner c of an
// element lies at its end along x, y or z where bit 4, 2 or 1 of c is set. What belongs to corners
// is stored corner after corner, each of all elements.

struct Corners {
    double x[8], y[8], z[8];
};

// Adds p x q to a sum.
__device__ void add_cross(double3 &sum, const Corners &at, int p, int q) {
    sum.x += at.y[p] * at.z[q] - at.z[p] * at.y[q];
    sum.y += at.z[p] * at.x[q] - at.x[p] * at.z[q];
    sum.z += at.x[p] * at.y[q] - at.y[p] * at.x[q];
}

// Derivative of the volume by a corner's coordinates. The volume below a face a, b, c, d with
// bilinear sides is (a.(b x c) + a.(c x d) + a.(b x d) + b.(c x d)) / 12, and the three faces at a
// corner depend on it.
__device__ double3 volume_gradient(const Corners &at, int corner) {
    double3 sum = make_double3(0.0, 0.0, 0.0);
    bool odd = (corner >> 2 ^ corner >> 1 ^ corner) & 1;
#pragma unroll
    for (int axis = 1; axis < 8; axis *= 2) {
        int first = axis;
        int second = axis == 1 ? 2 : axis == 2 ? 4 : 1;
        int b = corner ^ (odd ? second : first);
        int c = corner ^ first ^ second;
        int d = corner ^ (odd ? first : second);
        add_cross(sum, at, b, c);
        add_cross(sum, at, c, d);
        add_cross(sum, at, b, d);
    }
    return make_double3(sum.x / 12.0, sum.y / 12.0, sum.z / 12.0);
}

// What the hourglass forces start from: the corners' coordinates and the volume's derivatives by
// them, and the volumes now, beside each element's length for the time step.
__global__ void hourglass_control(const int *nodes, const double *x, const double *y,
                                  const double *z, const double *reference_volume,
                                  const double *relative_volume, double *corner_x,
                                  double *corner_y, double *corner_z, double *volume_dx,
                                  double *volume_dy, double *volume_dz, double *volume,
                                  double *new_relative_volume, double *volume_change,
                                  double *length, int elements) {
    int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= elements) return;

    Corners at;
#pragma unroll
    for (int c = 0; c < 8; c++) {
        int node = nodes[c * elements + e];
        at.x[c] = x[node];
        at.y[c] = y[node];
        at.z[c] = z[node];
        corner_x[c * elements + e] = at.x[c];
        corner_y[c * elements + e] = at.y[c];
        corner_z[c * elements + e] = at.z[c];
    }

    double now = 0.0;
    double steepest = 0.0;
#pragma unroll
    for (int c = 0; c < 8; c++) {
        double3 slope = volume_gradient(at, c);
        volume_dx[c * elements + e] = slope.x;
        volume_dy[c * elements + e] = slope.y;
        volume_dz[c * elements + e] = slope.z;
        now += at.x[c] * slope.x + at.y[c] * slope.y + at.z[c] * slope.z;
        steepest = fmax(steepest, slope.x * slope.x + slope.y * slope.y + slope.z * slope.z);
    }
    now /= 3.0;

    double relative = relative_volume[e];
    volume[e] = reference_volume[e] * relative;
    new_relative_volume[e] = now / reference_volume[e];
    volume_change[e] = now / reference_volume[e] - relative;
    length[e] = now / (4.0 * sqrt(steepest));
}

// The four patterns of corner motions that change no volume: signs by xy, xz, yz and xyz.
__device__ double hourglass_sign(int mode, int corner) {
    int x = corner >> 2 & 1, y = corner >> 1 & 1, z = corner & 1;
    int odd = mode == 0 ? x ^ y : mode == 1 ? x ^ z : mode == 2 ? y ^ z : x ^ y ^ z ^ 1;
    return odd ? -1.0 : 1.0;
}

// Forces that resist hourglass motions (Flanagan and Belytschko 1981, viscous form).
__global__ void hourglass_force(const int *nodes, const double *corner_x, const double *corner_y,
                                const double *corner_z, const double *volume_dx,
                                const double *volume_dy, const double *volume_dz,
                                const double *volume, const double *velocity_x,
                                const double *velocity_y, const double *velocity_z,
                                const double *sound_speed, const double *mass, double *force_x,
                                double *force_y, double *force_z, double coefficient,
                                int elements) {
    int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= elements) return;

    double inverse = 1.0 / volume[e];
    double along[4][3] = {};
#pragma unroll
    for (int c = 0; c < 8; c++) {
        double cx = corner_x[c * elements + e];
        double cy = corner_y[c * elements + e];
        double cz = corner_z[c * elements + e];
#pragma unroll
        for (int mode = 0; mode < 4; mode++) {
            along[mode][0] += cx * hourglass_sign(mode, c);
            along[mode][1] += cy * hourglass_sign(mode, c);
            along[mode][2] += cz * hourglass_sign(mode, c);
        }
    }

    double shape[4][8];
    double pace[4][3] = {};
#pragma unroll
    for (int c = 0; c < 8; c++) {
        double dx = volume_dx[c * elements + e] * inverse;
        double dy = volume_dy[c * elements + e] * inverse;
        double dz = volume_dz[c * elements + e] * inverse;
        int node = nodes[c * elements + e];
        double vx = velocity_x[node];
        double vy = velocity_y[node];
        double vz = velocity_z[node];
#pragma unroll
        for (int mode = 0; mode < 4; mode++) {
            double of_mode = hourglass_sign(mode, c) -
                             (dx * along[mode][0] + dy * along[mode][1] + dz * along[mode][2]);
            shape[mode][c] = of_mode;
            pace[mode][0] += of_mode * vx;
            pace[mode][1] += of_mode * vy;
            pace[mode][2] += of_mode * vz;
        }
    }

    double resistance = -coefficient * 0.01 * sound_speed[e] * mass[e] / cbrt(volume[e]);
#pragma unroll
    for (int c = 0; c < 8; c++) {
        double fx = 0.0, fy = 0.0, fz = 0.0;
#pragma unroll
        for (int mode = 0; mode < 4; mode++) {
            fx += shape[mode][c] * pace[mode][0];
            fy += shape[mode][c] * pace[mode][1];
            fz += shape[mode][c] * pace[mode][2];
        }
        force_x[c * elements + e] = resistance * fx;
        force_y[c * elements + e] = resistance * fy;
        force_z[c * elements + e] = resistance * fz;
    }
}
