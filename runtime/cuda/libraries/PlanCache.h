// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Plans of a library by what they compute, so that calls of the same shape
// share one: a library takes hundreds of milliseconds to make some plans.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CUDA_LIBRARIES_PLANCACHE_H
#define INGOT_RUNTIME_CUDA_LIBRARIES_PLANCACHE_H

#include <map>
#include <memory>
#include <string>

namespace ingot::runtime {

template <typename Plan> class PlanCache {
public:
  /// Returns the plan for a descriptor (Abi.h) whatever its index is, which
  /// `make` creates on first use. `variant` distinguishes the uses of one
  /// descriptor.
  template <typename Descriptor, typename Make>
  const Plan &get(Descriptor descriptor, int variant, Make make) {
    descriptor.index = 0;
    // Descriptors have no padding: they are compared as bytes.
    std::string bytes(reinterpret_cast<const char *>(&descriptor),
                      sizeof(descriptor));
    std::unique_ptr<Plan> &plan = plans[{std::move(bytes), variant}];
    if (!plan)
      plan = make();
    return *plan;
  }

  void clear() { plans.clear(); }

private:
  std::map<std::pair<std::string, int>, std::unique_ptr<Plan>> plans;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CUDA_LIBRARIES_PLANCACHE_H
