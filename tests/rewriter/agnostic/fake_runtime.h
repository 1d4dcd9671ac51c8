// A stand-in for the CUDA runtime, which keeps "device" memory on the host and prints what is asked.
#pragma once
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define __global__
#define __constant__
typedef unsigned long long cudaTextureObject_t;
struct int2 { int x, y; };
typedef int *cudaStream_t;
enum cudaError_t { cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorInvalidConfiguration = 9 };
enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToDevice = 3 };
enum cudaResourceType { cudaResourceTypeLinear = 2 };
enum cudaTextureReadMode { cudaReadModeElementType = 0 };
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };
struct cudaChannelFormatDesc { size_t bytes; };
struct cudaResourceDesc {
    cudaResourceType resType;
    struct { struct { void *devPtr; cudaChannelFormatDesc desc; size_t sizeInBytes; } linear; } res;
};
struct cudaTextureDesc { cudaTextureReadMode readMode; };
struct cudaResourceViewDesc;
struct dim3 { unsigned x, y, z; dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {} };

static int textures_alive = 0;

template <typename T> cudaChannelFormatDesc cudaCreateChannelDesc() { return {sizeof(T)}; }

template <typename T>
cudaError_t cudaMemcpyToSymbolAsync(const T &symbol, const void *from, size_t bytes, size_t offset,
                                    cudaMemcpyKind, cudaStream_t) {
    if (offset + bytes > sizeof(symbol)) return cudaErrorInvalidValue;
    memcpy((char *)&symbol + offset, from, bytes);
    return cudaSuccess;
}

static cudaError_t cudaCreateTextureObject(cudaTextureObject_t *made, const cudaResourceDesc *memory,
                                           const cudaTextureDesc *, const cudaResourceViewDesc *) {
    *made = (cudaTextureObject_t)memory->res.linear.devPtr;
    textures_alive++;
    return cudaSuccess;
}

static cudaError_t cudaDestroyTextureObject(cudaTextureObject_t) {
    textures_alive--;
    return cudaSuccess;
}

static cudaError_t cudaFuncSetAttribute(const void *, cudaFuncAttribute, int bytes) {
    printf("attribute %d\n", bytes);
    return cudaSuccess;
}

static const void *launched;
static void **launched_with;
static size_t launched_shared;

static cudaError_t cudaLaunchKernel(const void *kernel, dim3, dim3, void **passed, size_t shared, cudaStream_t) {
    launched = kernel;
    launched_with = passed;
    launched_shared = shared;
    return cudaSuccess;
}
