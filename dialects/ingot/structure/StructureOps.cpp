// SPDX-License-Identifier: Apache-2.0

#include "dialects/ingot/analysis/RowSpace.h"
#include "dialects/ingot/analysis/TileSpace.h"
#include "dialects/ingot/exchange/Mesh.h"
#include "dialects/ingot/ir/Dialect.h"
#include "dialects/ingot/partition/Partition.h"
#include "dialects/ingot/support/Verification.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace ingot;

//===----------------------------------------------------------------------===//
// shard, gathered
//===----------------------------------------------------------------------===//

LogicalResult ShardAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                int64_t first, int64_t of) {
  if (first < 0 || first > of)
    return emitError() << "is no place in a bucket: element " << first << " of "
                       << of;
  return success();
}

LogicalResult GatheredAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   int64_t bucket, int64_t first, int64_t of) {
  if (bucket < 0)
    return emitError() << "is no number of a bucket: " << bucket;
  return ShardAttr::verify(emitError, first, of);
}

//===----------------------------------------------------------------------===//
// state
//===----------------------------------------------------------------------===//

LogicalResult StateOp::verify() {
  RankedTensorType type = getTensorType();
  auto fail = [&](const Twine &message) { return emitOpError(message); };
  if (failed(ingot::detail::checkType(fail, "C1", "the initial value",
                                      getWholeType(), getInitial().getType())))
    return failure();
  if (getWhole()) {
    Attribute partition = (*this)->getAttr(kPartitionAttr);
    Mesh mesh = Mesh::of(*this);
    if (!partition ||
        !Partition::check(partition, getWholeType(), mesh).empty() ||
        Partition::get(partition, getWholeType(), mesh).getLocalType() != type)
      return emitOpError("C11: a part of ")
             << getWholeType() << " must have the partition that makes it, got "
             << type;
  }

  Type element = type.getElementType();
  if (ShardAttr shard = getShardAttr();
      shard && (!shard.holds(type.getNumElements()) ||
                !(isa<FloatType>(element) || element.isUnsignedInteger(8))))
    return emitOpError("C6: a sharded state must be floating point, or codes, "
                       "and lie within its bucket");
  if (GatheredAttr gathered = getGatheredAttr();
      gathered && (!gathered.getShard().holds(type.getNumElements()) ||
                   getRole() != Role::Parameter || getShard()))
    return emitOpError("C7: a gathered state must be an unsharded parameter "
                       "and lie within its bucket");
  if (ArrayAttr halves = getHalvesAttr();
      halves &&
      (getRole() != Role::Parameter || !element.isF32() || halves.size() != 2))
    return emitOpError("C8: a state that is split into halves must be an f32 "
                       "parameter and name both halves");
  switch (getRole()) {
  case Role::Moment:
    if (!isa<FloatType>(element) && !element.isUnsignedInteger(8))
      return emitOpError("C2: a moment must be floating point or ui8, got ")
             << type;
    return success();
  case Role::Parameter:
  case Role::Residual:
  case Role::Basis:
  case Role::Magnitudes:
    if (!isa<FloatType>(element))
      return emitOpError("C2: a ") << stringifyRole(getRole())
                                   << " must be floating point, got " << type;
    return success();
  case Role::Step:
  case Role::Seed:
    if (!element.isSignlessInteger(64) || type.getRank() != 0)
      return emitOpError("C3: a ") << stringifyRole(getRole())
                                   << " must be tensor<i64>, got " << type;
    return success();
  case Role::Coordinates:
    if (type != getCoordinatesType(getContext()))
      return emitOpError("C10: coordinates must be ")
             << getCoordinatesType(getContext()) << ", got " << type;
    return success();
  case Role::LossScale:
    if (type.getRank() > 1)
      return emitOpError("C4: a loss_scale must be a scalar or a vector, got ")
             << type;
    return success();
  case Role::LowCopy:
    if (!isa<FloatType>(element) || !getOf())
      return emitOpError("C5: a low_copy must be floating point and name the "
                         "state that it copies");
    return success();
  case Role::LowerHalf:
    if (!element.isSignlessInteger(16) || !getOf())
      return emitOpError("C9: a lower_half must have i16 elements and name the "
                         "parameter that it is a half of");
    return success();
  case Role::Accumulator:
  case Role::Frozen:
  case Role::Running:
    return success();
  }
  llvm_unreachable("unknown role");
}

//===----------------------------------------------------------------------===//
// barrier
//===----------------------------------------------------------------------===//

