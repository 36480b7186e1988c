// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The file of the weights that a trainer starts with.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TOOLS_INGOTC_COMPILE_WRITEWEIGHTS_H
#define INGOT_TOOLS_INGOTC_COMPILE_WRITEWEIGHTS_H

#include "mlir/IR/BuiltinOps.h"

#include <cstdint>
#include <map>
#include <string>

namespace ingot {

struct WrittenWeights {
  /// The CRC-32 of the file.
  uint32_t crc = 0;
  /// The CRC-32 of each state of the model that stays in the weights.
  std::map<std::string, uint32_t> checksums;
};

/// Writes the states of a placed module with values that the manifest cannot
/// say, as safetensors, one after the other; parameters only if `parameters`.
/// Mapped states come first, as they are in the mapped range of a trainer
/// (runtime/abi/Mapping.h), 16-bit copies in their type. Throws failure.
WrittenWeights writeWeights(mlir::ModuleOp module, const std::string &path,
                            bool parameters);

} // namespace ingot

#endif // INGOT_TOOLS_INGOTC_COMPILE_WRITEWEIGHTS_H
