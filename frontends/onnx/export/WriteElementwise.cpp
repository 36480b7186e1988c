// SPDX-License-Identifier: Apache-2.0

// Elementwise ops.

#include "frontends/onnx/export/OpWriter.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_export;

namespace {

/// The names of operators with the same operands.
template <typename OpT> constexpr const char *kOperator = nullptr;
template <> constexpr const char *kOperator<NegOp> = "Neg";
template <> constexpr const char *kOperator<AbsOp> = "Abs";
template <> constexpr const char *kOperator<SignOp> = "Sign";
template <> constexpr const char *kOperator<FloorOp> = "Floor";
template <> constexpr const char *kOperator<CeilOp> = "Ceil";
template <> constexpr const char *kOperator<RoundOp> = "Round";
template <> constexpr const char *kOperator<ExpOp> = "Exp";
template <> constexpr const char *kOperator<LogOp> = "Log";
template <> constexpr const char *kOperator<SqrtOp> = "Sqrt";
template <> constexpr const char *kOperator<TanhOp> = "Tanh";
template <> constexpr const char *kOperator<ErfOp> = "Erf";
template <> constexpr const char *kOperator<SinOp> = "Sin";
template <> constexpr const char *kOperator<CosOp> = "Cos";
template <> constexpr const char *kOperator<LogisticOp> = "Sigmoid";
template <> constexpr const char *kOperator<NotOp> = "Not";
template <> constexpr const char *kOperator<AddOp> = "Add";
template <> constexpr const char *kOperator<SubOp> = "Sub";
template <> constexpr const char *kOperator<MulOp> = "Mul";
template <> constexpr const char *kOperator<DivOp> = "Div";
template <> constexpr const char *kOperator<MaxOp> = "Max";
template <> constexpr const char *kOperator<MinOp> = "Min";
template <> constexpr const char *kOperator<PowOp> = "Pow";
template <> constexpr const char *kOperator<AndOp> = "And";
template <> constexpr const char *kOperator<OrOp> = "Or";
template <> constexpr const char *kOperator<XorOp> = "Xor";
template <> constexpr const char *kOperator<SelectOp> = "Where";

std::vector<std::string> operands(OpWriter &writer, Operation *op) {
  std::vector<std::string> names;
  for (Value operand : op->getOperands())
    names.push_back(writer.get(operand));
  return names;
}

template <typename OpT>
LogicalResult writeSame(OpWriter &writer, Operation *op) {
  writer.set(op->getResult(0),
             writer.node(kOperator<OpT>, operands(writer, op)));
  return success();
}

LogicalResult writeRsqrt(OpWriter &writer, Operation *op) {
  writer.set(
      op->getResult(0),
      writer.node("Reciprocal", {writer.node("Sqrt", operands(writer, op))}));
  return success();
}

/// log(u) x / (u - 1) with u = 1 + x, where u differs from 1: the error of u
/// cancels.
LogicalResult writeLog1p(OpWriter &writer, Operation *op) {
  std::string x = writer.get(op->getOperand(0));
  std::string one =
      writer.scalar(tensorType(op->getOperand(0)).getElementType(), 1.0);
  std::string u = writer.node("Add", {x, one});
  std::string isOne = writer.node("Equal", {u, one});
  std::string rest = writer.node("Sub", {u, one});
  std::string divisor = writer.node("Where", {isOne, one, rest});
  std::string ratio = writer.node("Div", {x, divisor});
  std::string product = writer.node("Mul", {writer.node("Log", {u}), ratio});
  writer.set(op->getResult(0), writer.node("Where", {isOne, x, product}));
  return success();
}

LogicalResult writeRem(OpWriter &writer, Operation *op) {
  writer.set(op->getResult(0),
             writer.node("Mod", operands(writer, op), {{"fmod", 1}}));
  return success();
}

LogicalResult writeCompare(OpWriter &writer, Operation *op) {
  static constexpr const char *kComparisons[] = {
      "Equal", "Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"};
  Predicate predicate = cast<CompareOp>(op).getPredicate();
  int index = predicate == Predicate::EQ   ? 0
              : predicate == Predicate::NE ? 1
              : predicate == Predicate::LT ? 2
              : predicate == Predicate::LE ? 3
              : predicate == Predicate::GT ? 4
                                           : 5;
  std::string result = writer.node(kComparisons[index], operands(writer, op));
  writer.set(op->getResult(0), predicate == Predicate::NE
                                   ? writer.node("Not", {result})
                                   : result);
  return success();
}

LogicalResult writeCast(OpWriter &writer, Operation *op) {
  onnx::TensorProto_DataType to =
      dataType(tensorType(op->getResult(0)).getElementType());
  if (to == onnx::TensorProto::UNDEFINED)
    return failure();
  writer.set(op->getResult(0),
             writer.node("Cast", operands(writer, op), {{"to", to}}));
  return success();
}

LogicalResult writeBarrier(OpWriter &writer, Operation *op) {
  for (auto [operand, result] :
       llvm::zip_equal(op->getOperands(), op->getResults()))
    writer.set(result, writer.get(operand));
  return success();
}

template <typename... Ops> void addSame(WriterRegistry &registry) {
  (registry.add<Ops>(writeSame<Ops>), ...);
}

} // namespace

void onnx_export::registerElementwiseWriters(WriterRegistry &registry) {
  addSame<NegOp, AbsOp, SignOp, FloorOp, CeilOp, RoundOp, ExpOp, LogOp, SqrtOp,
          TanhOp, ErfOp, SinOp, CosOp, LogisticOp, NotOp, AddOp, SubOp, MulOp,
          DivOp, MaxOp, MinOp, PowOp, AndOp, OrOp, XorOp, SelectOp>(registry);
  registry.add<RsqrtOp>(writeRsqrt);
  registry.add<Log1pOp>(writeLog1p);
  registry.add<RemOp>(writeRem);
  registry.add<CompareOp>(writeCompare);
  registry.add<CastOp>(writeCast);
  registry.add<BarrierOp>(writeBarrier);
}
