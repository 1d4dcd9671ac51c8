// Ages agents and marks those without energy; most of an agent's state is for other kernels.
struct Agent {
    double x, y, heading, speed;
    float energy, age;
    int alive, home;
    float memory[8];
};

__global__ void agents(Agent *agents, int n, float cost, float dt) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        Agent *agent = &agents[i];
        if (!agent->alive) continue;
        agent->age += dt;
        agent->energy -= cost * dt;
        if (agent->energy <= 0) agent->alive = 0;
    }
}
