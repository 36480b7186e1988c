//===----------------------------------------------------------------------===//
//
// What elementwise ops compute, as polynomials: two ways to write one function
// give one polynomial.
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

/// A sum of products of variables, which are numbers.
class Polynomial {
public:
  /// The power of each variable in it.
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

  /// Nothing if it depends on variables.
  std::optional<double> getConstant() const;
  /// Returns the coefficient of its first term; 0 if it has none.
  double getLeading() const;
  /// Equal but for the rounding of constants in f32, or in few decimal digits.
  bool isClose(const Polynomial &other) const;
  /// Not worth following further.
  bool isLarge() const;

private:
  std::map<Monomial, double> terms;
};

/// The polynomials of values in one block. The hyperbolic tangent of a
/// polynomial is a variable; so is every value that is not followed further.
class Polynomials {
public:
  /// `isGiven`: whether an op's results are values not to follow.
  explicit Polynomials(llvm::function_ref<bool(mlir::Operation *)> isGiven)
      : isGiven(isGiven) {}

  /// Returns the number of the variable that a value is, from now on.
  unsigned getVariable(mlir::Value value);
  /// Of a value that is given, what it is computed from. Casts that change no
  /// value, and reshapes, are passed over.
  Polynomial of(mlir::Value value) { return follow(value, 0); }

  struct Tangent {
    Polynomial argument;
    unsigned variable;
  };
  /// All hyperbolic tangents met.
  llvm::ArrayRef<Tangent> getTangents() const { return tangents; }
  /// All values that are variables, with their numbers.
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
