// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Finds the values of samples that make a loss not finite.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/dataset/Dataset.h"

#include "runtime/core/Error.h"
#include "runtime/core/Memory.h"

#include <cmath>

using namespace ingot::runtime;

std::optional<std::string>
Dataset::findProblem(const std::vector<InputSpec> &inputs,
                     const std::vector<int64_t> &indices) const {
  std::vector<InputSpec> placed;
  int64_t bytes = 0;
  for (const InputSpec &input : inputs) {
    if (!input.isBatched())
      continue;
    placed.push_back(input);
    placed.back().offset = bytes;
    bytes += input.getAlignedBytes();
  }
  // Rows are made again, one at a time: what they hold may come from recipes.
  Block row(static_cast<size_t>(bytes), "a sample that is looked into");
  for (InputSpec &input : placed)
    input.shape[0] = 1;
  Workspace workspace;
  std::vector<bool> areAllIgnored(placed.size(), true);
  for (int64_t sample : indices) {
    SampleContext context;
    context.sample = sample;
    try {
      fillRow(placed, context, 0, row.getData(), workspace);
    } catch (const Error &) {
      return std::nullopt;
    }
    for (size_t i = 0; i < placed.size(); ++i) {
      const InputSpec &input = placed[i];
      std::vector<double> values(static_cast<size_t>(input.getElements()));
      convert(row.getData() + input.offset, input.dtype, values.data(),
              DType::F64, input.getElements());
      bool isIndex = input.classes.has_value();
      for (double value : values) {
        // Masks may hold infinities.
        bool isInfinite = std::isinf(value) && input.kind == InputKind::Labels;
        if (std::isnan(value) || isInfinite)
          return "sample " + std::to_string(sample) + " has " +
                 (isInfinite ? "infinity" : "NaN") + " in '" + input.name + "'";
        if (!isIndex || value != static_cast<double>(input.getIgnored()))
          areAllIgnored[i] = false;
      }
    }
  }
  for (size_t i = 0; i < placed.size(); ++i)
    if (areAllIgnored[i] && placed[i].getElements() != 0)
      return "all labels of the step are " +
             std::to_string(placed[i].getIgnored()) +
             ", which the loss ignores";
  return std::nullopt;
}
