// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Any bytes as the profile of a machine (--machine, or kept in the user's
// cache), and as the description of a cluster (--plan).
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/target/Machine.h"
#include "passes/cost/Cluster.h"

#include <cmath>
#include <cstdlib>

using namespace ingot;

/// An error says what is wrong.
static void check(llvm::Error error) {
  if (llvm::toString(std::move(error)).empty())
    std::abort();
}

static void readMachine(llvm::StringRef text) {
  Machine machine;
  if (llvm::Error error = machine.readJson(text))
    return check(std::move(error));
  // What was taken is written as something that says the same.
  std::string written = machine.toJson();
  Machine again;
  llvm::cantFail(again.readJson(written));
  if (again.toJson() != written)
    std::abort();
}

static void readCluster(llvm::StringRef text) {
  llvm::Expected<Cluster> cluster = Cluster::read(text);
  if (!cluster)
    return check(cluster.takeError());
  constexpr double bytes = 1 << 20;
  for (int64_t ranks : cluster->ranks)
    for (double seconds :
         {cluster->getSeconds(Exchange::AllReduce, bytes, ranks),
          cluster->getHostSeconds(Exchange::AllReduce, bytes, ranks)})
      if (std::isnan(seconds) || seconds < 0)
        std::abort();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  readMachine(text);
  readCluster(text);
  return 0;
}
