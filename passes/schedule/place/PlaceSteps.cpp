// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// PlaceSteps: emits `exec` steps with the memory offsets of BufferPlan.
//===----------------------------------------------------------------------===//

#include "dialects/exec/Exec.h"
#include "dialects/ingot/analysis/Shards.h"
#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/collective/BucketLayout.h"
#include "dialects/ingot/exchange/Mesh.h"
#include "dialects/ingot/ir/Diagnostics.h"
#include "dialects/ingot/ir/InputAttributes.h"
#include "dialects/ingot/ir/Signature.h"
#include "dialects/ingot/support/Remarks.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "passes/cost/Cost.h"
#include "passes/schedule/Passes.h"
#include "passes/schedule/arena/StatePlaces.h"
#include "passes/schedule/graph/LibraryCalls.h"
#include "passes/schedule/place/SideCalls.h"
#include "passes/schedule/place/StepKernels.h"
#include "passes/schedule/place/StepParts.h"
#include "runtime/abi/Abi.h"
#include "runtime/abi/Shard.h"
#include "llvm/ADT/ScopeExit.h"
#include <map>
#include <utility>

namespace ingot {
#define GEN_PASS_DEF_PLACESTEPS
#include "passes/schedule/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

static_assert(BucketLayout::kShardElements == INGOT_SHARD_ELEMENTS &&
              BucketLayout::kShardBlock == runtime::kShardBlock);
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

/// Returns whether the results have no elements: there is nothing to compute.
bool isEmpty(Operation &op) {
  return llvm::all_of(op.getResultTypes(), [](Type type) {
    return cast<RankedTensorType>(type).getNumElements() == 0;
  });
}

bool isStart(BucketEnd end) { return end.getBucket().getDefiningOp() == end; }

struct PlaceSteps : ingot::impl::PlaceStepsBase<PlaceSteps> {
  using PlaceStepsBase::PlaceStepsBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    target = Target::of(module);
    kernels.emplace(module);
    placeStates();
    // The bodies of loops are placed with the functions that execute them.
    llvm::DenseSet<Attribute> bodies;
    module.walk([&](RepeatOp loop) { bodies.insert(loop.getBodyAttr()); });
    SmallVector<func::FuncOp> functions;
    for (auto func :
         llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
      if (func.isDeclaration())
        continue;
      if (failed(check(func)))
        return signalPassFailure();
      if (!bodies.contains(FlatSymbolRefAttr::get(func.getSymNameAttr())))
        functions.push_back(func);
    }
    // Buckets of states have the same number in all functions, after those of
    // gradients.
    for (func::FuncOp func : functions)
      firstGather = std::max<int64_t>(
          firstGather, llvm::count_if(func.getOps<BucketEnd>(), isStart));
    for (func::FuncOp func : functions)
      if (failed(place(func)))
        return signalPassFailure();
    for (Attribute body : bodies)
      module.lookupSymbol(cast<FlatSymbolRefAttr>(body).getAttr())->erase();
    numKernels += kernels->count();
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
      if (!isa<FusionOp, RepeatOp, func::ReturnOp>(op) &&
          !isa<LibraryCall>(op) && !op.hasTrait<SameBytes>())
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
    if (states->mappedBytes != 0)
      getOperation()->setAttr(exec::kMappedBytesAttr,
                              builder.getI64IntegerAttr(states->mappedBytes));
  }

