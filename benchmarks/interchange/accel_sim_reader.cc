// Reads a trace with Accel-Sim's own parser, and prints what it has read: instructions, those with
// addresses, active lanes of these, and the sum of their addresses.
#include <bitset>
#include <bits/stdc++.h>

#include "trace_parser.h"

int main(int, char **given) {
  trace_parser parser(given[1]);
  unsigned long long instructions = 0, accesses = 0, lanes = 0, sum = 0, copies = 0, blocks = 0;
  std::cout.setstate(std::ios::failbit);
  for (const trace_command &command : parser.parse_commandlist_file()) {
    if (command.m_type != kernel_launch) {
      size_t at, bytes;
      parser.parse_memcpy_info(command.command_string, at, bytes);
      ++copies;
      continue;
    }
    kernel_trace_t *kernel = parser.parse_kernel_info(command.command_string);
    const unsigned threads = kernel->tb_dim_x * kernel->tb_dim_y * kernel->tb_dim_z;
    std::vector<std::vector<inst_trace_t>> warps((threads + WARP_SIZE - 1) / WARP_SIZE);
    std::vector<std::vector<inst_trace_t> *> pointers;
    for (auto &warp : warps) pointers.push_back(&warp);
    const unsigned grid = kernel->grid_dim_x * kernel->grid_dim_y * kernel->grid_dim_z;
    for (unsigned block = 0; block < grid; ++block, ++blocks) {
      parser.get_next_threadblock_traces(pointers, kernel->trace_verion, kernel->ifs);
      for (const auto &warp : warps) {
        instructions += warp.size();
        for (const inst_trace_t &one : warp) {
          if (one.memadd_info == NULL) continue;
          ++accesses;
          for (unsigned lane = 0; lane < WARP_SIZE; ++lane) {
            if (!(one.mask >> lane & 1)) continue;
            ++lanes;
            sum += one.memadd_info->addrs[lane];
          }
        }
      }
    }
    parser.kernel_finalizer(kernel);
  }
  std::cerr << blocks << ' ' << instructions << ' ' << accesses << ' ' << lanes << ' ' << sum << ' '
            << copies << '\n';
  return 0;
}
