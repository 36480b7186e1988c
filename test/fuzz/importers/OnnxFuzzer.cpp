// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Any bytes as an ONNX model.
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/Import.h"
#include "test/fuzz/importers/Importer.h"

using namespace ingot;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz::readFile(data, size, [](llvm::StringRef path, mlir::MLIRContext &in) {
    onnx_import::ImportOptions options;
    options.batch = 2;
    options.untie = true;
    return llvm::LogicalResult(onnx_import::importOnnx(path, options, in));
  });
  return 0;
}