void BarrierOp::build(OpBuilder &, OperationState &state, ValueRange operands) {
  state.addOperands(operands);
  state.addTypes(operands.getTypes());
}

LogicalResult BarrierOp::verify() {
  if (getOperandTypes() != getResultTypes())
    return emitOpError("C1: results must have the operands' types, want ")
           << getOperandTypes() << ", got " << getResultTypes();
  return success();
}

//===----------------------------------------------------------------------===//
// fusion
//===----------------------------------------------------------------------===//

/// Ops of `loop` and `reduction` fusions are computed element by element.
static LogicalResult verifyElementwiseBody(FusionOp fusion) {
  for (Operation &op : fusion.getBody().front().without_terminator()) {
    if (!isa<ScalarBody>(op))
      return op.emitOpError("C4: has no scalar body, so that a ")
             << stringifyFusionKind(fusion.getKind())
             << " fusion cannot hold it";
    if (auto constant = dyn_cast<ConstantOp>(op))
      if (!isa<SplatElementsAttr>(constant.getValue()))
        return op.emitOpError("C5: a constant within a fusion must be a splat");
  }
  return success();
}

static LogicalResult verifyLoop(FusionOp fusion) {
  auto first = cast<RankedTensorType>(fusion.getResultTypes().front());
  for (auto [i, type] : llvm::enumerate(fusion.getResultTypes()))
    if (cast<RankedTensorType>(type).getShape() != first.getShape())
      return fusion.emitOpError("C6: results of a loop fusion must have one "
                                "shape, want that of ")
             << first << ", got " << type << " for result " << i;
  return verifyElementwiseBody(fusion);
}

static LogicalResult verifyReduction(FusionOp fusion) {
  Operation *first = nullptr;
  Operation *yield = fusion.getBody().front().getTerminator();
  for (auto [i, value] : llvm::enumerate(yield->getOperands())) {
    Operation *op = value.getDefiningOp();
    auto reduction = dyn_cast_or_null<Reduction>(op);
    if (!reduction)
      return fusion.emitOpError("C7: a reduction fusion must yield reductions, "
                                "but value ")
             << i << " is none";
    if (!first)
      first = op;
    auto space = cast<RankedTensorType>(op->getOperand(0).getType());
    auto want = cast<RankedTensorType>(first->getOperand(0).getType());
    ArrayRef<int64_t> dims = reduction.getReducedDims();
    ArrayRef<int64_t> wantDims = cast<Reduction>(first).getReducedDims();
    if (space.getShape() != want.getShape() || dims != wantDims)
      return fusion.emitOpError("C8: the reductions must fold one iteration "
                                "space, want ")
             << ingot::detail::listText(want.getShape()) << " over "
             << ingot::detail::listText(wantDims) << ", got "
             << ingot::detail::listText(space.getShape()) << " over "
             << ingot::detail::listText(dims) << " for value " << i;
  }
  return verifyElementwiseBody(fusion);
}

static LogicalResult verifyRow(FusionOp fusion) {
  if (failed(verifyElementwiseBody(fusion)))
    return failure();
  SmallVector<Operation *> ops = llvm::to_vector_of<Operation *>(
      llvm::make_pointer_range(fusion.getBody().front().without_terminator()));
  std::optional<RowSpace> space = RowSpace::of(ops);
  if (!space)
    return fusion.emitOpError("C11: a row fusion must hold a reduction over "
                              "whole rows");
  Operation *yield = fusion.getBody().front().getTerminator();
  RowReads reads(*space, ops, llvm::to_vector(yield->getOperands()),
                 /*given=*/nullptr, /*sumsRows=*/true);
  if (Operation *culprit = reads.getConflict())
    return culprit->emitOpError("C12: is not computed row by row, in rows of ")
           << space->length << " elements";
  return success();
}

Operation *FusionOp::getAnchor() {
  if (getKind() == FusionKind::Epilogue)
    for (Operation &op : getBody().front())
      if (isa<EpilogueAnchor>(op))
        return &op;
  return nullptr;
}

std::optional<unsigned> FusionOp::getAnchorResult() {
  Value product = getAnchor()->getResult(0);
  auto want = cast<RankedTensorType>(product.getType());
  std::optional<unsigned> found;
  Operation *yield = getBody().front().getTerminator();
  for (auto [i, value] : llvm::enumerate(yield->getOperands())) {
    auto type = cast<RankedTensorType>(value.getType());
    if (value == product)
      return i;
    if (!found && type.getElementType() == want.getElementType() &&
        type.getNumElements() == want.getNumElements())
      found = i;
  }
  return found;
}

