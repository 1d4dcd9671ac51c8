// Nearest hit of each ray with a few spheres.
struct Ray {
    float ox, oy, oz;
    float dx, dy, dz;
    float t;
    int hit;
};

struct Sphere {
    float x, y, z, radius;
};

__global__ void ray_sphere(Ray *rays, const Sphere *spheres, int n, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Ray *ray = rays + i;
    float nearest = 1e30f;
    int hit = -1;
    for (int s = 0; s < count; s++) {
        float x = spheres[s].x - ray->ox;
        float y = spheres[s].y - ray->oy;
        float z = spheres[s].z - ray->oz;
        float along = x * ray->dx + y * ray->dy + z * ray->dz;
        float gap = x * x + y * y + z * z - along * along;
        float r2 = spheres[s].radius * spheres[s].radius;
        if (gap > r2) continue;
        float t = along - sqrtf(r2 - gap);
        if (t > 0 && t < nearest) {
            nearest = t;
            hit = s;
        }
    }
    ray->t = nearest;
    ray->hit = hit;
}
