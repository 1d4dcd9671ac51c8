// Asks NVIDIA's own occupancy calculator, cuda_occupancy.h, which every CUDA toolkit ships.
#include <cuda_occupancy.h>

struct Question {
    int major, minor;
    int threads_per_sm, registers_per_block, registers_per_sm;
    int shared_per_block, shared_per_block_opt_in, shared_per_sm, reserved_shared;
    int block, registers, shared, barriers;
};

struct Answer {
    int status, blocks, warp_limit, block_limit, register_limit, shared_limit, barrier_limit;
};

__global__ void ask(const Question* questions, Answer* answers, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Question q = questions[i];
    cudaOccDeviceProp device;
    device.computeMajor = q.major;
    device.computeMinor = q.minor;
    device.maxThreadsPerBlock = 1024;
    device.maxThreadsPerMultiprocessor = q.threads_per_sm;
    device.regsPerBlock = q.registers_per_block;
    device.regsPerMultiprocessor = q.registers_per_sm;
    device.warpSize = 32;
    device.sharedMemPerBlock = q.shared_per_block;
    device.sharedMemPerBlockOptin = q.shared_per_block_opt_in;
    device.sharedMemPerMultiprocessor = q.shared_per_sm;
    device.reservedSharedMemPerBlock = q.reserved_shared;
    device.numSms = 1;
    cudaOccFuncAttributes function;
    function.maxThreadsPerBlock = 1024;
    function.numRegs = q.registers;
    function.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
    function.maxDynamicSharedSizeBytes = q.shared_per_block_opt_in;
    function.numBlockBarriers = q.barriers;
    cudaOccDeviceState state;
    cudaOccResult result;
    int status = cudaOccMaxActiveBlocksPerMultiprocessor(
        &result, &device, &function, &state, q.block, q.shared);
    answers[i] = {status, result.activeBlocksPerMultiprocessor, result.blockLimitWarps,
                  result.blockLimitBlocks, result.blockLimitRegs, result.blockLimitSharedMem,
                  result.blockLimitBarriers};
}
