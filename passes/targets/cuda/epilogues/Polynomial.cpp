// SPDX-License-Identifier: Apache-2.0

#include "passes/targets/cuda/epilogues/Polynomial.h"

#include "dialects/ingot/builders/Builders.h"
#include "mlir/IR/Matchers.h"

#include <cmath>

using namespace mlir;
using namespace ingot;

//===----------------------------------------------------------------------===//
// Polynomial
//===----------------------------------------------------------------------===//

Polynomial::Polynomial(double value) {
  if (value != 0)
    terms[{}] = value;
}

Polynomial Polynomial::variable(unsigned number) {
  Polynomial result;
  result.terms[{{number, 1}}] = 1;
  return result;
}

Polynomial &Polynomial::operator+=(const Polynomial &other) {
  for (const auto &[monomial, factor] : other.terms) {
    double &sum = terms[monomial];
    double largest = std::max(std::abs(sum), std::abs(factor));
    sum += factor;
    // Terms that cancel up to rounding are dropped.
    if (std::abs(sum) <= 1e-12 * largest)
      terms.erase(monomial);
  }
  return *this;
}

Polynomial ingot::operator*(const Polynomial &a, const Polynomial &b) {
  Polynomial result;
  for (const auto &[left, x] : a.terms)
    for (const auto &[right, y] : b.terms) {
      Polynomial term;
      Polynomial::Monomial monomial = left;
      for (auto [variable, power] : right)
        monomial[variable] += power;
      term.terms[monomial] = x * y;
      result += term;
    }
  return result;
}

Polynomial Polynomial::power(unsigned exponent) const {
  Polynomial result(1);
  for (unsigned i = 0; i < exponent; ++i)
    result = result * *this;
  return result;
}

std::optional<double> Polynomial::getConstant() const {
  if (terms.empty())
    return 0;
  bool isConstant = terms.size() == 1 && terms.begin()->first.empty();
  return isConstant ? std::optional(terms.begin()->second) : std::nullopt;
}

double Polynomial::getLeading() const {
  return terms.empty() ? 0 : terms.begin()->second;
}

bool Polynomial::isClose(const Polynomial &other) const {
  constexpr double tolerance = 1e-4;
  return terms.size() == other.terms.size() &&
         std::equal(terms.begin(), terms.end(), other.terms.begin(),
                    [](const auto &a, const auto &b) {
                      return a.first == b.first &&
                             std::abs(a.second - b.second) <=
                                 tolerance * std::abs(b.second);
                    });
}

bool Polynomial::isLarge() const {
  constexpr size_t maxTerms = 16;
  constexpr unsigned maxDegree = 12;
  auto isHigh = [](const auto &term) {
    unsigned degree = 0;
    for (auto [variable, power] : term.first)
      degree += power;
    return degree > maxDegree;
  };
  return terms.size() > maxTerms || llvm::any_of(terms, isHigh);
}

//===----------------------------------------------------------------------===//
// Polynomials
//===----------------------------------------------------------------------===//

unsigned Polynomials::getVariable(Value value) {
  for (auto [leaf, number] : leaves)
    if (leaf == value)
      return number;
  leaves.push_back({value, count});
  known[value] = Polynomial::variable(count);
  return count++;
}

/// Returns a variable per argument of tanh; tanh(-x) = -tanh(x).
Polynomial Polynomials::tanh(const Polynomial &argument) {
  double sign = argument.getLeading() < 0 ? -1 : 1;
  Polynomial positive = argument * sign;
  for (const Tangent &tangent : tangents)
    if (tangent.argument.isClose(positive))
      return Polynomial::variable(tangent.variable) * sign;
  tangents.push_back({positive, count});
  return Polynomial::variable(count++) * sign;
}

std::optional<Polynomial> Polynomials::compute(Operation *op, unsigned depth) {
  auto operand = [&](unsigned i) {
    return follow(op->getOperand(i), depth + 1);
  };
  DenseElementsAttr constant;
  if (matchPattern(op, m_Constant(&constant)) && constant.isSplat() &&
      isa<FloatType>(constant.getElementType()))
    return constant.getSplatValue<APFloat>().convertToDouble();
  if (auto cast = dyn_cast<CastOp>(op)) {
    auto from =
        dyn_cast<FloatType>(tensorType(cast.getOperand()).getElementType());
    auto to = dyn_cast<FloatType>(cast.getType().getElementType());
    return from && to && from.getWidth() < to.getWidth()
               ? std::optional(operand(0))
               : std::nullopt;
  }
  if (isa<ReshapeOp>(op))
    return operand(0);
  if (!isa<FloatType>(tensorType(op->getResult(0)).getElementType()))
    return std::nullopt;
  if (isa<AddOp>(op))
    return operand(0) + operand(1);
  if (isa<SubOp>(op))
    return operand(0) + operand(1) * -1;
  if (isa<MulOp>(op))
    return operand(0) * operand(1);
  if (isa<NegOp>(op))
    return operand(0) * -1;
  if (isa<TanhOp>(op))
    return tanh(operand(0));
  // logistic(x) = (1 + tanh(x / 2)) / 2.
  if (isa<LogisticOp>(op))
    return tanh(operand(0) * 0.5) * 0.5 + 0.5;
  if (isa<DivOp>(op)) {
    std::optional<double> divisor = operand(1).getConstant();
    if (divisor && *divisor != 0)
      return operand(0) * (1 / *divisor);
  }
  if (isa<PowOp>(op)) {
    constexpr double maxExponent = 4;
    std::optional<double> exponent = operand(1).getConstant();
    if (exponent && *exponent >= 1 && *exponent <= maxExponent &&
        *exponent == std::floor(*exponent))
      return operand(0).power(static_cast<unsigned>(*exponent));
  }
  return std::nullopt;
}

Polynomial Polynomials::follow(Value value, unsigned depth) {
  constexpr unsigned maxDepth = 64;
  auto found = known.find(value);
  if (found != known.end())
    return found->second;
  Operation *op = value.getDefiningOp();
  std::optional<Polynomial> computed;
  bool isLeaf = depth != 0 && (depth > maxDepth || !op || isGiven(op));
  if (op && op->getNumResults() == 1 && !isLeaf)
    computed = compute(op, depth);
  if (!computed || computed->isLarge())
    return Polynomial::variable(getVariable(value));
  return known[value] = *computed;
}
