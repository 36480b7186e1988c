// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Results of elementwise ops as polynomials of a tensor, whose coefficients are
// numbers of each channel: normalizations, and the summands of statistics.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_TARGETS_CUDA_CONVOLUTIONS_CHANNELPOLYNOMIAL_H
#define INGOT_PASSES_TARGETS_CUDA_CONVOLUTIONS_CHANNELPOLYNOMIAL_H

#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"

#include <array>
#include <optional>

namespace ingot {

/// A number of each channel.
struct ChannelNumber {
  double constant = 0;
  /// f64 [channels], because statistics cancel; null for the constant.
  mlir::Value vector;

  bool isZero() const { return !vector && constant == 0; }
};

/// coefficients[0] + coefficients[1] x + coefficients[2] x^2.
struct ChannelPolynomial {
  std::array<ChannelNumber, 3> coefficients;

  unsigned getDegree() const;
};

/// The polynomials of values over one tensor `x`, whose channels are its last
/// dimension. Coefficients are built at the insertion point of a builder; those
/// of values that are no polynomial are left unused.
class ChannelPolynomials {
public:
  ChannelPolynomials(mlir::OpBuilder &builder, mlir::Value x);

  /// Returns the polynomial of degree 2 at most that an f32 value of the shape
  /// of `x` is, computed from `x` in f32; nothing if it is none.
  std::optional<ChannelPolynomial> of(mlir::Value value);

  /// Returns the number as a vector, f64 [channels].
  mlir::Value materialize(const ChannelNumber &number);

private:
  std::optional<ChannelPolynomial> compute(mlir::Value value, unsigned depth);
  ChannelNumber add(const ChannelNumber &a, const ChannelNumber &b);
  ChannelNumber multiply(const ChannelNumber &a, const ChannelNumber &b);
  std::optional<ChannelPolynomial> multiply(const ChannelPolynomial &a,
                                            const ChannelPolynomial &b);
  ChannelPolynomial add(const ChannelPolynomial &a, const ChannelPolynomial &b,
                        double factor);

  mlir::OpBuilder &builder;
  mlir::Value x;
  llvm::DenseMap<mlir::Value, std::optional<ChannelPolynomial>> known;
};

} // namespace ingot

#endif // INGOT_PASSES_TARGETS_CUDA_CONVOLUTIONS_CHANNELPOLYNOMIAL_H
