// SPDX-License-Identifier: Apache-2.0

#include "frontends/onnx/weights/CodedData.h"

#include "dialects/ingot/ir/Diagnostics.h"
#include "dialects/ingot/support/ElementTypes.h"
#include "frontends/onnx/model/NarrowTypes.h"
#include "frontends/onnx/model/Tensors.h"
#include "runtime/core/DType.h"
#include "llvm/Support/MathExtras.h"
#include <cstring>

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;
using onnx::TensorProto;

/// Returns the numbers of a tensor of floats in f32, as bytes.
static FailureOr<std::string> readFloats(Location file,
                                         const TensorProto &tensor) {
  FailureOr<std::string> bytes = tensorBytes(file, tensor);
  if (failed(bytes))
    return failure();
  auto type = getDType(elementType(file.getContext(), tensor.data_type()));
  if (type == runtime::DType::F32)
    return bytes;
  int64_t count = countElements(tensor);
  std::string numbers(count * sizeof(float), '\0');
  runtime::convert(bytes->data(), type, numbers.data(), runtime::DType::F32,
                   count);
  return numbers;
}

/// Returns integers of 4 or 8 bits, one a byte. Those of operators have several
/// in a byte, and those of each row begin with a byte.
static FailureOr<std::string> readIntegers(Location file,
                                           const TensorProto &tensor,
                                           int64_t bits, int64_t rows,
                                           int64_t columns) {
  FailureOr<std::string> bytes = tensorBytes(file, tensor);
  if (failed(bytes) || bits == 8 || narrowType(tensor.data_type()))
    return bytes;
  std::string integers;
  int64_t rowBytes = llvm::divideCeil(columns, 2);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t k = 0; k < columns; ++k)
      integers.push_back(static_cast<char>(
          static_cast<uint8_t>((*bytes)[i * rowBytes + k / 2]) >>
              (k % 2 == 0 ? 0 : 4) &
          15));
  return integers;
}

/// Returns elements of a width in rows from those in columns.
static std::string transposeElements(StringRef from, int64_t rows,
                                     int64_t columns, size_t width) {
  std::string to(from.size(), '\0');
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t k = 0; k < columns; ++k)
      std::memcpy(to.data() + (i * columns + k) * width,
                  from.data() + (k * rows + i) * width, width);
  return to;
}

namespace {

/// Takes the parts of a matrix of integers.
class IntegerReader {
public:
  IntegerReader(Location file, CodedWeight &weight, CodesLayout layout)
      : file(file), weight(weight), layout(layout) {}

  LogicalResult read(const TensorProto &codes, const TensorProto &scales,
                     const TensorProto *zeros);

private:
  LogicalResult readOffsets(const TensorProto *zeros);
  /// Returns the integer that an element of the file stands for.
  float getNumber(char element) const {
    return layout.isSigned ? static_cast<float>(static_cast<int8_t>(element))
                           : static_cast<float>(static_cast<uint8_t>(element));
  }
  void decode(StringRef integers);

  Location file;
  CodedWeight &weight;
  const CodesLayout layout;
};

} // namespace

/// Reads what is added to integers, which are counted from the middle of their
/// range.
LogicalResult IntegerReader::readOffsets(const TensorProto *zeros) {
  int64_t blocks = layout.rows * layout.blocksOfRow();
  const float middle = layout.bits == 4 ? 8 : 128;
  std::vector<float> offsets(blocks);
  if (!zeros && layout.hasMiddle)
    return success();
  if (!zeros) {
    std::fill(offsets.begin(), offsets.end(), middle);
  } else if (hasFloats(*zeros)) {
    FailureOr<std::string> numbers = readFloats(file, *zeros);
    if (failed(numbers))
      return failure();
    std::memcpy(offsets.data(), numbers->data(), numbers->size());
    for (float &offset : offsets)
      offset = middle - offset;
  } else {
    FailureOr<std::string> integers = readIntegers(
        file, *zeros, layout.bits, layout.rows, layout.blocksOfRow());
    if (failed(integers))
      return failure();
    for (auto [offset, integer] : llvm::zip_equal(offsets, *integers))
      offset =
          layout.isSigned ? -getNumber(integer) : middle - getNumber(integer);
  }
  weight.offsets.assign(reinterpret_cast<const char *>(offsets.data()),
                        offsets.size() * sizeof(float));
  if (layout.isTransposed)
    weight.offsets = transposeElements(weight.offsets, layout.rows,
                                       layout.blocksOfRow(), sizeof(float));
  return success();
}

