// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// The schema of remarks, which docs/remarks.md lists.
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_SUPPORT_REMARKS_H
#define INGOT_DIALECTS_INGOT_SUPPORT_REMARKS_H

#include "mlir/IR/Remarks.h"

namespace ingot {

/// Returns the options of the remark `name` of `component`: the argument of a
/// pass, whose prefix `ingot-` is dropped, or a category such as `import-onnx`.
inline mlir::remark::RemarkOpts remarkOptions(llvm::StringRef component,
                                              llvm::StringRef name) {
  component.consume_front("ingot-");
  return mlir::remark::RemarkOpts::name(name).category(component);
}

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_SUPPORT_REMARKS_H
