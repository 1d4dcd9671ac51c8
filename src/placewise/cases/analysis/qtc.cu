// Quality-threshold clustering, candidates of one round: around each point a cluster takes the
// point that widens it least, as long as its diameter stays within the threshold. One block per
// first point, BLOCK threads; shared memory holds one float per point.

__global__ void candidates(const float *distances, int *sizes, float *diameters, int points,
                           float threshold) {
    extern __shared__ float widened[];  // the diameter with that point, infinite for members
    __shared__ float best_width[BLOCK];
    __shared__ int best_point[BLOCK];
    const float infinity = 1.0f / 0.0f;
    int thread = threadIdx.x;
    int latest = blockIdx.x;

    for (int j = thread; j < points; j += BLOCK)
        widened[j] = j == latest ? infinity : distances[latest * points + j];

    int size = 1;
    float diameter = 0.0f;
    while (true) {
        float width = infinity;
        int point = points;
        for (int j = thread; j < points; j += BLOCK)
            if (widened[j] < width) {
                width = widened[j];
                point = j;
            }
        best_width[thread] = width;
        best_point[thread] = point;
        __syncthreads();

        for (int half = BLOCK / 2; half > 0; half /= 2) {
            if (thread < half) {
                float other = best_width[thread + half];
                bool nearer = other < best_width[thread] ||
                              (other == best_width[thread] &&
                               best_point[thread + half] < best_point[thread]);
                if (nearer) {
                    best_width[thread] = other;
                    best_point[thread] = best_point[thread + half];
                }
            }
            __syncthreads();
        }

        width = best_width[0];
        latest = best_point[0];
        __syncthreads();
        if (width > threshold) break;

        size++;
        diameter = width;
        for (int j = thread; j < points; j += BLOCK)
            widened[j] = j == latest ? infinity
                                     : fmaxf(fmaxf(widened[j], width),
                                             distances[latest * points + j]);
    }
    if (thread == 0) {
        sizes[blockIdx.x] = size;
        diameters[blockIdx.x] = diameter;
    }
}
