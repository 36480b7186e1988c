// SPDX-License-Identifier: Apache-2.0

#include "runtime/data/readers/Checks.h"

#include "runtime/core/Error.h"

#include <algorithm>
#include <sstream>

using namespace ingot::runtime;

static std::string describe(const std::vector<int64_t> &shape, size_t from) {
  std::string text = "[N";
  for (size_t i = from; i < shape.size(); ++i)
    text += ", " + std::to_string(shape[i]);
  return text + "]";
}

/// Calls `visit` with the number and the value of each element as an integer.
template <typename Visit>
static void forEachInteger(const Array &array, Visit visit) {
  constexpr int64_t piece = 4096;
  int64_t elements = array.getElements(), values[piece];
  for (int64_t i = 0; i < elements; i += piece) {
    int64_t some = std::min(piece, elements - i);
    convert(array.data + i * getSize(array.dtype), array.dtype, values,
            DType::I64, some);
    for (int64_t k = 0; k < some; ++k)
      visit(i + k, values[k]);
  }
}

static void checkLabels(const Array &array, const InputSpec &input,
                        const std::string &where) {
  int64_t perSample =
      std::max<int64_t>(array.getElements() / array.shape[0], 1);
  forEachInteger(array, [&](int64_t i, int64_t label) {
    if ((label >= 0 && label < *input.classes) || label == input.ignored)
      return;
    throw badInput(
        where,
        "sample " + std::to_string(i / perSample) + " has label " +
            std::to_string(label) + ", outside 0 to " +
            std::to_string(*input.classes - 1),
        input.ignored ? "correct the label; " + std::to_string(*input.ignored) +
                            " marks one to ignore, another one is chosen "
                            "with --loss cross-entropy:ignore=N"
                      : std::string("correct the label"));
  });
}

/// Checks elements that index tables. As in ONNX, they may count from the end.
static void checkRows(const Array &array, const InputSpec &input,
                      int64_t position, const std::string &where) {
  std::vector<int64_t> rows;
  bool isUniform = input.indexed.size() == 1;
  if (!isUniform)
    for (const IndexedRows &part : input.indexed)
      rows.insert(rows.end(), static_cast<size_t>(part.elements), part.rows);
  int64_t perSample =
      std::max<int64_t>(array.getElements() / array.shape[0], 1);
  forEachInteger(array, [&](int64_t i, int64_t index) {
    int64_t most = isUniform
                       ? input.indexed.front().rows
                       : rows[static_cast<size_t>(position + i) % rows.size()];
    if (most == 0 || (index >= -most && index < most))
      return;
    throw badInput(where,
                   "sample " + std::to_string(i / perSample) + " has " +
                       std::to_string(index) + " in '" + input.name +
                       "', which indexes a table of " + std::to_string(most) +
                       " rows",
                   "correct the value; encode text with the model's own "
                   "tokenizer");
  });
}

void ingot::runtime::checkIndices(const Array &array, const InputSpec &input,
                                  int64_t position, const std::string &where) {
  if (isFloat(array.dtype))
    return;
  if (input.classes)
    checkLabels(array, input, where);
  else if (!input.indexed.empty())
    checkRows(array, input, position, where);
}

/// Checks the labels of a loss that takes probabilities.
static void checkProbabilities(const Array &array, const std::string &where) {
  int64_t elements = array.getElements();
  int64_t perSample = array.shape[0] ? elements / array.shape[0] : 1;
  constexpr int64_t piece = 4096;
  std::vector<double> values(std::min(piece, elements));
  for (int64_t i = 0; i < elements; i += piece) {
    int64_t some = std::min(piece, elements - i);
    convert(array.data + i * getSize(array.dtype), array.dtype, values.data(),
            DType::F64, some);
    for (int64_t k = 0; k < some; ++k)
      if (!(values[k] >= 0 && values[k] <= 1)) {
        std::ostringstream value;
        value << values[k];
        throw badInput(where,
                       "sample " + std::to_string((i + k) / perSample) +
                           " has label " + value.str() +
                           ", and the loss takes values from 0 to 1",
                       "correct the label, or compile with another --loss");
      }
  }
}

bool ingot::runtime::haveSameSamples(const Array &array,
                                     const InputSpec &input) {
  return !array.shape.empty() &&
         std::equal(array.shape.begin() + 1, array.shape.end(),
                    input.shape.begin() + 1, input.shape.end());
}

/// Returns what to do about labels of another shape: they may be those for
/// another axis of classes.
static std::string hintForShape(const Array &array, const InputSpec &input) {
  auto classAxis = static_cast<size_t>(input.classAxis.value_or(0));
  if (input.classes && classAxis > 0 && classAxis <= input.shape.size() &&
      array.shape.size() == input.shape.size()) {
    std::vector<int64_t> output = input.shape;
    output.insert(output.begin() + static_cast<std::ptrdiff_t>(classAxis),
                  *input.classes);
    for (size_t axis = 1; axis < output.size(); ++axis) {
      std::vector<int64_t> labels = output;
      labels.erase(labels.begin() + static_cast<std::ptrdiff_t>(axis));
      if (std::equal(labels.begin() + 1, labels.end(), array.shape.begin() + 1))
        return "these labels are for classes along axis " +
               std::to_string(axis) + " of the output: compile with --loss " +
               input.loss + ":" + std::to_string(axis) + ", instead of " +
               input.loss + ":" + std::to_string(classAxis);
    }
  }
  return "reshape the array; its first axis counts the samples";
}

/// Checks an array of a file against its input.
void ingot::runtime::checkArray(const Array &array, const InputSpec &input,
                                const std::string &where) {
  if (!haveSameSamples(array, input)) {
    std::string actual = array.shape.empty() ? "[]" : describe(array.shape, 1);
    throw badInput(where,
                   "the array has shape " + actual + ", the model's input " +
                       describe(input.shape, 1),
                   hintForShape(array, input));
  }
  if (array.shape[0] == 0)
    throw badInput(where, "the array has no samples",
                   "give a file with samples");
  if (!canConvert(array.dtype, input.dtype))
    throw badInput(where,
                   "the array holds " + std::string(getName(array.dtype)) +
                       ", the model's input " +
                       std::string(getName(input.dtype)),
                   "convert the array with astype before saving it");
  int64_t at = 0;
  if (!fitsIn(array.data, array.dtype, input.dtype, array.getElements(), at))
    throw badInput(
        where,
        "sample " + std::to_string(at * array.shape[0] / array.getElements()) +
            " has a value that does not fit the model's " +
            std::string(getName(input.dtype)),
        "correct the value");
  checkIndices(array, input, /*position=*/0, where);
  if (input.isProbability)
    checkProbabilities(array, where);
}

void ingot::runtime::checkValue(const Value &value, const InputSpec &input,
                                const std::string &where) {
  if (value.kind == Value::Kind::Bytes)
    throw badInput(where,
                   "the field is text or a picture, the model's input " +
                       describe(input.shape, 1),
                   "say how to read it, as in --input " + input.name +
                       "=decode,resize:32,crop:28");
  Array one;
  one.dtype = value.dtype;
  one.shape = value.shape;
  one.shape.insert(one.shape.begin(), 1);
  one.data = value.bytes.data();
  checkArray(one, input, where);
}
