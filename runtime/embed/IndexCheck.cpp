// SPDX-License-Identifier: Apache-2.0

#include "runtime/embed/IndexCheck.h"

#include "runtime/core/Error.h"

#include <algorithm>
#include <string>

using namespace ingot::runtime;

static Error outside(const InputSpec &input, int64_t at, int64_t value,
                     int64_t least, int64_t limit) {
  std::string allowed =
      std::to_string(least) + " to " + std::to_string(limit - 1);
  if (least == 0 && input.ignored)
    allowed += ", or " + std::to_string(*input.ignored) + " for none";
  return badInput(input.name,
                  "element " + std::to_string(at) + " is " +
                      std::to_string(value) + ", outside " + allowed,
                  "give indices that the model has");
}

/// Checks `count` elements from `first` on: they are from `least` to below
/// `limit`, or labels that are ignored.
static void checkRange(const InputSpec &input, const char *data, int64_t first,
                       int64_t count, int64_t least, int64_t limit) {
  constexpr int64_t piece = 256;
  int64_t values[piece];
  const int64_t size = getSize(input.dtype);
  for (int64_t i = 0; i < count; i += piece) {
    int64_t some = std::min(piece, count - i);
    convert(data + (first + i) * size, input.dtype, values, DType::I64, some);
    for (int64_t k = 0; k < some; ++k)
      if ((values[k] < least || values[k] >= limit) &&
          (least != 0 || values[k] != input.ignored))
        throw outside(input, first + i + k, values[k], least, limit);
  }
}

void ingot::runtime::checkIndices(const InputSpec &input, const char *data,
                                  int64_t count) {
  if (!canConvert(input.dtype, DType::I64) || isFloat(input.dtype))
    return;
  if (input.classes)
    checkRange(input, data, 0, count, 0, *input.classes);
  // As in ONNX, they may count from the end.
  auto checkRows = [&](int64_t first, int64_t some, int64_t rows) {
    if (rows > 0)
      checkRange(input, data, first, some, -rows, rows);
  };
  if (input.indexed.size() == 1)
    return checkRows(0, count, input.indexed.front().rows);
  int64_t sample = 0;
  for (const IndexedRows &part : input.indexed)
    sample += part.elements;
  for (int64_t at = 0; sample > 0 && at < count;)
    for (const IndexedRows &part : input.indexed) {
      checkRows(at, std::min(part.elements, count - at), part.rows);
      at += std::min(part.elements, count - at);
    }
}