SmallVector<Operation *> FusionOp::getExtraOps() {
  LibraryEpilogueAttr library = getLibraryAttr();
  std::optional<int64_t> extra = library ? library.getBiasGrad() : std::nullopt;
  if (!extra)
    return {};
  Block &body = getBody().front();
  llvm::DenseSet<Value> others;
  for (OpOperand &yielded : body.getTerminator()->getOpOperands())
    if (yielded.getOperandNumber() != *extra)
      others.insert(yielded.get());
  llvm::DenseSet<Operation *> needed;
  if (Operation *def = body.getTerminator()->getOperand(*extra).getDefiningOp())
    needed.insert(def);
  SmallVector<Operation *> ops;
  for (Operation &op : llvm::reverse(body)) {
    if (!needed.contains(&op))
      continue;
    ops.insert(ops.begin(), &op);
    for (Value operand : op.getOperands())
      if (Operation *def = operand.getDefiningOp();
          def && !others.contains(operand))
        needed.insert(def);
  }
  return ops;
}

/// Returns the ops that results other than the extra one depend on.
static SmallVector<Operation *> findElementwiseOps(FusionOp fusion,
                                                   ArrayRef<Value> results) {
  llvm::DenseSet<Operation *> needed = {fusion.getAnchor()};
  for (Value result : results)
    needed.insert(result.getDefiningOp());
  SmallVector<Operation *> ops;
  for (Operation &op : llvm::reverse(fusion.getBody().front())) {
    if (!needed.contains(&op))
      continue;
    ops.insert(ops.begin(), &op);
    for (Value operand : op.getOperands())
      needed.insert(operand.getDefiningOp());
  }
  return ops;
}

static LogicalResult verifyLibrary(FusionOp fusion,
                                   LibraryEpilogueAttr library) {
  auto isNumber = [](std::optional<int64_t> number, size_t count) {
    return !number || (*number >= 0 && *number < static_cast<int64_t>(count));
  };
  bool readsAuxiliary = library.readsAuxiliary();
  size_t inputs = fusion.getInputs().size(), results = fusion.getNumResults();
  if (!isNumber(library.getBias(), inputs) ||
      !isNumber(library.getAddend(), inputs) ||
      !isNumber(library.getAuxiliary(), readsAuxiliary ? inputs : results) ||
      !isNumber(library.getResult(), results) ||
      !isNumber(library.getBiasGrad(), results) ||
      (readsAuxiliary && !library.getAuxiliary()))
    return fusion.emitOpError("C19: `library` must name inputs and results");
  std::optional<int64_t> sum = library.getBiasGrad();
  Operation *yield = fusion.getBody().front().getTerminator();
  if (sum &&
      !isa_and_nonnull<Reduction>(yield->getOperand(*sum).getDefiningOp()))
    return fusion.emitOpError("C20: `bias_grad` must be a sum");
  if (llvm::is_contained(fusion.getExtraOps(), fusion.getAnchor()))
    return fusion.emitOpError("C20: a result with its own order must be "
                              "computed from inputs and other results");
  return success();
}

static LogicalResult verifyEpilogue(FusionOp fusion) {
  if (failed(verifyElementwiseBody(fusion)))
    return failure();
  SmallVector<Operation *> ops = llvm::to_vector_of<Operation *>(
      llvm::make_pointer_range(fusion.getBody().front().without_terminator()));
  Operation *anchor = fusion.getAnchor();
  if (llvm::count_if(ops, llvm::IsaPred<EpilogueAnchor>) != 1)
    return fusion.emitOpError("C13: an epilogue fusion must contain one "
                              "library call that supports an epilogue");
  if (!llvm::all_of(anchor->getOperands(), llvm::IsaPred<BlockArgument>))
    return anchor->emitOpError("C14: must take operands of the fusion");
  LibraryEpilogueAttr library = fusion.getLibraryAttr();
  if (library && failed(verifyLibrary(fusion, library)))
    return failure();
  RowSpace space = RowSpace::ofResult(anchor);
  SmallVector<Value> results =
      llvm::to_vector(fusion.getBody().front().getTerminator()->getOperands());
  if (std::optional<int64_t> extra =
          library ? library.getBiasGrad() : std::nullopt) {
    results.erase(results.begin() + *extra);
    ops = findElementwiseOps(fusion, results);
  }
  RowReads reads(space, ops, results, anchor);
  if (Operation *culprit = reads.getConflict())
    return culprit->emitOpError(
        "C15: does not read the library call's result at the current element");
  if (!fusion.getAnchorResult())
    return fusion.emitOpError(
        "C16: no result has the element type of the library call's result");
  return success();
}

