// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// PlaceSteps: emits `exec` steps with the memory offsets of BufferPlan.
//===----------------------------------------------------------------------===//

#include "dialects/exec/Exec.h"
#include "dialects/ingot/analysis/Shards.h"
#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/collective/BucketLayout.h"
#include "dialects/ingot/ir/Diagnostics.h"
#include "dialects/ingot/ir/Signature.h"
#include "dialects/ingot/support/Remarks.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/AsmState.h"
#include "passes/cost/Cost.h"
#include "passes/schedule/LibraryCalls.h"
#include "passes/schedule/Passes.h"
#include "passes/schedule/arena/StatePlaces.h"
#include "passes/schedule/place/SideCalls.h"
#include "passes/schedule/place/StepParts.h"
#include "runtime/abi/Abi.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringMap.h"
#include <map>
#include <utility>

namespace ingot {
#define GEN_PASS_DEF_PLACESTEPS
#include "passes/schedule/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

static_assert(BucketLayout::kShardElements == INGOT_SHARD_ELEMENTS);
static_assert(static_cast<int>(Activation::Identity) == INGOT_IDENTITY &&
              static_cast<int>(Activation::Relu) == INGOT_RELU &&
              static_cast<int>(Activation::Gelu) == INGOT_GELU &&
              static_cast<int>(Activation::GeluGrad) == INGOT_GELU_GRAD &&
              static_cast<int>(Activation::ReluGrad) == INGOT_RELU_GRAD);
static_assert(static_cast<int>(Summed::Lhs) == INGOT_SUM_OF_A &&
              static_cast<int>(Summed::Rhs) == INGOT_SUM_OF_B &&
              static_cast<int>(Summed::Result) == INGOT_SUM_OF_RESULT);

/// The names that live memory has at most: a kernel may compute hundreds of
/// results of hundreds of nodes, and each would name them all.
static constexpr size_t kMostNodes = 16;

namespace {

MemRefType bufferType(Type tensor) {
  auto type = cast<RankedTensorType>(tensor);
  return MemRefType::get(type.getShape(), type.getElementType());
}

bool isStart(BucketEnd end) { return end.getBucket().getDefiningOp() == end; }

struct PlaceSteps : ingot::impl::PlaceStepsBase<PlaceSteps> {
  using PlaceStepsBase::PlaceStepsBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<func::FuncOp> functions;
    for (auto func : module.getOps<func::FuncOp>())
      if (!func.isDeclaration())
        functions.push_back(func);
    placeStates();
    for (func::FuncOp func : functions)
      if (failed(check(func)))
        return signalPassFailure();
    // Buckets of states have the same number in all functions, after those of
    // gradients.
    for (func::FuncOp func : functions)
      firstGather = std::max<int64_t>(
          firstGather, llvm::count_if(func.getOps<BucketEnd>(), isStart));
    for (func::FuncOp func : functions)
      if (failed(place(func)))
        return signalPassFailure();
  }

  LogicalResult check(func::FuncOp func) {
    auto inBucket = [&](auto op) -> LogicalResult {
      if (states->gathers.contains(static_cast<int64_t>(op.getBucket())))
        return success();
      return op.emitOpError("no state belongs to the bucket ")
             << op.getBucket();
    };
    for (auto wait : func.getOps<StateGatherWaitOp>())
      if (failed(inBucket(wait)))
        return failure();
    for (auto start : func.getOps<StateGatherStartOp>())
      if (failed(inBucket(start)))
        return failure();
    if (failed(SideCalls::check(func)))
      return failure();
    for (Operation &op : func.getBody().front())
      if (!isa<FusionOp, func::ReturnOp>(op) && !isa<LibraryCall>(op) &&
          !op.hasTrait<SameBytes>())
        return op.emitOpError("is neither in a fusion nor a library call: run "
                              "--ingot-form-fusions and "
                              "--ingot-outline-constants first");
    return success();
  }

  void placeStates() {
    Builder builder(&getContext());
    states.emplace(getOperation());
    for (auto state : getOperation().getOps<StateOp>()) {
      auto found =
          states->places.find(FlatSymbolRefAttr::get(state.getSymNameAttr()));
      if (found != states->places.end())
        state->setAttr(exec::kOffsetAttr,
                       builder.getI64IntegerAttr(found->second.offset));
    }
    getOperation()->setAttr(exec::kStateBytesAttr,
                            builder.getI64IntegerAttr(states->getBytes()));
  }

