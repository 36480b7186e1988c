// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Encoded tensors: docs/spec/encoding.md.
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/encoding/EncodingOps.h"
#include "dialects/reference/Registry.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace ingot;
using namespace ingot::reference;

/// The 16 quantiles of nf4.
static constexpr double kQuantiles[16] = {-1.0,
                                          -0.6961928009986877,
                                          -0.5250730514526367,
                                          -0.39491748809814453,
                                          -0.28444138169288635,
                                          -0.18477343022823334,
                                          -0.09105003625154495,
                                          0.0,
                                          0.07958029955625534,
                                          0.16093020141124725,
                                          0.24611230194568634,
                                          0.33791524171829224,
                                          0.44070982933044434,
                                          0.5626170039176941,
                                          0.7229568362236023,
                                          1.0};

/// The float of four bits: a sign, two bits of an exponent e and one of a
/// fraction f, in twelfths of (1 + f / 2) * 2^e; exponents have an order of
/// their own.
static double getFloat4(int64_t code) {
  constexpr double magnitudes[8] = {0, 0.0625, 8, 12, 4, 6, 2, 3};
  double magnitude =
      static_cast<float>(static_cast<float>(magnitudes[code % 8]) / 12.0F);
  return code < 8 ? magnitude : -magnitude;
}

/// The numbers of codes of scales: of seven decades, the middles of 2^i equal
/// intervals of each sign, with zero and one; without a sign, of 2^(i + 1).
static std::vector<double> listScaleNumbers(bool sign = true) {
  std::vector<double> numbers = {0, 1};
  for (int decade = 0; decade < 7; ++decade) {
    int intervals = 1 << (sign ? decade : decade + 1);
    float first = 0.1F, step = (1 - first) / static_cast<float>(intervals);
    std::vector<float> bounds;
    for (int i = 0; i <= intervals; ++i)
      bounds.push_back(
          i < (intervals + 1) / 2
              ? std::fma(step, static_cast<float>(i), first)
              : std::fma(-step, static_cast<float>(intervals - i), 1.0F));
    auto unit = static_cast<float>(std::pow(10.0, decade - 6));
    for (int i = 0; i < intervals; ++i) {
      float middle = unit * ((bounds[i] + bounds[i + 1]) / 2);
      numbers.push_back(middle);
      if (sign)
        numbers.push_back(-middle);
    }
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

/// Returns the number of an element, in f32.
static double decode(StringRef kind, int64_t block,
                     ArrayRef<const Tensor *> parts, int64_t element) {
  int64_t place = element / block;
  bool isInteger = kind == "int4" || kind == "int8";
  double offset = isInteger && parts.size() == 3 ? parts[2]->real(place) : 0.0;
  double scale;
  if (!isInteger && parts.size() == 3) {
    static const std::vector<double> numbers = listScaleNumbers();
    const Tensor &nested = *parts[2];
    auto product = static_cast<float>(numbers[parts[1]->integer(place)] *
                                      nested.real(place / 256));
    scale = static_cast<float>(static_cast<double>(product) +
                               nested.real(nested.size() - 1));
  } else {
    scale = parts[1]->real(place);
  }
  if (kind == "int8") {
    int64_t byte = parts[0]->integer(element);
    return static_cast<float>(
        static_cast<float>(static_cast<double>(byte < 128 ? byte : byte - 256) +
                           offset) *
        scale);
  }
  int64_t byte = parts[0]->integer(element / 2);
  bool isUpper = (element % 2 == 0) == (kind != "int4");
  int64_t code = isUpper ? byte / 16 : byte % 16;
  double number =
      kind == "nf4" ? kQuantiles[code]
      : kind == "fp4"
          ? getFloat4(code)
          : static_cast<float>(static_cast<double>(code - 8) + offset);
  return static_cast<float>(number * scale);
}

static void decodedMatmul(DecodedMatmulOp op, Operands in, Results out) {
  const Tensor &lhs = in[0];
  int64_t m = out[0].getShape()[0], n = out[0].getShape()[1];
  int64_t k = lhs.getShape()[1];
  SmallVector<const Tensor *> parts;
  for (size_t i = 1; i < in.size(); ++i)
    parts.push_back(&in[i]);
  Tensor rhs(
      RankedTensorType::get({k, n}, tensorType(op.getLhs()).getElementType()));
  for (int64_t l = 0; l < k; ++l)
    for (int64_t j = 0; j < n; ++j)
      rhs.real(l * n + j) =
          decode(op.getKind(), op.getBlock(), parts,
                 op.getTransposeRhs() ? j * k + l : l * n + j);
  Tensor rounded = rhs.converted(tensorType(op.getLhs()).getElementType());
  for (int64_t i = 0; i < m; ++i)
    for (int64_t l = 0; l < k; ++l)
      for (int64_t j = 0; j < n; ++j)
        out[0].real(i * n + j) += lhs.real(i * k + l) * rounded.real(l * n + j);
}

/// The 256 numbers of dynamic codes: those of scales, or, without a sign, of
/// seven decades of twice as many intervals.
static ArrayRef<double> listDynamicNumbers(StringRef kind) {
  static const std::vector<double> withSign = listScaleNumbers(/*sign=*/true),
                                   without = listScaleNumbers(/*sign=*/false);
  return kind == "dyn8" ? withSign : without;
}

static void lookUpBlocks(DecodeBlocksOp op, Operands in, Results out) {
  ArrayRef<double> numbers = listDynamicNumbers(op.getKind());
  for (int64_t i = 0; i < out[0].size(); ++i)
    out[0].real(i) =
        static_cast<float>(numbers[in[0].integer(i)] *
                           in[2].real(i / static_cast<int64_t>(op.getBlock())));
}

static void findMost(BlockMaxOp op, Operands in, Results out) {
  for (int64_t i = 0; i < in[0].size(); ++i) {
    double &most = out[0].real(i / static_cast<int64_t>(op.getBlock()));
    double magnitude = std::fabs(in[0].real(i));
    if (!(magnitude <= most) && !std::isnan(most))
      most = magnitude;
  }
}

static void findNearest(EncodeBlocksOp op, Operands in, Results out) {
  ArrayRef<double> numbers = listDynamicNumbers(op.getKind());
  for (int64_t i = 0; i < out[0].size(); ++i) {
    double x = static_cast<float>(
        in[0].real(i) / in[3].real(i / static_cast<int64_t>(op.getBlock())));
    int64_t nearest = 0;
    for (int64_t code = 1; code < 256; ++code) {
      auto middle = static_cast<float>(numbers[code - 1] + numbers[code]) / 2;
      if (x > middle)
        nearest = code;
    }
    out[0].integer(i) = nearest;
  }
}

void ingot::reference::registerEncoding(Registry &registry) {
  registry.add<DecodedMatmulOp>(decodedMatmul);
  registry.add<DecodeBlocksOp>(lookUpBlocks);
  registry.add<BlockMaxOp>(findMost);
  registry.add<EncodeBlocksOp>(findNearest);
}
