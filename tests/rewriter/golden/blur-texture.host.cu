// src: 4096 elements of float through a texture object
cudaResourceDesc src_tex_memory = {};
src_tex_memory.resType = cudaResourceTypeLinear;
src_tex_memory.res.linear.devPtr = src;  // device pointer, as before
src_tex_memory.res.linear.desc = cudaCreateChannelDesc<float>();
src_tex_memory.res.linear.sizeInBytes = 4096 * sizeof(float);
cudaTextureDesc src_tex_reads = {};
src_tex_reads.readMode = cudaReadModeElementType;
cudaTextureObject_t src_tex = 0;
cudaCreateTextureObject(&src_tex, &src_tex_memory, &src_tex_reads, nullptr);
// weights: 3 elements of float through a texture object
cudaResourceDesc weights_tex_memory = {};
weights_tex_memory.resType = cudaResourceTypeLinear;
weights_tex_memory.res.linear.devPtr = weights;  // device pointer, as before
weights_tex_memory.res.linear.desc = cudaCreateChannelDesc<float>();
weights_tex_memory.res.linear.sizeInBytes = 3 * sizeof(float);
cudaTextureDesc weights_tex_reads = {};
weights_tex_reads.readMode = cudaReadModeElementType;
cudaTextureObject_t weights_tex = 0;
cudaCreateTextureObject(&weights_tex, &weights_tex_memory, &weights_tex_reads, nullptr);
blur<<<dim3(4, 16, 1), dim3(16, 4, 1)>>>(src_tex, weights_tex, dst, n);
