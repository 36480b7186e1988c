// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The context of tests over random graphs, and how many graphs they try.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TEST_RANDOM_GRAPHS_TESTCONTEXT_H
#define INGOT_TEST_RANDOM_GRAPHS_TESTCONTEXT_H

#include "mlir/IR/MLIRContext.h"
#include "passes/Registration.h"
#include <cstdlib>

namespace ingot::testing {

/// Returns the context with all dialects loaded that all tests of a program
/// share. It is never destroyed: tests hold graphs until the program ends.
inline mlir::MLIRContext &getContext() {
  static mlir::MLIRContext *context = [] {
    mlir::DialectRegistry registry;
    registerIngotDialects(registry);
    auto *created =
        new mlir::MLIRContext(registry, mlir::MLIRContext::Threading::DISABLED);
    created->loadAllAvailableDialects();
    return created;
  }();
  return *context;
}

/// Returns the number that INGOT_RANDOM_GRAPHS sets, or `otherwise`.
inline int64_t getGraphCount(int64_t otherwise) {
  const char *count = std::getenv("INGOT_RANDOM_GRAPHS");
  return count ? std::atoll(count) : otherwise;
}

} // namespace ingot::testing

#endif // INGOT_TEST_RANDOM_GRAPHS_TESTCONTEXT_H