  /// Builds the step next to the function, then erases the function.
  LogicalResult place(func::FuncOp func) {
    Signature signature(func);
    FailureOr<Shards> found = Shards::of(func);
    if (failed(found))
      return failure();
    shards = std::move(*found);
    std::unique_ptr<const Target> target = Target::of(getOperation());
    BufferPlan plan(signature, states->places, *target, noReuse);
    numInPlace += plan.getStatesInPlace();
    remark::analysis(func.getLoc(), remarkOptions(getArgument(), "Arena"))
        << remark::metric("function", func.getName())
        << remark::metric("bytes", plan.getArenaBytes())
        << remark::metric("live_bytes", plan.getUse().liveBytes);

    bucketNumbers.clear();
    OpBuilder builder(func);
    auto step = exec::StepOp::create(builder, func.getLoc(), func.getName(),
                                     plan.getArenaBytes());
    builder.setInsertionPointToStart(&step.getBody().front());
    describe(step, signature, plan, *target);

    auto buffer = [&](Value value) -> Value {
      Place at = plan.getPlace(value);
      return exec::BufferOp::create(builder, value.getLoc(),
                                    bufferType(value.getType()), at.space,
                                    at.offset);
    };
    const StepParts parts(signature);
    Block &body = step.getBody().front();
    // The buckets of states in order.
    std::map<int64_t, Location> started;
    // The number of calls before each instant of the plan.
    SmallVector<int64_t> callsBefore;
    int64_t calls = 0;
    const SideCalls sides(plan.getSideRegions());
    for (Operation &op : func.getBody().front().without_terminator()) {
      bool isEmpty = llvm::all_of(op.getResultTypes(), [](Type type) {
        return cast<RankedTensorType>(type).getNumElements() == 0;
      });
      if (auto wait = dyn_cast<StateGatherWaitOp>(op)) {
        createGather("ingot_all_gather_wait", wait.getLoc(), wait.getBucket(),
                     builder);
        ++calls;
      }
      if (auto start = dyn_cast<StateGatherStartOp>(op))
        started.insert({start.getBucket(), start.getLoc()});
      if (op.hasTrait<SameBytes>())
        continue;
      auto instant = static_cast<int64_t>(callsBefore.size());
      calls += sides.leave(instant, op.getLoc(), builder);
      callsBefore.push_back(calls);
      calls += sides.enter(instant, op.getLoc(), builder);
      if (isEmpty)
        continue;
      auto label =
          llvm::scope_exit([&, part = parts.getPart(&op),
                            gradients = describeGradients(op, parts, plan),
                            last = body.empty() ? nullptr : &body.back()] {
            labelCalls(step, last, part, gradients);
          });
      if (auto end = dyn_cast<BucketEnd>(op)) {
        calls += callBucket(end, plan, builder);
        continue;
      }
      ++calls;
      SmallVector<Value> inputs = llvm::map_to_vector(op.getOperands(), buffer);
      SmallVector<Value> outputs = llvm::map_to_vector(op.getResults(), buffer);
      auto fusion = dyn_cast<FusionOp>(op);
      Cost cost = estimateCost(&op, target->getMachine());
      auto setBound = llvm::scope_exit([&] {
        Operation *call = &*std::prev(builder.getInsertionPoint());
        call->setAttr(exec::kBoundAttr, builder.getF64FloatAttr(cost.seconds));
      });
      exec::ScratchAttr scratch = describeScratch(plan, &op);
      if (fusion && !fusion.getAnchor())
        launch(fusion, plan.getAliases(fusion), inputs, outputs, scratch, cost,
               builder);
      else if (fusion)
        callWithEpilogue(fusion, inputs, outputs,
                         createScratch(builder, op.getLoc(), scratch),
                         cost.flops, *target, builder);
      else
        createLibraryCall(cast<LibraryCall>(op),
                          describeCall(cast<LibraryCall>(op), *target), inputs,
                          outputs, scratch, builder);
    }
    calls += sides.leave(static_cast<int64_t>(callsBefore.size()),
                         func.getLoc(), builder);
    callsBefore.push_back(calls);
    for (const FinalCopy &copy : plan.getFinalCopies()) {
      Location loc = copy.value.getLoc();
      Value to =
          exec::BufferOp::create(builder, loc, bufferType(copy.value.getType()),
                                 copy.to.space, copy.to.offset);
      createCopy(builder, loc, buffer(copy.value), to,
                 shards.lookup(copy.value));
      ++calls;
      ++numCopied;
    }
    for (auto [number, loc] : started) {
      createGather("ingot_all_gather_start", loc, number, builder);
      ++calls;
    }
    numLaunches += calls;
    describeIntervals(step, plan, callsBefore, calls);
    func.erase();
    return success();
  }

