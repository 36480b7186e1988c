//===----------------------------------------------------------------------===//
//
// The report's picture of memory over a step, and what lives at its peak.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TOOLS_INGOTC_REPORT_MEMORYPLOT_H
#define INGOT_TOOLS_INGOTC_REPORT_MEMORYPLOT_H

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace ingot {

/// Writes SVG for a function of the manifest: memory by what it is for, over
/// the estimated time of the kernels; behind it, a table of what is largest
/// when most is in use.
void writeMemoryPlot(llvm::raw_ostream &os, const llvm::json::Object &function);

} // namespace ingot

#endif // INGOT_TOOLS_INGOTC_REPORT_MEMORYPLOT_H
