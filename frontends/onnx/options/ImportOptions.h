// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Options of importing a model.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_FRONTENDS_ONNX_OPTIONS_IMPORTOPTIONS_H
#define INGOT_FRONTENDS_ONNX_OPTIONS_IMPORTOPTIONS_H

#include "dialects/ingot/support/NamePattern.h"
#include "frontends/onnx/options/Dims.h"
#include "frontends/onnx/options/QuantizationRule.h"
#include "frontends/onnx/options/Values.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ingot::onnx_import {

struct ImportOptions {
  /// The size of the first dimension of every data input, overriding a fixed
  /// one.
  std::optional<int64_t> batch;
  /// Sizes of symbolic dimensions by name. For several sizes the module is one
  /// of modules, a variant for each combination, named after its sizes.
  DimSizes dims;
  /// Values of inputs that become constants: sizes, numbers of repetitions and
  /// the like, which operators may need to know.
  InputValues values;
  /// The parameters that are trained, and those that are not; empty means that
  /// the model decides. `freeze` wins. A frozen running statistic makes its
  /// batch norm use it instead of updating it.
  NamePattern trainable, freeze;
  /// How loops of a known number of iterations are imported: `rolled`, as one
  /// op where that is possible, `unrolled`, one iteration after the other, or
  /// `auto`, as their size decides.
  std::string loops = "auto";
  /// Trainers export weights to a file beside the model, whatever its size.
  bool externalData = false;
  /// Initializers of floats may have no data: models of which only the shapes
  /// are known.
  bool withoutData = false;
  /// Splits the parameters that the exporter merged with others.
  bool untie = false;
  /// The layers that are trained to be quantized; of several rules the first
  /// that matches a layer has it.
  std::vector<QuantizationRule> qat;
  /// Files that ONNX Runtime training generates beside its training model: the
  /// parameters, and the optimizer. Empty for a model of another kind.
  std::string checkpoint, optimizerModel;
  /// The file of a second model, which is imported as @teacher; empty without
  /// one.
  std::string teacher;
  /// Values of the graph and of the teacher's that both functions return
  /// besides their outputs, as `distill.N`.
  std::vector<std::pair<std::string, std::string>> pairs;
  /// Values of the graph that its function returns besides the outputs, as
  /// `distill.N`: one side of the pairs.
  std::vector<std::string> paired;
};

} // namespace ingot::onnx_import

#endif // INGOT_FRONTENDS_ONNX_OPTIONS_IMPORTOPTIONS_H