  /// Returns the gradients in the arena that an operation computes.
  ArrayAttr describeGradients(Operation &op, const StepParts &parts,
                              const BufferPlan &plan) {
    SmallVector<Attribute> gradients;
    for (const StepParts::Gradient &gradient : parts.getGradients()) {
      if (gradient.value.getDefiningOp() != &op)
        continue;
      Place at = plan.getPlace(gradient.value);
      if (at.space == exec::Space::Arena)
        gradients.push_back(exec::ValueAttr::get(
            &getContext(), gradient.parameter.getValue(), "gradient",
            tensorType(gradient.value), at.offset, /*classes=*/0));
    }
    return gradients.empty() ? ArrayAttr()
                             : ArrayAttr::get(&getContext(), gradients);
  }

  /// Records on the calls after `last`, which may be null, what they are for;
  /// the gradients are complete after the last of them.
  void labelCalls(exec::StepOp step, Operation *last, StringRef part,
                  ArrayAttr gradients) {
    Block &body = step.getBody().front();
    Operation *call = nullptr;
    for (Operation *op = last ? last->getNextNode() : &body.front(); op;
         op = op->getNextNode()) {
      if (!isa<exec::AbiCall>(op))
        continue;
      call = op;
      if (!part.empty())
        op->setAttr(exec::kPartAttr, StringAttr::get(&getContext(), part));
    }
    if (call && gradients)
      call->setAttr(exec::kGradientsAttr, gradients);
  }

  /// Records the calls during which each interval of the arena is in use
  /// (offset, bytes, first and last call; after all calls for results), and its
  /// purpose.
  void describeIntervals(exec::StepOp step, const BufferPlan &plan,
                         ArrayRef<int64_t> callsBefore, int64_t calls) {
    auto end = static_cast<int64_t>(callsBefore.size()) - 1;
    SmallVector<Attribute> intervals;
    for (auto [interval, kind] :
         llvm::zip_equal(plan.getIntervals(), plan.listIntervalKinds())) {
      int64_t last =
          interval.last >= end ? calls : callsBefore[interval.last + 1] - 1;
      // Inputs are live before the waits for buckets of states.
      int64_t first =
          interval.first == 0 ? 0 : callsBefore[std::min(interval.first, end)];
      intervals.push_back(exec::IntervalAttr::get(
          &getContext(), kind, interval.offset, interval.bytes, first, last));
    }
    step.setIntervalsAttr(ArrayAttr::get(&getContext(), intervals));
  }

