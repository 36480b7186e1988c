// SPDX-License-Identifier: Apache-2.0

#include "passes/targets/cuda/epilogues/LibraryEpilogue.h"

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/support/Views.h"
#include "mlir/IR/Matchers.h"
#include "passes/targets/cuda/epilogues/Polynomial.h"
#include "runtime/abi/Abi.h"
#include "llvm/ADT/SetVector.h"

#include <numbers>

using namespace mlir;
using namespace ingot;

static Type elementOf(Value value) {
  return tensorType(value).getElementType();
}

static bool isSplat(Value value) {
  DenseElementsAttr constant;
  return matchPattern(value, m_Constant(&constant)) && constant.isSplat();
}

namespace {

class Matcher {
public:
  Matcher(Value matmul, const LibraryEpilogueRules &rules)
      : matmul(matmul), rules(rules), element(elementOf(matmul)),
        columns(tensorType(matmul).getShape().back()) {}

  bool match();

  LibraryEpilogue found;
  StringRef reason;

private:
  Value skipMoves(Value value) const;
  Value narrow(Value value) const;
  bool takeSummand(OpOperand &other);
  bool takeBias(OpOperand &use);
  bool takeAddend(Value other);
  bool takeRelu();
  bool takeReluGrad();
  bool takeGelu();
  bool takesGelu(const Polynomial &computed, const Polynomials &polynomials,
                 unsigned sum);
  bool takeResult(Value value);
  bool takeAuxiliary();
  bool isInMemory(Value value) const {
    Operation *def = value.getDefiningOp();
    return !def || rules.isStored(def);
  }
  /// Records the reason, unless there is one already, and returns false.
  bool refuse(StringRef why) {
    if (reason.empty())
      reason = why;
    return false;
  }

