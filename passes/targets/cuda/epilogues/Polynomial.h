// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The functions that elementwise ops compute, as polynomials: different
// formulations of a function yield the same polynomial.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_TARGETS_CUDA_EPILOGUES_POLYNOMIAL_H
#define INGOT_PASSES_TARGETS_CUDA_EPILOGUES_POLYNOMIAL_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <map>

namespace ingot {

/// A sum of products of variables, which are identified by numbers.
class Polynomial {
public:
  /// The power of each variable in a product.
  using Monomial = std::map<unsigned, unsigned>;

  Polynomial() = default;
  Polynomial(double value);
  static Polynomial variable(unsigned number);

  Polynomial &operator+=(const Polynomial &other);
  friend Polynomial operator+(Polynomial a, const Polynomial &b) {
    return a += b;
  }
  friend Polynomial operator*(const Polynomial &a, const Polynomial &b);
  Polynomial power(unsigned exponent) const;

  /// Returns the constant that the polynomial is; nothing if it depends on
  /// variables.
  std::optional<double> getConstant() const;
  /// Returns the coefficient of its first term; 0 if it has none.
  double getLeading() const;
  /// Returns whether the polynomials are equal up to the rounding of constants
  /// to f32, or to few decimal digits.
  bool isClose(const Polynomial &other) const;
  /// Returns whether the polynomial has too many terms to be expanded further.
  bool isLarge() const;

private:
  std::map<Monomial, double> terms;
};

/// The polynomials of values in one block. The hyperbolic tangent of a
/// polynomial is a variable; so is every value that is not expanded.
class Polynomials {
public:
  /// Creates an empty set. `isGiven` tells whether the results of an op are not
  /// expanded.
  explicit Polynomials(llvm::function_ref<bool(mlir::Operation *)> isGiven)
      : isGiven(isGiven) {}

  /// Returns the number of the variable that stands for a value, which is
  /// assigned on first use.
  unsigned getVariable(mlir::Value value);
  /// Returns the polynomial of a value, expanded even if the value is given.
  /// Casts that change no value, and reshapes, are skipped.
  Polynomial of(mlir::Value value) { return follow(value, 0); }

  struct Tangent {
    Polynomial argument;
    unsigned variable;
  };
  /// Returns all hyperbolic tangents found so far.
  llvm::ArrayRef<Tangent> getTangents() const { return tangents; }
  /// Returns all values that are variables, with their numbers.
  llvm::ArrayRef<std::pair<mlir::Value, unsigned>> getLeaves() const {
    return leaves;
  }

private:
  Polynomial follow(mlir::Value value, unsigned depth);
  std::optional<Polynomial> compute(mlir::Operation *op, unsigned depth);
  Polynomial tanh(const Polynomial &argument);

  llvm::function_ref<bool(mlir::Operation *)> isGiven;
  llvm::DenseMap<mlir::Value, Polynomial> known;
  llvm::SmallVector<std::pair<mlir::Value, unsigned>> leaves;
  llvm::SmallVector<Tangent> tangents;
  unsigned count = 0;
};

} // namespace ingot

#endif // INGOT_PASSES_TARGETS_CUDA_EPILOGUES_POLYNOMIAL_H
