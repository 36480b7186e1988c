// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/weights/CodesExport.h"

#include "runtime/core/StateEncoding.h"
#include "runtime/quantization/BlockCodes.h"
#include "runtime/trainer/state/AdapterStates.h"
#include "runtime/trainer/state/EncodedParts.h"
#include "runtime/trainer/weights/CodesChange.h"
#include "runtime/trainer/weights/MergedCodes.h"

#include <cmath>
#include <memory>

using namespace ingot::runtime;
using namespace ingot;

namespace {

/// A matrix in codes: rows of whole blocks, or one after the other.
struct Matrix {
  std::string state;
  int64_t rows = 0, columns = 0;
  quantization::Encoding encoding;
  std::vector<uint8_t> codes;
  std::vector<float> scales, offsets;

  bool hasNibbles() const { return encoding.kind != INGOT_CODE_INT8; }
};

/// Elements in as few bytes as their bits need, the first one in the lower half
/// of a byte.
class Packer {
public:
  Packer(bool isNibbles, size_t count) : isNibbles(isNibbles) {
    bytes.reserve(count);
  }
  void add(uint8_t element) {
    if (isNibbles && isHalf)
      bytes.back() = static_cast<char>(bytes.back() | element << 4);
    else
      bytes.push_back(static_cast<char>(element));
    isHalf = isNibbles && !isHalf;
  }
  /// The next element begins with a byte.
  void align() { isHalf = false; }
  std::string take() { return std::move(bytes); }

private:
  bool isNibbles, isHalf = false;
  std::string bytes;
};

} // namespace

/// Whether the state has codes as the piece says, and no adapter changes them.
static bool isEncodedAlike(const Session &session, const StateSpec &spec,
                           const ExportCodes &codes) {
  return spec.home == StateHome::Encoded && spec.encoding->kind == codes.kind &&
         spec.encoding->block == codes.block &&
         spec.encoding->transposed == codes.transposed &&
         !findAdapter(session.getManifest(), spec.name);
}

static Matrix readMatrix(const Session &session, const StateSpec &spec,
                         const ExportCodes &codes) {
  Matrix matrix;
  matrix.state = spec.name;
  const std::vector<int64_t> &shape = spec.getWholeShape();
  matrix.rows = shape[codes.transposed ? 1 : 0];
  matrix.columns = shape[codes.transposed ? 0 : 1];
  const int64_t elements = spec.getWholeElements();
  if (isEncodedAlike(session, spec, codes)) {
    const quantization::Encoding encoding = matrix.encoding =
        getEncoding(*spec.encoding);
    const quantization::Parts parts = getParts(session, spec);
    const quantization::Decoder decoder(encoding, parts, elements);
    matrix.codes.assign(parts.codes,
                        parts.codes + encoding.getCodeBytes(elements));
    const int64_t count = encoding.countScales(elements);
    for (int64_t i = 0; i < count; ++i)
      matrix.scales.push_back(decoder.getScale(i));
    if (encoding.hasOffsets)
      matrix.offsets.assign(parts.nested, parts.nested + count);
    return matrix;
  }
  std::vector<float> values = readMerged(session, spec);
  if (codes.transposed)
    values = transposeMatrix(values.data(), shape[0], shape[1]);
  matrix.encoding = getFileEncoding(codes);
  quantization::Encoded encoded =
      quantization::encode(matrix.encoding, values.data(), elements);
  matrix.codes = std::move(encoded.codes);
  const auto *scales = reinterpret_cast<const float *>(encoded.scales.data());
  matrix.scales.assign(scales, scales + encoded.scales.size() / sizeof(float));
  return matrix;
}