  /// Builds the step next to the function, then erases the function.
  LogicalResult place(func::FuncOp func) {
    Signature signature(func);
    FailureOr<Shards> found = Shards::of(func);
    if (failed(found))
      return failure();
    shards = std::move(*found);
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

    const StepParts parts(signature);
    Block &body = step.getBody().front();
    // The buckets of states in order.
    std::map<int64_t, Location> started;
    // The number of calls before each instant of the plan.
    SmallVector<int64_t> callsBefore;
    int64_t calls = 0;
    const SideCalls sides(plan.getSideRegions());
    int64_t left = -1;
    auto leave = [&](Location loc) {
      auto instant = static_cast<int64_t>(callsBefore.size());
      if (instant != std::exchange(left, instant))
        calls += sides.leave(instant, loc, builder);
    };
    for (Operation &op : func.getBody().front().without_terminator()) {
      if (auto wait = dyn_cast<StateGatherWaitOp>(op)) {
        // It is a call of its own, behind the region in front of it.
        leave(wait.getLoc());
        createGather("ingot_all_gather_wait", wait.getLoc(), wait.getBucket(),
                     builder);
        ++calls;
      }
      if (auto start = dyn_cast<StateGatherStartOp>(op))
        started.insert({start.getBucket(), start.getLoc()});
      if (op.hasTrait<SameBytes>())
        continue;
      auto instant = static_cast<int64_t>(callsBefore.size());
      leave(op.getLoc());
      callsBefore.push_back(calls);
      calls += sides.enter(instant, op.getLoc(), builder);
      if (isEmpty(op))
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
      calls += createCalls(op, plan, builder);
    }
    leave(func.getLoc());
    callsBefore.push_back(calls);
    calls += createCopies(plan.getFinalCopies(), builder);
    for (auto [number, loc] : started) {
      createGather("ingot_all_gather_start", loc, number, builder);
      ++calls;
    }
    numLaunches += calls;
    describeIntervals(step, plan, callsBefore, calls);
    func.erase();
    return success();
  }

  static Value createBuffer(OpBuilder &builder, Location loc, Type tensor,
                            const Place &at) {
    auto buffer = exec::BufferOp::create(builder, loc, bufferType(tensor),
                                         at.space, at.offset);
    if (llvm::any_of(at.strides, [](int64_t stride) { return stride != 0; }))
      buffer.setStrides(at.strides);
    return buffer;
  }

  /// Emits an operation that is no end of a bucket; returns the number of
  /// calls.
  int64_t createCalls(Operation &op, const BufferPlan &plan,
                      OpBuilder &builder) {
    if (auto loop = dyn_cast<RepeatOp>(op))
      return repeat(loop, plan, builder);
    auto buffer = [&](Value value) {
      return createBuffer(builder, value.getLoc(), value.getType(),
                          plan.getPlace(value));
    };
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
      kernels->callWithEpilogue(fusion, inputs, outputs,
                                createScratch(builder, op.getLoc(), scratch),
                                cost.flops, *target, builder);
    else
      createLibraryCall(cast<LibraryCall>(op),
                        describeCall(cast<LibraryCall>(op), *target), inputs,
                        outputs, scratch, builder);
    return 1;
  }

  int64_t createCopies(ArrayRef<StepCopy> copies, OpBuilder &builder) {
    for (const StepCopy &copy : copies) {
      Location loc = copy.value.getLoc();
      Value from = createBuffer(builder, loc, copy.value.getType(), copy.from);
      Value to = createBuffer(builder, loc, copy.value.getType(), copy.to);
      createCopy(builder, loc, from, to, shards.lookup(copy.value));
      ++numCopied;
    }
    return copies.size();
  }

