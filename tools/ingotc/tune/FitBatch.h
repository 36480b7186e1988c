// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// ingotc --fit: the largest batch within a size of memory.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TOOLS_INGOTC_TUNE_FITBATCH_H
#define INGOT_TOOLS_INGOTC_TUNE_FITBATCH_H

#include "tools/ingotc/options/CompilerOptions.h"

namespace ingot {

/// The largest batch whose plan takes at most `options.fitBytes`; its peak in
/// `peakBytes`. 0 if none does: then `peakBytes` is that of one sample. Returns
/// the exit status of a batch that cannot be compiled, else 0.
int findBatch(CompilerOptions options, int64_t &fits, int64_t &peakBytes);

} // namespace ingot

#endif // INGOT_TOOLS_INGOTC_TUNE_FITBATCH_H