/// Returns a code as the file has it: integers from 0, or in two's complement.
static std::string writeCodes(const Matrix &matrix, const ExportCodes &how) {
  const bool isNibbles = matrix.hasNibbles();
  const bool isInteger = !isNibbles || matrix.encoding.kind == INGOT_CODE_INT4;
  // The bits that turn codes of one form into those of the other.
  uint8_t flip = 0;
  if (isInteger && how.isSigned == isNibbles)
    flip = isNibbles ? 8 : 128;
  if (!how.columns) {
    std::string bytes(matrix.codes.begin(), matrix.codes.end());
    for (char &byte : bytes)
      byte = static_cast<char>(byte ^ (isNibbles ? flip * 17 : flip));
    return bytes;
  }
  Packer packer(isNibbles, matrix.codes.size());
  for (int64_t k = 0; k < matrix.columns; ++k)
    for (int64_t n = 0; n < matrix.rows; ++n) {
      const int64_t at = n * matrix.columns + k;
      const uint8_t code =
          isNibbles ? matrix.codes[at / 2] >> (at % 2 * 4) & 15 // NOLINT
                    : matrix.codes[at];
      packer.add(code ^ flip);
    }
  return packer.take();
}

/// Calls `take` with the index of each block, in the order of the file.
template <typename Take>
static void forEachBlock(const Matrix &matrix, const ExportCodes &how,
                         Take take) {
  const auto count = static_cast<int64_t>(matrix.scales.size());
  const int64_t ofRow = std::max<int64_t>(count / matrix.rows, 1);
  for (int64_t i = 0; i < count; ++i)
    take(how.columns ? i % matrix.rows * ofRow + i / matrix.rows : i,
         !how.columns && i % ofRow == 0);
}

static std::string writeNumbers(const std::vector<float> &numbers,
                                DType dtype) {
  std::string bytes(numbers.size() * getSize(dtype), '\0');
  convert(reinterpret_cast<const char *>(numbers.data()), DType::F32,
          bytes.data(), dtype, static_cast<int64_t>(numbers.size()));
  return bytes;
}

static std::string writeScales(const Matrix &matrix, const ExportCodes &how,
                               DType dtype) {
  std::vector<float> scales;
  forEachBlock(matrix, how,
               [&](int64_t i, bool) { scales.push_back(matrix.scales[i]); });
  return writeNumbers(scales, dtype);
}

static std::string writeZeroPoints(const Matrix &matrix, const ExportCodes &how,
                                   DType dtype) {
  const float middle = matrix.hasNibbles() ? 8 : 128;
  auto getZero = [&](int64_t i) {
    return middle - (matrix.offsets.empty() ? 0 : matrix.offsets[i]);
  };
  if (dtype != DType::U8) {
    std::vector<float> zeros;
    forEachBlock(matrix, how,
                 [&](int64_t i, bool) { zeros.push_back(getZero(i)); });
    return writeNumbers(zeros, dtype);
  }
  Packer packer(matrix.hasNibbles(), matrix.scales.size());
  forEachBlock(matrix, how, [&](int64_t i, bool isFirst) {
    if (isFirst && how.wholeRows)
      packer.align();
    auto zero = static_cast<int>(std::lround(getZero(i)));
    if (how.isSigned)
      zero -= static_cast<int>(middle);
    packer.add(
        static_cast<uint8_t>(matrix.hasNibbles() ? zero & 15 : zero & 255));
  });
  return packer.take();
}

static CodesReader openCodes(const Session &session) {
  // The parts of a matrix come one after the other.
  auto last = std::make_shared<Matrix>();
  return [&session, last](const ExportPiece &piece) {
    const StateSpec &spec = *session.getManifest().findState(piece.state);
    const ExportCodes &how = *piece.codes;
    if (last->state != spec.name)
      *last = readMatrix(session, spec, how);
    switch (how.part) {
    case CodesPart::Codes:
      return writeCodes(*last, how);
    case CodesPart::Scales:
      return writeScales(*last, how, piece.dtype);
    case CodesPart::ZeroPoints:
      return writeZeroPoints(*last, how, piece.dtype);
    }
    return std::string();
  };
}

const ExportedCodes *ingot::runtime::ingot_exported_codes() {
  static constexpr ExportedCodes codes = {openCodes, measureCodes};
  return &codes;
}
