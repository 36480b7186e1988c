// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Sizes of symbolic dimensions, and the variants of a model that several sizes
// make.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_FRONTENDS_ONNX_OPTIONS_DIMS_H
#define INGOT_FRONTENDS_ONNX_OPTIONS_DIMS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <map>
#include <string>
#include <vector>

namespace ingot::onnx_import {

/// The sizes of each symbolic dimension, by its name.
using DimSizes = std::map<std::string, std::vector<int64_t>>;

/// Reads NAME=N[,N...]. Fails with a UserError about the option `dim`.
llvm::Expected<DimSizes> parseDims(llvm::ArrayRef<std::string> texts);

/// One size for each symbolic dimension.
struct Variant {
  /// The sizes that tell it from the others, like `seq=128`; empty if there are
  /// no others.
  std::string name;
  DimSizes dims;
};

/// Every combination of the sizes, those of the last dimension changing first.
std::vector<Variant> listVariants(const DimSizes &dims);

} // namespace ingot::onnx_import

#endif // INGOT_FRONTENDS_ONNX_OPTIONS_DIMS_H
