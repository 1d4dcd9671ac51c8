"""A machine small enough to be simulated in a test."""

TEXT = """machine Tiny "A small GPU";
die = 2 tpc; tpc = 2 sm; sm = 64 core;
limits {
  compute_capability = 8.6; clock = 1500 MHz; max_threads_per_block = 1024;
  max_block = <1024 1024 64>; max_grid = <2147483647 65535 65535>; max_threads_per_sm = 1536;
  max_blocks_per_sm = 16; registers_per_sm = 65536; max_registers_per_thread = 255;
  shared_memory_per_block = 99 KB; shared_memory_per_sm = 100 KB;
  dram_bandwidth = 200 GB/s; copy_bandwidth = 16 GB/s;
}
globalMem 8 Y RW na 4GB 32B ? 600clk <L2 L1> <> die ?
  warp{floor(address1/blockSize) != floor(address2/blockSize)};
L2 7 N RW na 64KB 32B ? 210clk <L1> <globalMem textureMem> die ?
  warp{floor(address1/blockSize) != floor(address2/blockSize)};
L1 9 N RW na 4KB 128B ? 33clk <> <L2 globalMem textureMem> sm ?
  warp{floor(address1/blockSize) != floor(address2/blockSize)};
textureMem 5 Y R 1 128ME 32B ? 600clk <L2 L1> <> die ?
  warp{floor(address1/blockSize) != floor(address2/blockSize)};
constantMem 1 Y R na 64KB ? ? 210clk <cL2 cL1> <> die ? warp{address1 != address2};
cL2 2 N R na 16KB 256B ? 100clk <cL1> <constantMem> sm ? warp{address1 != address2};
cL1 3 N R na 2KB 64B ? 25clk <> <cL2 constantMem> sm ? warp{address1 != address2};
sharedMem 4 Y RW na 99KB ? 32 23clk <> <> sm ?
  block{word1 != word2 && word1 % banks == word2 % banks};
detail L1 { line = 128 B; sector = 32 B; ways = 4; policy = lru; }
detail L2 { line = 128 B; sector = 32 B; ways = 8; policy = lru; index = hashed; }
detail sharedMem { conflict = 1.5 clk; }
pipe fma { width = 128 lanes/clk; latency = 4 clk; executes = <FFMA FADD FMUL>; }
tlb one { entries = 8; ways = 8; page = 2 MB; latency = 0 clk; }
tlb two { entries = 32; ways = 8; page = 2 MB; latency = 80 clk; walk = 220 clk; }
dram { rows = <15 16 17 18 19 20 21>; bank = <8 16>; bank = <9 18>; hit = 300 ns; miss = 420 ns;
       conflict = 560 ns; }
space global   G direct        <L1 L2 globalMem>      global   RW;
space readonly R intrinsic     <L1 L2 globalMem>      global   R  intrinsic "__ldg";
space texture  T binding       <L1 L2 textureMem>     global   R
  declaration "cudaTextureObject_t" intrinsic "tex1Dfetch";
space constant C host_buffer   <cL1 cL2 constantMem>  constant R  declaration "__constant__";
space shared   S kernel_buffer <sharedMem>            global   RW declaration "__shared__";
"""