  /// Emits a loop; returns the number of calls, counting those of the body
  /// once. The memory that carries a value is that of the result. The body's
  /// own memory is the scratch memory of the loop.
  int64_t repeat(RepeatOp loop, const BufferPlan &plan, OpBuilder &builder) {
    Location loc = loop.getLoc();
    int64_t calls = 0;
    DenseMap<Attribute, Place> places = states->places;
    auto name = [&](StringRef kind, size_t number) {
      return FlatSymbolRefAttr::get(&getContext(),
                                    (kind + Twine(number)).str());
    };
    for (auto [i, operand] : llvm::enumerate(loop.getInitial())) {
      Place from = plan.getPlace(operand),
            to = plan.getPlace(loop.getResult(i));
      places[name("carried", i)] = to;
      if (from == to || tensorType(operand).getNumElements() == 0)
        continue;
      createCopy(
          builder, loc, createBuffer(builder, loc, operand.getType(), from),
          createBuffer(builder, loc, operand.getType(), to), ShardAttr());
      ++calls;
    }
    auto count = static_cast<int64_t>(loop.getCount());
    int64_t depth = 0;
    for (Operation *op = builder.getBlock()->getParentOp();
         isa<exec::RepeatOp>(op); op = op->getParentOp())
      ++depth;
    auto slice = [&](Value stack) {
      Place place = plan.getPlace(stack);
      int64_t bytes = byteSize(tensorType(stack)) / count;
      place.strides.resize(depth, 0);
      place.strides.push_back(loop.getReverse() ? -bytes : bytes);
      if (loop.getReverse())
        place.offset += (count - 1) * bytes;
      return place;
    };
    for (auto [i, sequence] : llvm::enumerate(loop.getSequences()))
      places[name("slice", i)] = slice(sequence);
    for (auto [i, capture] : llvm::enumerate(loop.getCaptures()))
      places[name("capture", i)] = plan.getPlace(capture);
    for (auto [i, output] : llvm::enumerate(loop.getOutputs()))
      places[name("output", i)] = slice(output);

    auto repeated = exec::RepeatOp::create(builder, loc, count);
    OpBuilder inside = OpBuilder::atBlockEnd(&repeated.getBody().front());
    func::FuncOp body = findBody(loop);
    std::optional<Interval> memory = plan.getScratch(loop);
    BufferPlan within(Signature(body), places, *target, /*noReuse=*/false,
                      memory ? memory->offset : 0);
    calls += createCopies(within.getFirstCopies(), inside);
    for (Operation &op : body.getBody().front().without_terminator())
      if (!op.hasTrait<SameBytes>() && !isEmpty(op))
        calls += createCalls(op, within, inside);
    calls += createCopies(within.getFinalCopies(), inside);
    return calls;
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
         op = op->getNextNode())
      op->walk([&](exec::AbiCall inner) {
        call = inner;
        if (!part.empty())
          inner->setAttr(exec::kPartAttr, StringAttr::get(&getContext(), part));
      });
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
    func::FuncOp function = signature.getFunction();
    NamedAttrList indices;
    for (BlockArgument argument : function.getArguments()) {
      unsigned i = argument.getArgNumber();
      if (!signature.argumentState(i))
        inputs.push_back(
            entry(signature.argumentName(i), signature.argumentKind(i),
                  argument.getType(), plan.getPlace(argument),
                  function.getArgAttrOfType<IntegerAttr>(i, kClassesAttr)));
      NamedAttrList known;
      for (StringRef name : {kIgnoredAttr, kRowsAttr})
        if (Attribute value = function.getArgAttr(i, name))
          known.set(name, value);
      if (!known.empty())
        indices.set(signature.argumentName(i),
                    known.getDictionary(&getContext()));
    }
    for (OpOperand &result : signature.getReturn()->getOpOperands()) {
      unsigned i = result.getOperandNumber();
      if (std::optional<Place> at = plan.getOutputPlace(i))
        outputs.push_back(entry(signature.resultName(i), "output",
                                result.get().getType(), *at));
    }
    step.setInputsAttr(b.getArrayAttr(inputs));
    if (!indices.empty())
      step->setAttr(kIndicesAttr, indices.getDictionary(&getContext()));
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
      // The rank's own shard of a state is kept beside the bucket.
      if (at.space != exec::Space::Shard)
        remark::missed(part.getLoc(),
                       remarkOptions(getArgument(), "BucketCopy"))
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
    desc.axes = getAxisBits(Mesh::of(getOperation()).getShardAxis());
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
        builder, fusion.getLoc(), kernels->get(fusion, aliases), inputs,
        outputs, cost.flops, /*bytes=*/IntegerAttr(), /*extent=*/0, /*grain=*/0,
        shards.lookup(fusion.getResult(0)), scratch);
    if (cost.bytes < call.getCallBytes())
      call.setBytes(cost.bytes);
  }

  std::shared_ptr<const Target> target;
  std::optional<StatePlaces> states;
  int64_t firstGather = 0;
  /// The shards of the current function.
  Shards shards;
  DenseMap<Value, int64_t> bucketNumbers;
  std::optional<StepKernels> kernels;
};

} // namespace
