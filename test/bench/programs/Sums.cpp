// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Times of sums over the ranks of a launch (test/bench/sums.py).
//
//   ingot-bench-sums MIB TIMES
//
// Rank 0 prints the milliseconds of each sum of f32, one per line. Sums go
// through the thread that trainers use.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/Communicator.h"
#include "runtime/comm/launch/ConnectRanks.h"
#include "runtime/core/Error.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

using namespace ingot::runtime;

int main(int argc, char **argv) {
  if (argc != 3)
    return 2;
  int64_t elements = std::strtoll(argv[1], nullptr, 10) * (1 << 18);
  int64_t times = std::strtoll(argv[2], nullptr, 10);
  try {
    StartSettings settings{std::chrono::seconds(60), [](const std::string &) {},
                           [](const Error &) { std::abort(); }};
    std::optional<Launch> launch = findLaunch();
    Communicator ranks(launch ? std::unique_ptr<Collectives>(
                                    ingot_connect_ranks(*launch, settings))
                              : makeSelfCollectives());
    std::vector<float> data(static_cast<size_t>(elements), 1.0f);
    for (int64_t i = 0; i < times; ++i) {
      auto start = std::chrono::steady_clock::now();
      ranks.allReduce(data.data(), elements, DType::F32, "sum");
      std::chrono::duration<double, std::milli> taken =
          std::chrono::steady_clock::now() - start;
      if (ranks.getRank() == 0)
        std::printf("%.3f\n", taken.count());
    }
    ranks.finish();
  } catch (const Error &error) {
    std::fprintf(stderr, "%s", error.format().c_str());
    return 1;
  }
  return 0;
}