  /// Records the offsets of inputs and outputs, and the purposes of the memory.
  void describe(exec::StepOp step, Signature signature, const BufferPlan &plan,
                const Target &target) {
    Builder b(&getContext());
    auto entry = [&](StringRef name, StringRef kind, Type type, Place at,
                     IntegerAttr classes = {}) {
      return exec::ValueAttr::get(&getContext(), name, kind,
                                  cast<RankedTensorType>(type), at.offset,
                                  classes ? classes.getInt() : 0);
    };
    SmallVector<Attribute> inputs, outputs;
    for (BlockArgument argument : signature.getFunction().getArguments()) {
      unsigned i = argument.getArgNumber();
      if (!signature.argumentState(i))
        inputs.push_back(
            entry(signature.argumentName(i), signature.argumentKind(i),
                  argument.getType(), plan.getPlace(argument),
                  signature.getFunction().getArgAttrOfType<IntegerAttr>(
                      i, kClassesAttr)));
    }
    for (OpOperand &result : signature.getReturn()->getOpOperands()) {
      unsigned i = result.getOperandNumber();
      if (std::optional<Place> at = plan.getOutputPlace(i))
        outputs.push_back(entry(signature.resultName(i), "output",
                                result.get().getType(), *at));
    }
    step.setInputsAttr(b.getArrayAttr(inputs));
    step.setOutputsAttr(b.getArrayAttr(outputs));
    SmallVector<Attribute> live;
    auto addLive = [&](StringRef kind, ArrayRef<std::string> nodes,
                       int64_t bytes) {
      auto names = llvm::to_vector_of<StringRef>(nodes);
      live.push_back(exec::LiveAttr::get(&getContext(), kind, bytes,
                                         b.getStrArrayAttr(names)));
    };
    int64_t staging = getStagingBytes(signature, target), unlisted = staging;
    for (const LiveTensor &tensor : plan.listLive()) {
      if (tensor.bytes < unlisted)
        addLive("staging", {}, std::exchange(unlisted, 0));
      addLive(tensor.kind, nodeNames(tensor.location, kMostNodes),
              tensor.bytes);
    }
    if (unlisted != 0)
      addLive("staging", {}, unlisted);
    step.setLiveAttr(b.getArrayAttr(live));
    step.setStagingBytes(staging);
    int64_t gradients = plan.getUse().gradientBytes;
    int64_t workspace = plan.getUse().workspaceBytes;
    int64_t communication = plan.getUse().communicationBytes;
    step.setMemoryAttr(exec::MemoryAttr::get(
        &getContext(),
        /*peak=*/states->getBytes() + plan.getArenaBytes() + staging,
        states->weightBytes, states->optimizerBytes,
        states->accumulatorBytes + gradients,
        plan.getArenaBytes() - gradients - workspace - communication,
        workspace + staging, communication));
  }

  /// Emits one end of a bucket, with copies of the parts that are not in its
  /// memory; returns the number of calls.
  int64_t callBucket(BucketEnd end, const BufferPlan &plan,
                     OpBuilder &builder) {
    Location loc = end.getLoc();
    Place place = plan.getPlace(end.getBucket());
    Value bucket = exec::BufferOp::create(builder, loc,
                                          bufferType(end.getBucket().getType()),
                                          place.space, place.offset);
    const bool starts = isStart(end);
    if (starts)
      bucketNumbers[end.getBucket()] = bucketNumbers.size();
    auto call = [&] {
      createBucketCall(cast<LibraryCall>(end.getOperation()), bucket,
                       bucketNumbers.lookup(end.getBucket()),
                       describeScratch(plan, end), builder);
    };
    int64_t calls = 1,
            size = tensorType(end.getBucket()).getElementTypeBitWidth() / 8;
    if (!starts)
      call();
    BucketLayout layout = BucketLayout::of(end);
    for (auto [part, offset] :
         llvm::zip_equal(end.getParts(), layout.offsets)) {
      Place at = plan.getPlace(part);
      int64_t inBucket = place.offset + offset * size;
      MemRefType type = bufferType(part.getType());
      if (type.getNumElements() == 0 ||
          (at.space == place.space && at.offset == inBucket))
        continue;
      Value outside =
          exec::BufferOp::create(builder, loc, type, at.space, at.offset);
      Value inside =
          exec::BufferOp::create(builder, loc, type, place.space, inBucket);
      createCopy(builder, loc, starts ? outside : inside,
                 starts ? inside : outside, shards.lookup(part));
      remark::missed(part.getLoc(), remarkOptions(getArgument(), "BucketCopy"))
          << remark::reason("cannot be placed in its bucket: copied");
      ++calls;
      ++numCopied;
    }
    if (starts)
      call();
    return calls;
  }

  /// Emits one end of the all-gather of a bucket of states, which is in flight
  /// after the end of the step.
  void createGather(StringRef entry, Location loc, int64_t number,
                    OpBuilder &builder) {
    const StatePlaces::Gather &gather = states->gathers.at(number);
    Value bucket = exec::BufferOp::create(builder, loc, gather.bucket,
                                          exec::Space::State, gather.offset);
    ingot_bucket_desc desc = {};
    desc.elements = gather.bucket.getNumElements();
    desc.type = getAbiType(gather.bucket.getElementType());
    desc.number = static_cast<int32_t>(firstGather + number);
    desc.deferred = entry == "ingot_all_gather_start";
    exec::CallOp::create(builder, loc, entry, bucket, desc);
  }