  Value matmul;
  const LibraryEpilogueRules &rules;
  Type element;
  int64_t columns;
};

/// Returns the value after reshapes and casts to f32, if it has no other
/// readers.
Value Matcher::skipMoves(Value value) const {
  while (value.hasOneUse()) {
    Operation *user = *value.user_begin();
    auto cast = dyn_cast<CastOp>(user);
    bool widens = cast && elementOf(value) == element &&
                  cast.getType().getElementType().isF32();
    if ((!widens && !isa<ReshapeOp>(user)) || rules.isStored(user))
      break;
    value = user->getResult(0);
  }
  return value;
}

/// Returns the value in the matmul's type of which an f32 value is the cast, if
/// there is one.
Value Matcher::narrow(Value value) const {
  auto cast = value.getDefiningOp<CastOp>();
  return cast && elementOf(cast.getOperand()) == element ? cast.getOperand()
                                                         : value;
}

bool Matcher::takeBias(OpOperand &use) {
  auto broadcast = narrow(use.get()).getDefiningOp<BroadcastOp>();
  if (found.bias || !broadcast)
    return false;
  int64_t last = broadcast.getType().getRank() - 1;
  Value vector = narrow(broadcast.getOperand());
  if (broadcast.getDims() != ArrayRef(last) ||
      tensorType(vector).getShape() != ArrayRef(columns))
    return false;
  if (elementOf(vector) != element && !rules.wideBias)
    return refuse("its bias has a wider type than the matmul");
  found.bias = vector;
  found.biasUse = &use;
  return true;
}

bool Matcher::takeAddend(Value other) {
  Value tensor = skipReshapes(narrow(other));
  RankedTensorType type = tensorType(matmul);
  if (found.addend || isSplat(tensor) || elementOf(tensor) != element ||
      tensorType(tensor).getNumElements() != type.getNumElements() ||
      tensor == matmul || tensor.getDefiningOp<BroadcastOp>())
    return false;
  // A value with other readers will be in memory.
  if (!isInMemory(tensor) && tensor.hasOneUse())
    return refuse("the residual is not in memory");
  found.addend = tensor;
  return true;
}

bool Matcher::takeSummand(OpOperand &other) {
  return takeBias(other) || takeAddend(other.get());
}

/// Finds the result, stored in the matmul's type.
bool Matcher::takeResult(Value value) {
  found.activated = value;
  if (element.isF32()) {
    found.result = skipReshapes(value);
    return true;
  }
  for (Operation *user : value.getUsers())
    if (auto cast = dyn_cast<CastOp>(user);
        cast && cast.getType().getElementType() == element) {
      found.result = cast;
      return true;
    }
  return refuse("the result is not rounded to the matmul's type");
}

bool Matcher::takeRelu() {
  for (Operation *user : found.sum.getUsers()) {
    auto max = dyn_cast<MaxOp>(user);
    if (!max)
      continue;
    Value other =
        max.getLhs() == found.sum ? max.getRhs() : Value(max.getLhs());
    if (!matchPattern(other, m_AnyZeroFloat()))
      continue;
    found.activation = Activation::Relu;
    return takeResult(max);
  }
  return false;
}

/// Matches the gradient of relu: the matmul where bits are set, else 0.
bool Matcher::takeReluGrad() {
  for (Operation *user : found.sum.getUsers()) {
    auto select = dyn_cast<SelectOp>(user);
    if (!select || select.getOnTrue() != found.sum ||
        !matchPattern(select.getOnFalse(), m_AnyZeroFloat()))
      continue;
    auto signs = select.getCondition().getDefiningOp<UnpackBitsOp>();
    if (!signs || found.bias || found.addend || rules.isStored(signs) ||
        signs.getType().getShape().back() != columns)
      continue;
    Value bits = signs.getOperand();
    if (tensorType(bits).getShape().back() != countSignBytes(columns) ||
        // A kernel packs bits in order to store them.
        (!isInMemory(bits) && !bits.getDefiningOp<PackBitsOp>()))
      return refuse("the bit mask for the gradient of relu is not in memory");
    found.activation = Activation::ReluGrad;
    found.auxiliary = bits;
    return takeResult(select);
  }
  return false;
}

/// tanh GELU is x (1 + t) / 2 with t = tanh(k x + k c x^3).
bool Matcher::takesGelu(const Polynomial &computed,
                        const Polynomials &polynomials, unsigned sum) {
  const double k = std::numbers::sqrt2 * std::numbers::inv_sqrtpi, c = 0.044715;
  auto tangentOf = [&](const Polynomial &x) -> std::optional<Polynomial> {
    Polynomial argument = x * k + x.power(3) * (k * c);
    for (const Polynomials::Tangent &tangent : polynomials.getTangents())
      if (tangent.argument.isClose(argument))
        return Polynomial::variable(tangent.variable);
    return std::nullopt;
  };
  Polynomial x = Polynomial::variable(sum);
  if (std::optional<Polynomial> t = tangentOf(x);
      t && computed.isClose((x + x * *t) * 0.5)) {
    found.activation = Activation::Gelu;
    return true;
  }
  if (found.bias || found.addend)
    return false;
  for (auto [leaf, variable] : polynomials.getLeaves()) {
    Polynomial y = Polynomial::variable(variable);
    std::optional<Polynomial> t = tangentOf(y);
    if (variable == sum || !t)
      continue;
    Polynomial slope = (Polynomial(1) + *t) * 0.5 +
                       y * (Polynomial(1) + *t * *t * -1) *
                           (Polynomial(k) + y * y * (3 * k * c)) * 0.5;
    if (!computed.isClose(x * slope))
      continue;
    if (elementOf(leaf) != element ||
        tensorType(leaf).getNumElements() !=
            tensorType(found.sum).getNumElements())
      return refuse("the pre-activation of its gelu has another type or shape "
                    "than the matmul");
    if (!isInMemory(leaf))
      return refuse("the pre-activation of its gelu is not in memory");
    found.activation = Activation::GeluGrad;
    found.auxiliary = leaf;
    return true;
  }
  return false;
}

bool Matcher::takeGelu() {
  // An upper bound of the ops of gelu and its gradient in any formulation.
  constexpr size_t maxOps = 192;
  Polynomials polynomials(rules.isStored);
  unsigned sum = polynomials.getVariable(found.sum);
  llvm::SetVector<Operation *> work;
  work.insert_range(found.sum.getUsers());
  for (size_t i = 0; i < work.size() && i < maxOps; ++i) {
    Operation *op = work[i];
    if (!isa<ScalarBody>(op) || op->getNumResults() != 1 ||
        !elementOf(op->getResult(0)).isF32())
      continue;
    if (takesGelu(polynomials.of(op->getResult(0)), polynomials, sum))
      return takeResult(op->getResult(0)) && takeAuxiliary();
    work.insert_range(op->getUsers());
  }
  return false;
}

bool Matcher::takeAuxiliary() {
  if (found.activation == Activation::Gelu) {
    DenseSet<Operation *> chain = findActivation(found);
    chain.erase(found.activated.getDefiningOp());
    auto isReadElsewhere = [&](Value value) {
      return llvm::any_of(value.getUsers(), [&](Operation *user) {
        return user != found.activated.getDefiningOp() && !chain.contains(user);
      });
    };
    bool isRead = isReadElsewhere(found.sum);
    for (Operation *op : chain)
      isRead |= isReadElsewhere(op->getResult(0));
    if (!isRead)
      return true;
    found.auxiliary = found.sum;
    for (Operation *user : found.sum.getUsers())
      if (auto cast = dyn_cast<CastOp>(user);
          cast && cast.getType().getElementType() == element)
        found.auxiliary = cast;
    found.auxiliary = skipReshapes(found.auxiliary);
    // A sum without bias and residual is the matmul itself.
    if (!found.bias && !found.addend)
      found.auxiliary = skipReshapes(narrow(found.auxiliary));
    if (elementOf(found.auxiliary) != element && !rules.wideBias)
      return refuse(
          "the pre-activation of its gelu is not rounded to the matmul's type");
  }
  // The alignment that the library requires for auxiliary matrices.
  constexpr int64_t multiple = 8;
  if (columns % multiple != 0)
    return refuse(
        "the number of columns of the pre-activation is not a multiple of 8");
  return true;
}

bool Matcher::match() {
  if (!element.isF32() && element.getIntOrFloatBitWidth() != 16)
    return refuse("it is in f64");
  Value value = skipMoves(matmul);
  while (value.hasOneUse()) {
    auto add = dyn_cast<AddOp>(*value.user_begin());
    if (!add || !takeSummand(add->getOpOperand(add.getLhs() == value ? 1 : 0)))
      break;
    value = add;
    if (rules.isStored(add))
      break;
    value = skipMoves(value);
  }
  found.sum = value;
  if (rules.activations) {
    if (takeRelu() || takeReluGrad() || takeGelu())
      return true;
    found.activation = Activation::Identity;
    found.auxiliary = Value();
  }
  if (!found.bias && !found.addend)
    return refuse("no bias, residual, relu or tanh gelu follows");
  if (!takeResult(found.sum))
    return false;
  reason = "";
  return true;
}

} // namespace

