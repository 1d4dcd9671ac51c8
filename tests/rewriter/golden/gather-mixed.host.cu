// index: 256 elements of int through a texture object
cudaResourceDesc index_tex_memory = {};
index_tex_memory.resType = cudaResourceTypeLinear;
index_tex_memory.res.linear.devPtr = index;  // device pointer, as before
index_tex_memory.res.linear.desc = cudaCreateChannelDesc<int>();
index_tex_memory.res.linear.sizeInBytes = 256 * sizeof(int);
cudaTextureDesc index_tex_reads = {};
index_tex_reads.readMode = cudaReadModeElementType;
cudaTextureObject_t index_tex = 0;
cudaCreateTextureObject(&index_tex, &index_tex_memory, &index_tex_reads, nullptr);
// x: 256 elements of double in constant memory, copied from x_host, the host's array
cudaMemcpyToSymbol(x_const, x_host, 256 * sizeof(double));
// tiles: 800 bytes of shared memory per block, for this block and arguments
gather<<<dim3(4, 1, 1), dim3(64, 1, 1)>>>(index_tex, table, y, n);