/// Replaces the codes by the numbers that they stand for.
void IntegerReader::decode(StringRef integers) {
  const int64_t padded = layout.blocksOfRow() * layout.block;
  const float middle = layout.bits == 4 ? 8 : 128;
  const auto *scales = reinterpret_cast<const float *>(weight.scales.data());
  const auto *offsets = reinterpret_cast<const float *>(weight.offsets.data());
  std::vector<float> numbers;
  numbers.reserve(layout.rows * layout.columns);
  for (int64_t i = 0; i < layout.rows; ++i)
    for (int64_t k = 0; k < layout.columns; ++k) {
      int64_t block = i * layout.blocksOfRow() + k / layout.block;
      float offset = weight.offsets.empty() ? 0 : offsets[block];
      numbers.push_back(
          (getNumber(integers[i * padded + k]) - middle + offset) *
          scales[block]);
    }
  weight.codes.assign(reinterpret_cast<const char *>(numbers.data()),
                      numbers.size() * sizeof(float));
}

LogicalResult IntegerReader::read(const TensorProto &codes,
                                  const TensorProto &scales,
                                  const TensorProto *zeros) {
  int64_t blocks = layout.blocksOfRow();
  FailureOr<std::string> numbers = readFloats(file, scales);
  if (failed(numbers) || failed(readOffsets(zeros)))
    return failure();
  weight.scales = std::move(*numbers);
  if (layout.isTransposed)
    weight.scales =
        transposeElements(weight.scales, layout.rows, blocks, sizeof(float));
  // Codes in rows from the middle of their range are those of the encoding.
  if (weight.encoding && layout.isInNode && layout.bits == 4) {
    FailureOr<std::string> bytes = tensorBytes(file, codes);
    if (failed(bytes))
      return failure();
    weight.codes = std::move(*bytes);
    return success();
  }
  int64_t padded = layout.isInNode ? blocks * layout.block : layout.columns;
  FailureOr<std::string> integers =
      readIntegers(file, codes, layout.bits, layout.rows, padded);
  if (failed(integers))
    return failure();
  if (layout.isTransposed)
    *integers = transposeElements(*integers, layout.rows, layout.columns, 1);
  if (!weight.encoding) {
    decode(*integers);
    return success();
  }
  if (layout.bits == 8) {
    if (!layout.isSigned)
      for (char &integer : *integers)
        integer = static_cast<char>(integer ^ 128);
    weight.codes = std::move(*integers);
    return success();
  }
  for (auto [i, integer] : llvm::enumerate(*integers)) {
    auto code =
        static_cast<uint8_t>((layout.isSigned ? integer + 8 : integer) & 15);
    if (i % 2 == 0)
      weight.codes.push_back(static_cast<char>(code));
    else
      weight.codes.back() = static_cast<char>(weight.codes.back() | code << 4);
  }
  return success();
}

/// Takes the parts of a matrix of floats, as the file has them.
static LogicalResult readFloatCodes(Location file, CodedWeight &weight,
                                    const TensorProto &codes,
                                    const TensorProto &scales) {
  FailureOr<std::string> numbers = readFloats(file, scales);
  FailureOr<std::string> bytes = tensorBytes(file, codes);
  if (failed(numbers) || failed(bytes))
    return failure();
  weight.codes = std::move(*bytes);
  weight.scales = std::move(*numbers);
  if (!weight.encoding)
    return emitUserError(file,
                         "'" + codes.name() + "' is a part of two weights",
                         "give each weight codes of its own");
  return success();
}

LogicalResult onnx_import::readCodes(Location file, CodedWeight &weight,
                                     const CodesLayout &layout,
                                     const TensorProto &codes,
                                     const TensorProto &scales,
                                     const TensorProto *zeros) {
  if (layout.kind == INGOT_CODE_NF4 || layout.kind == INGOT_CODE_FP4)
    return readFloatCodes(file, weight, codes, scales);
  return IntegerReader(file, weight, layout).read(codes, scales, zeros);
}