  /// Returns the scratch memory of an op; null if it needs none.
  exec::ScratchAttr describeScratch(const BufferPlan &plan, Operation *op) {
    std::optional<Interval> at = plan.getScratch(op);
    return at ? exec::ScratchAttr::get(&getContext(), at->offset, at->bytes)
              : exec::ScratchAttr();
  }

  void launch(FusionOp fusion, ArrayRef<int64_t> aliases, ValueRange inputs,
              ValueRange outputs, exec::ScratchAttr scratch, const Cost &cost,
              OpBuilder &builder) {
    auto call = exec::LaunchOp::create(
        builder, fusion.getLoc(), kernel(fusion, aliases), inputs, outputs,
        cost.flops, /*bytes=*/IntegerAttr(), /*extent=*/0, /*grain=*/0,
        shards.lookup(fusion.getResult(0)), scratch);
    if (cost.bytes < call.getCallBytes())
      call.setBytes(cost.bytes);
  }

  /// The extra output of an epilogue fusion: its kernel, as a fusion of its
  /// own, and the buffers that it reads.
  struct Extra {
    FlatSymbolRefAttr name;
    SmallVector<Value> inputs;
    Value output;
  };

  /// Removes the extra output from an epilogue fusion.
  Extra takeExtra(FusionOp fusion, ValueRange inputs,
                  SmallVectorImpl<Value> &outputs) {
    SmallVector<Operation *> ops = fusion.getExtraOps();
    if (ops.empty())
      return {};
    auto number = *fusion.getLibraryAttr().getExtraResult();
    Operation *yield = fusion.getBody().front().getTerminator();
    Value result = yield->getOperand(number);
    Extra extra;
    extra.output = outputs[number];
    SetVector<Value> read;
    for (Operation *op : ops)
      for (Value operand : op->getOperands())
        if (!llvm::is_contained(ops, operand.getDefiningOp()))
          read.insert(operand);
    for (Value value : read) {
      if (auto argument = dyn_cast<BlockArgument>(value))
        extra.inputs.push_back(inputs[argument.getArgNumber()]);
      else
        extra.inputs.push_back(outputs[llvm::find(yield->getOperands(), value) -
                                       yield->getOperands().begin()]);
    }
    // The fusion is temporary, until its kernel is created.
    OpBuilder builder(fusion);
    auto part = FusionOp::create(
        builder, fusion.getLoc(), result.getType(),
        isa<Reduction>(ops.back()) ? FusionKind::Reduction : FusionKind::Loop,
        ValueRange(), /*library=*/LibraryEpilogueAttr());
    Block *body = builder.createBlock(&part.getBody());
    IRMapping within;
    for (Value value : read)
      within.map(value, body->addArgument(value.getType(), value.getLoc()));
    for (Operation *op : ops)
      builder.clone(*op, within);
    YieldOp::create(builder, fusion.getLoc(), within.lookup(result));
    extra.name = FlatSymbolRefAttr::get(
        kernel(part, SmallVector<int64_t>(read.size(), -1)));
    part.erase();
    yield->eraseOperand(number);
    outputs.erase(outputs.begin() + number);
    for (Operation *op : llvm::reverse(ops))
      if (op->use_empty())
        op->erase();
    return extra;
  }