static LogicalResult verifyCustom(FusionOp fusion) {
  auto ops = fusion.getBody().front().without_terminator();
  if (!llvm::hasSingleElement(ops) || !isa<KernelBody>(*ops.begin()))
    return fusion.emitOpError("C9: a custom fusion must hold one op, with a "
                              "kernel body, got ")
           << std::distance(ops.begin(), ops.end()) << " ops";
  Operation &op = *ops.begin();
  llvm::SetVector<Value> operands(op.operand_begin(), op.operand_end());
  if (!llvm::equal(operands, fusion.getBody().getArguments()) ||
      op.getResults() !=
          fusion.getBody().front().getTerminator()->getOperands())
    return fusion.emitOpError("C10: the op of a custom fusion must take the "
                              "arguments and give the results in order");
  return success();
}

static LogicalResult verifyGroup(FusionOp fusion) {
  SmallVector<Value> results;
  for (Operation &op : fusion.getBody().front().without_terminator()) {
    auto part = dyn_cast<FusionOp>(op);
    if (!part || part.getKind() != FusionKind::Loop ||
        !llvm::all_of(part.getInputs(), llvm::IsaPred<BlockArgument>))
      return op.emitOpError("C17: a group fusion must contain loop fusions "
                            "whose operands are operands of the group");
    llvm::append_range(results, part.getResults());
  }
  Operation *yield = fusion.getBody().front().getTerminator();
  if (llvm::to_vector(yield->getOperands()) != results)
    return fusion.emitOpError("C18: a group fusion must yield the results of "
                              "its loops in order");
  return success();
}

static LogicalResult verifyTile(FusionOp fusion) {
  if (failed(verifyElementwiseBody(fusion)))
    return failure();
  SmallVector<Operation *> ops = llvm::to_vector_of<Operation *>(
      llvm::make_pointer_range(fusion.getBody().front().without_terminator()));
  SmallVector<Operation *> roots;
  for (Value value : fusion.getBody().front().getTerminator()->getOperands()) {
    if (!value.getDefiningOp())
      return fusion.emitOpError("C21: a tile fusion must compute its results");
    roots.push_back(value.getDefiningOp());
  }
  std::optional<TileSpace> space = TileSpace::of(roots);
  if (!space)
    return fusion.emitOpError("C21: results of a tile fusion must be the "
                              "elements of one matrix, one of them with rows "
                              "and columns exchanged, or reductions of tiles");
  if (Operation *culprit = findTileConflict(*space, ops, roots))
    return culprit->emitOpError("C22: is not computed tile by tile, in tiles "
                                "of ")
           << space->rows << " x " << space->columns;
  return success();
}

LogicalResult FusionOp::verifyRegions() {
  if (getLibrary() && getKind() != FusionKind::Epilogue)
    return emitOpError("C19: only an epilogue fusion has `library`");
  if (getBody().getArgumentTypes() != getInputs().getTypes())
    return emitOpError("C1: the body's arguments must be the inputs, want ")
           << getInputs().getTypes() << ", got "
           << getBody().getArgumentTypes();
  auto yield = dyn_cast<YieldOp>(getBody().front().getTerminator());
  if (!yield)
    return emitOpError("C2: the body must end in ingot.yield");
  if (yield.getValues().getTypes() != getResultTypes())
    return emitOpError("C2: the body must yield the results, want ")
           << getResultTypes() << ", got " << yield.getValues().getTypes();
  if (getNumResults() == 0)
    return emitOpError("C3: must have a result");
  switch (getKind()) {
  case FusionKind::Loop:
    return verifyLoop(*this);
  case FusionKind::Reduction:
    return verifyReduction(*this);
  case FusionKind::Custom:
    return verifyCustom(*this);
  case FusionKind::Row:
    return verifyRow(*this);
  case FusionKind::Epilogue:
    return verifyEpilogue(*this);
  case FusionKind::Group:
    return verifyGroup(*this);
  case FusionKind::Tile:
    return verifyTile(*this);
  }
  llvm_unreachable("unknown fusion kind");
}
