// Systematic resampling of a particle filter: particle i takes the place of the first one whose
// cumulative weight reaches u[i].

__global__ void resample(const double *CDF, const double *u, const double *arrayX,
                         const double *arrayY, double *xj, double *yj, int particles) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= particles) return;

    int chosen = particles - 1;
    for (int x = 0; x < particles; ++x)
        if (CDF[x] >= u[i]) {
            chosen = x;
            break;
        }

    xj[i] = arrayX[chosen];
    yj[i] = arrayY[chosen];
}
