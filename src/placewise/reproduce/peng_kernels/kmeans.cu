struct Entry { float feature; float clusters; int membership; };

__global__ void kmeans(Entry *p) {
    int tid = blockIdx.x * blockDim.x + threadIdx.x;
    float best = 3.4e38f;
    int nearest = 0;
    for (int c = 0; c < 20; c++) {
        float sum = 0;
        for (int f = 0; f < 34; f++) {
            float d = p[f * 524288 + tid].feature - p[c * 34 + f].clusters;
            sum += d * d;
        }
        if (sum < best) {
            best = sum;
            nearest = c;
        }
    }
    p[tid].membership = nearest;
}