  /// Splits an epilogue fusion into the library call and kernels for the rest;
  /// the first kernel takes the call's result as its first input.
  void callWithEpilogue(FusionOp fusion, ArrayRef<Value> inputs,
                        ValueRange results, Value scratch, int64_t flops,
                        const Target &target, OpBuilder &builder) {
    LibraryEpilogueAttr library = fusion.getLibraryAttr();
    unsigned productResult = *fusion.getAnchorResult();
    SmallVector<Value> outputs(results);
    Extra extra = takeExtra(fusion, inputs, outputs);
    Operation *anchor = fusion.getAnchor();
    Block &body = fusion.getBody().front();
    SmallVector<Value> operands, others;
    for (Value operand : anchor->getOperands())
      operands.push_back(inputs[cast<BlockArgument>(operand).getArgNumber()]);
    CallDescriptor descriptor = describeCall(cast<LibraryCall>(anchor), target);
    Value result = anchor->getResult(0);
    result.replaceAllUsesWith(
        body.insertArgument(0u, result.getType(), result.getLoc()));
    anchor->remove();
    anchor->dropAllReferences();
    int64_t product =
        llvm::find(outputs, results[productResult]) - outputs.begin();
    SmallVector<int64_t> aliases = {product};
    // The table: the matmul's result, inputs that the kernel reads, outputs,
    // and the buffers of the extra kernel.
    DenseMap<Value, int64_t> places;
    for (unsigned i = 0, e = inputs.size(); i < e; ++i) {
      if (body.getArgument(others.size() + 1).use_empty()) {
        body.eraseArgument(others.size() + 1);
        continue;
      }
      others.push_back(inputs[i]);
      places[inputs[i]] = static_cast<int64_t>(others.size());
    }
    for (auto [i, output] : llvm::enumerate(outputs))
      places[output] = 1 + static_cast<int64_t>(others.size() + i);
    if (extra.output)
      places[extra.output] =
          1 + static_cast<int64_t>(others.size() + outputs.size() +
                                   extra.inputs.size());
    aliases.append(others.size(), -1);
    FlatSymbolRefAttr finish;
    if (!llvm::all_of(body.getTerminator()->getOperands(),
                      llvm::IsaPred<BlockArgument>))
      finish = FlatSymbolRefAttr::get(kernel(fusion, aliases));
    createEpilogueCall(cast<LibraryCall>(anchor), descriptor, operands,
                       {finish, others, outputs, extra.name, extra.inputs,
                        extra.output, static_cast<unsigned>(product), flops,
                        placeEpilogue(library, inputs, results, places)},
                       scratch, builder);
    anchor->destroy();
  }

  /// Returns `library` in terms of the call's table.
  LibraryEpilogueAttr placeEpilogue(LibraryEpilogueAttr library,
                                    ValueRange inputs, ValueRange results,
                                    const DenseMap<Value, int64_t> &places) {
    if (!library)
      return {};
    auto find = [&](std::optional<int64_t> number,
                    ValueRange buffers) -> std::optional<int64_t> {
      auto place = number ? places.find(buffers[*number]) : places.end();
      return place == places.end() ? std::nullopt
                                   : std::optional(place->second);
    };
    return LibraryEpilogueAttr::get(
        &getContext(), library.getActivation(), find(library.getBias(), inputs),
        find(library.getAddend(), inputs),
        find(library.getAuxiliary(),
             library.readsAuxiliary() ? inputs : results),
        find(library.getResult(), results).value_or(-1),
        find(library.getBiasGrad(), results), library.getSummed());
  }

  /// Returns the kernel of a fusion; equal fusions share one.
  StringAttr kernel(FusionOp fusion, ArrayRef<int64_t> aliases) {
    std::string key;
    llvm::raw_string_ostream os(key);
    os << stringifyFusionKind(fusion.getKind()) << " ";
    llvm::interleaveComma(aliases, os);
    llvm::interleaveComma(fusion.getBody().getArgumentTypes(), os);
    OpPrintingFlags flags;
    // Whatever the command line prints: no locations, and every constant.
    flags.printGenericOpForm().useLocalScope().enableDebugInfo(false);
    flags.elideLargeElementsAttrs(std::numeric_limits<int64_t>::max());
    AsmState state(fusion, flags);
    for (Operation &op : fusion.getBody().front())
      op.print(os, state);
    StringAttr &name = kernels[key];
    if (name)
      return name;

    OpBuilder builder = OpBuilder::atBlockBegin(getOperation().getBody());
    name =
        builder.getStringAttr("kernel_" + std::to_string(kernels.size() - 1));
    auto kernel = exec::KernelOp::create(
        builder, fusion.getLoc(), name,
        builder.getStringAttr(stringifyFusionKind(fusion.getKind())),
        builder.getDenseI64ArrayAttr(aliases));
    kernel.getBody().takeBody(fusion.getBody());
    ++numKernels;
    return name;
  }

  std::optional<StatePlaces> states;
  int64_t firstGather = 0;
  /// The shards of the current function.
  Shards shards;
  DenseMap<Value, int64_t> bucketNumbers;
  llvm::StringMap<StringAttr> kernels;
};

} // namespace
