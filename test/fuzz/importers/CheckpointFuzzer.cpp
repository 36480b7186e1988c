// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Any bytes as a checkpoint of ONNX Runtime training, a flatbuffer.
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/training/TrainingCheckpoint.h"
#include "mlir/IR/Location.h"
#include "test/fuzz/importers/Importer.h"

using namespace ingot;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz::readFile(data, size, [](llvm::StringRef path, mlir::MLIRContext &in) {
    return llvm::LogicalResult(
        onnx_import::readCheckpoint(path, mlir::UnknownLoc::get(&in)));
  });
  return 0;
}
