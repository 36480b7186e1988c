//===----------------------------------------------------------------------===//
//
// What was compiled, as a page to look at.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TOOLS_INGOTC_REPORT_REPORT_H
#define INGOT_TOOLS_INGOTC_REPORT_REPORT_H

#include "dialects/ingot/target/Machine.h"
#include "llvm/Support/JSON.h"

namespace ingot {

/// One HTML page that needs no other file: the memory of each function and its
/// kernels, with ONNX names, bytes, operations, and the time that the machine
/// bounds them by (the roofline model).
std::string makeReport(const llvm::json::Object &manifest,
                       const Machine &machine);

} // namespace ingot

#endif // INGOT_TOOLS_INGOTC_REPORT_REPORT_H
