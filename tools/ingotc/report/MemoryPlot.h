// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The report's plot of memory over a step, and of the tensors that are live at
// its peak.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TOOLS_INGOTC_REPORT_MEMORYPLOT_H
#define INGOT_TOOLS_INGOTC_REPORT_MEMORYPLOT_H

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace ingot {

/// Writes SVG for a function of the manifest: memory by purpose, over the
/// estimated time of the kernels; after it, a table of the largest tensors at
/// the peak.
void writeMemoryPlot(llvm::raw_ostream &os, const llvm::json::Object &function);

} // namespace ingot

#endif // INGOT_TOOLS_INGOTC_REPORT_MEMORYPLOT_H
