// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Says why one layout is better than others.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_PLAN_EXPLAIN_H
#define INGOT_PASSES_PLAN_EXPLAIN_H

#include "passes/plan/Search.h"

namespace ingot {

/// Returns a table of the layouts, the best first, with what was estimated and
/// replayed, and after it a line for each of the others that says why it is
/// slower: what it computes more, the bytes that calls wait for, and the
/// bandwidth that links would need so that they did not.
std::string explain(const SearchResult &result, const SearchSpace &space);

} // namespace ingot

#endif // INGOT_PASSES_PLAN_EXPLAIN_H
