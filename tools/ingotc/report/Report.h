// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The report of a compilation as an HTML page.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TOOLS_INGOTC_REPORT_REPORT_H
#define INGOT_TOOLS_INGOTC_REPORT_REPORT_H

#include "dialects/ingot/target/Machine.h"
#include "llvm/Support/JSON.h"

namespace ingot {

/// Writes one self-contained HTML page: the memory of each function over time,
/// its kernels, with ONNX names, bytes, operations, and the lower bound of
/// their time on the machine (the roofline model), and the graph of the model,
/// of which `graph` is the description. ingot-report reads the page.
std::string makeReport(const llvm::json::Object &manifest,
                       const Machine &machine, llvm::json::Array graph);

} // namespace ingot

#endif // INGOT_TOOLS_INGOTC_REPORT_REPORT_H
