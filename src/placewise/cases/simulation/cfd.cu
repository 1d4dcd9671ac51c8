// Fluxes of the Euler equations over an unstructured mesh of tetrahedra (finite volumes, central
// differences with artificial viscosity), one thread per element. Arrays are stored component by
// component: density, three momenta and energy, each of all elements. A face leads to a neighbour,
// to a wall (-1), where pressure alone acts, or to the far field (-2).

struct State {
    float density, energy, pressure, speed, sound;
    float3 momentum, velocity;
};

// GAMMA is the ratio of specific heats.
__device__ State state_of(float density, float3 momentum, float energy) {
    State s;
    s.density = density;
    s.momentum = momentum;
    s.energy = energy;
    s.velocity = make_float3(momentum.x / density, momentum.y / density, momentum.z / density);
    float speed2 = s.velocity.x * s.velocity.x + s.velocity.y * s.velocity.y +
                   s.velocity.z * s.velocity.z;
    s.speed = sqrtf(speed2);
    s.pressure = (GAMMA - 1.0f) * (energy - 0.5f * density * speed2);
    s.sound = sqrtf(GAMMA * s.pressure / density);
    return s;
}

__device__ State load(const float *variables, int i, int n) {
    return state_of(variables[i],
                    make_float3(variables[n + i], variables[2 * n + i], variables[3 * n + i]),
                    variables[4 * n + i]);
}

// Adds `share` times the convective flux of `s` through a face with this normal.
__device__ void convect(float (&flux)[5], const State &s, float3 normal, float share) {
    float through = share * (s.velocity.x * normal.x + s.velocity.y * normal.y +
                             s.velocity.z * normal.z);
    float pressure = share * s.pressure;
    flux[0] += through * s.density;
    flux[1] += through * s.momentum.x + pressure * normal.x;
    flux[2] += through * s.momentum.y + pressure * normal.y;
    flux[3] += through * s.momentum.z + pressure * normal.z;
    flux[4] += through * (s.energy + s.pressure);
}

__global__ void compute_flux(const int *neighbours, const float *normals, const float *variables,
                             const float *far_field, float *fluxes, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;

    State here = load(variables, i, n);
    float flux[5] = {};
    for (int face = 0; face < 4; face++) {
        int neighbour = neighbours[face * n + i];
        float3 normal = make_float3(normals[(face * 3 + 0) * n + i],
                                    normals[(face * 3 + 1) * n + i],
                                    normals[(face * 3 + 2) * n + i]);
        if (neighbour >= 0) {
            State there = load(variables, neighbour, n);
            convect(flux, here, normal, 0.5f);
            convect(flux, there, normal, 0.5f);
            float area = sqrtf(normal.x * normal.x + normal.y * normal.y + normal.z * normal.z);
            float viscosity =
                VISCOSITY * area * (here.speed + there.speed + here.sound + there.sound);
            flux[0] += viscosity * (here.density - there.density);
            flux[1] += viscosity * (here.momentum.x - there.momentum.x);
            flux[2] += viscosity * (here.momentum.y - there.momentum.y);
            flux[3] += viscosity * (here.momentum.z - there.momentum.z);
            flux[4] += viscosity * (here.energy - there.energy);
        } else if (neighbour == -1) {
            flux[1] += here.pressure * normal.x;
            flux[2] += here.pressure * normal.y;
            flux[3] += here.pressure * normal.z;
        } else {
            State outside = state_of(
                far_field[0], make_float3(far_field[1], far_field[2], far_field[3]), far_field[4]);
            convect(flux, here, normal, 0.5f);
            convect(flux, outside, normal, 0.5f);
        }
    }
    for (int k = 0; k < 5; k++)
        fluxes[k * n + i] = flux[k];
}