int64_t ingot::countSignBytes(int64_t columns) {
  constexpr int64_t bitsOfByte = 8;
  return llvm::alignTo(columns, INGOT_SIGN_BITS) / bitsOfByte;
}

SmallVector<Value> ingot::findSigns(const LibraryEpilogue &epilogue) {
  SmallVector<Value> signs, work = {epilogue.result};
  while (!work.empty()) {
    Value value = work.pop_back_val();
    for (Operation *user : value.getUsers()) {
      auto compare = dyn_cast<CompareOp>(user);
      if (isa<ReshapeOp>(user) ||
          (isa<CastOp>(user) && elementOf(user->getResult(0)).isF32()))
        work.push_back(user->getResult(0));
      else if (compare && compare.getPredicate() == Predicate::GT &&
               compare.getLhs() == value &&
               matchPattern(compare.getRhs(), m_AnyZeroFloat()))
        signs.push_back(compare);
    }
  }
  return signs;
}

DenseSet<Operation *> ingot::findActivation(const LibraryEpilogue &epilogue) {
  DenseSet<Operation *> after, chain;
  SmallVector<Operation *> work(epilogue.sum.getUsers());
  Operation *last = epilogue.activated.getDefiningOp();
  Block *block = last->getBlock();
  while (!work.empty()) {
    Operation *op = work.pop_back_val();
    if (op->getBlock() != block || last->isBeforeInBlock(op) ||
        !after.insert(op).second)
      continue;
    work.append(op->user_begin(), op->user_end());
  }
  work.push_back(last);
  while (!work.empty()) {
    Operation *op = work.pop_back_val();
    if (!after.contains(op) || !chain.insert(op).second)
      continue;
    for (Value operand : op->getOperands())
      if (Operation *def = operand.getDefiningOp())
        work.push_back(def);
  }
  return chain;
}

std::optional<LibraryEpilogue>
ingot::matchLibraryEpilogue(Operation *call, const LibraryEpilogueRules &rules,
                            StringRef &reason) {
  if (!isa<MatmulOp, ScaledMatmulOp>(call)) {
    reason = "only matmuls have library epilogues";
    return std::nullopt;
  }
  bool isNarrow = isa<ScaledMatmulOp>(call);
  // With an f32 result, the library takes biases in bf16 (cuBLAS 13,
  // "cublasLtMatmul()").
  if (isNarrow && elementOf(call->getResult(0)).isF32()) {
    reason = "it multiplies 8-bit floats to f32";
    return std::nullopt;
  }
  Matcher matcher(call->getResult(0), rules);
  if (!matcher.match()) {
    reason = matcher.reason;
    return std::nullopt;
  }
  if (isNarrow && (matcher.found.activation == Activation::GeluGrad ||
                   matcher.found.activation == Activation::ReluGrad)) {
    reason = "the library has no gradients of activations for 8-bit floats";
    return std::nullopt;
  }
  return matcher.found;
}
