// SPDX-License-Identifier: Apache-2.0

#include "passes/cost/gpu/Timeline.h"

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/ir/Diagnostics.h"
#include "dialects/ingot/target/Target.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/cost/gpu/CacheModel.h"
#include "passes/cost/gpu/KernelWork.h"
#include "runtime/abi/Table.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FormatVariadic.h"

#include <limits>

using namespace mlir;
using namespace ingot;
using namespace ingot::gpu_model;

namespace {

/// Plays the calls of steps in order.
class Player {
public:
  Player(const Machine &machine, bool isOrdered)
      : model(machine), cache(machine.cacheBytes), isOrdered(isOrdered) {}

  void play(exec::StepOp step) {
    exec::forEachCall(step, [&](exec::AbiCall call, int64_t times) {
      switch (call.getAbiEntry().phase) {
      case abi::Phase::Start:
        begin(call);
        break;
      case abi::Phase::Wait:
        items.push_back({Item::ExchangeWait, 0});
        break;
      case abi::Phase::SideStart:
        isBeside = true;
        items.push_back({Item::RegionStart, regionEnds.size()});
        break;
      case abi::Phase::SideEnd:
        isBeside = false;
        regionEnds.push_back(beside.size());
        break;
      case abi::Phase::SideWait:
        items.push_back(
            {Item::RegionWait,
             firstRegion +
                 static_cast<size_t>(
                     call.getDescriptor(/*index=*/0).getInteger("number"))});
        break;
      case abi::Phase::Exchange:
      case abi::Phase::None:
        run(call, static_cast<double>(times));
      }
    });
    firstRegion = regionEnds.size();
  }

  /// Gives calls their times while they are played.
  void stateTimes() { statesTimes = true; }

  Timeline take() {
    simulate();
    return std::move(timeline);
  }

private:
  struct Place {
    int64_t begin, end;
    double bytes;
  };
  /// Returns where a buffer is, with the spaces one after the other.
  static Place findPlace(Value buffer);
  void begin(exec::AbiCall call);
  /// Plays a call, of a loop all of its calls at once.
  void run(exec::AbiCall call, double times);
  NodeTime getTime(exec::AbiCall call, Traffic &traffic);
  NodeTime launch(exec::LaunchGridOp call, Traffic &traffic);
  NodeTime multiplyTiles(exec::MatmulGridOp product, Traffic &traffic);
  /// Returns what a call moves that reads and writes its buffers once.
  Traffic moveAll(exec::AbiCall call);
  /// Adds what a call reads of a buffer; `reach` is the bytes that are read and
  /// written before the same ones are read again.
  void addRead(Value buffer, double passes, Traffic &traffic,
               double reach = std::numeric_limits<double>::max());
  void addWrite(Value buffer, Traffic &traffic);
  Node &add(exec::AbiCall call);
  void simulate();

  /// An item of the main stream, which runs them in order.
  struct Item {
    enum Kind { Run, RegionStart, RegionWait, Exchange, ExchangeWait } kind;
    /// A node or a region.
    size_t number;
  };
  SmallVector<Item> items;
  /// The nodes of the other stream, and how many there are by the end of each
  /// region.
  SmallVector<size_t> beside, regionEnds;
  /// The number of regions before those of the function that is played.
  size_t firstRegion = 0;
  bool isBeside = false, statesTimes = false;

  SymbolTableCollection tables;
  GpuModel model;
  CacheModel cache;
  bool isOrdered;
  Timeline timeline;
  /// The work of functions that were counted.
  DenseMap<Operation *, FunctionWork> counted;
};

} // namespace

static double countBytes(Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  return static_cast<double>(type.getNumElements()) *
         llvm::divideCeil(type.getElementTypeBitWidth(), 8);
}

Player::Place Player::findPlace(Value buffer) {
  auto op = buffer.getDefiningOp<exec::BufferOp>();
  // No space is as large.
  constexpr int64_t space = int64_t(1) << 50;
  int64_t begin = static_cast<int64_t>(op.getOffset()) +
                  space * static_cast<int64_t>(op.getSpace());
  double bytes = countBytes(buffer);
  return {begin, begin + static_cast<int64_t>(bytes), bytes};
}

void Player::addRead(Value buffer, double passes, Traffic &traffic,
                     double reach) {
  Place place = findPlace(buffer);
  double first = std::min(1.0, passes) * place.bytes;
  double hits = cache.countHits(place.begin, place.end);
  double inCache = place.bytes > 0 ? hits / place.bytes : 0;
  traffic.cache += passes * place.bytes;
  traffic.memory += first * (1 - inCache);
  double again = std::max(0.0, passes - 1) * place.bytes;
  // Half of the cache is left for what other blocks read further ahead.
  constexpr double kept = 0.5;
  double room = model.getMachine().cacheBytes;
  if (place.bytes > room && reach > kept * room)
    traffic.memory += again;
  cache.use(place.begin, place.end);
}

void Player::addWrite(Value buffer, Traffic &traffic) {
  Place place = findPlace(buffer);
  traffic.cache += place.bytes;
  traffic.memory += place.bytes;
  cache.use(place.begin, place.end);
}

Traffic Player::moveAll(exec::AbiCall call) {
  Traffic traffic;
  auto effects = cast<MemoryEffectOpInterface>(call.getOperation());
  // Scratch memory is small, or stays in the cache.
  SmallPtrSet<Value, 8> seen;
  for (Value buffer : call->getOperands()) {
    auto type = cast<MemRefType>(buffer.getType());
    bool isScratch = type.getRank() == 1 && type.getElementType().isInteger(8);
    if (isScratch || !buffer.getDefiningOp<exec::BufferOp>() ||
        !seen.insert(buffer).second)
      continue;
    SmallVector<MemoryEffects::EffectInstance> found;
    effects.getEffectsOnValue(buffer, found);
    for (const MemoryEffects::EffectInstance &effect : found)
      if (isa<MemoryEffects::Read>(effect.getEffect()))
        addRead(buffer, /*passes=*/1, traffic);
      else if (isa<MemoryEffects::Write>(effect.getEffect()))
        addWrite(buffer, traffic);
  }
  return traffic;
}

NodeTime Player::launch(exec::LaunchGridOp call, Traffic &traffic) {
  auto function = tables.lookupNearestSymbolFrom<gpu::GPUFuncOp>(
      call, call.getKernelAttr());
  if (!function) {
    traffic = moveAll(call);
    return model.getKernel(KernelWork(), traffic);
  }
  auto [entry, isNew] = counted.try_emplace(function);
  FunctionWork &work = entry->second;
  if (isNew)
    work = countWork(function, static_cast<int64_t>(call.getGrid()),
                     static_cast<int64_t>(call.getBlock()),
                     static_cast<int64_t>(call.getShared()));
  // Each block comes back to its own part when the blocks that run at the same
  // time have read theirs.
  double all = 0;
  llvm::SmallDenseSet<int64_t> places;
  for (ValueRange buffers : {call.getInputs(), call.getOutputs()})
    for (Value buffer : buffers)
      if (Place place = findPlace(buffer); places.insert(place.begin).second)
        all += place.bytes;
  double reach = all * model.getShareInFlight(work.kernel);
  for (auto [number, buffer] : llvm::enumerate(call.getInputs()))
    addRead(buffer, work.passes[number], traffic, reach);
  for (auto [number, buffer] : llvm::enumerate(call.getOutputs())) {
    // An input in the same memory is read through the output.
    if (double passes = work.passes[call.getInputs().size() + number];
        passes > 0)
      addRead(buffer, passes, traffic, reach);
    addWrite(buffer, traffic);
  }
  return model.getKernel(work.kernel, traffic);
}

static Attention describe(const ingot_attention_desc &desc, bool isGradient,
                          bool isOrdered) {
  Attention attention;
  attention.batch = static_cast<double>(desc.batch);
  attention.heads = static_cast<double>(desc.heads);
  attention.queries = static_cast<double>(desc.queries);
  attention.keys = static_cast<double>(desc.keys);
  attention.size = static_cast<double>(desc.size);
  attention.valueSize = static_cast<double>(desc.value_size);
  attention.isCausal = desc.right == 0;
  attention.isGradient = isGradient;
  attention.isOrdered = isGradient && isOrdered;
  attention.type = desc.type;
  return attention;
}

static Matmul describe(const ingot_matmul_desc &desc) {
  return {static_cast<double>(desc.batch),
          static_cast<double>(desc.m),
          static_cast<double>(desc.n),
          static_cast<double>(desc.k),
          desc.a_type,
          desc.math == INGOT_MATH_TF32};
}

NodeTime Player::getTime(exec::AbiCall call, Traffic &traffic) {
  auto multiply = [&](const ingot_matmul_desc &desc) {
    Matmul matmul = describe(desc);
    timeline.peak =
        std::max(timeline.peak, model.getPeak(matmul.type, matmul.isTf32));
    return model.getMatmul(matmul, traffic);
  };
  if (auto grid = dyn_cast<exec::LaunchGridOp>(call.getOperation()))
    return launch(grid, traffic);
  if (auto product = dyn_cast<exec::MatmulGridOp>(call.getOperation()))
    return multiplyTiles(product, traffic);
  traffic = moveAll(call);
  exec::Descriptor descriptor = call.getDescriptor(/*index=*/0);
  StringRef entry = call.getAbiEntry().symbol;
  std::optional<NodeTime> time;
  descriptor.match<ingot_matmul_desc, ingot_conv_desc, ingot_attention_desc>(
      [&](const auto &desc) {
        using Desc = std::decay_t<decltype(desc)>;
        if constexpr (std::is_same_v<Desc, ingot_matmul_desc>) {
          time = multiply(desc);
        } else if constexpr (std::is_same_v<Desc, ingot_conv_desc>) {
          auto part =
              entry.ends_with("input_grad")    ? ConvolutionPart::InputGradient
              : entry.ends_with("filter_grad") ? ConvolutionPart::FilterGradient
                                               : ConvolutionPart::Forward;
          time = model.getConvolution(desc, part, traffic);
          timeline.peak =
              std::max(timeline.peak,
                       model.getPeak(desc.type, desc.math == INGOT_MATH_TF32));
        } else {
          time = model.getAttention(
              describe(desc, entry.ends_with("_grad"), isOrdered), traffic);
        }
      });
  if (auto product =
          dyn_cast<exec::MatmulEpilogueGridOp>(call.getOperation())) {
    time = multiply(product.getDesc().getDescriptor().get<ingot_matmul_desc>());
  }
  return time ? *time : model.getKernel(KernelWork(), traffic);
}

/// A generated matmul: what its epilogue moves is counted apart.
NodeTime Player::multiplyTiles(exec::MatmulGridOp product, Traffic &traffic) {
  auto desc = product.getDesc().getDescriptor().get<ingot_matmul_desc>();
  Traffic operands, epilogue;
  addRead(product.getLhs(), /*passes=*/1, operands);
  addRead(product.getRhs(), /*passes=*/1, operands);
  for (Value input : product.getInputs())
    addRead(input, /*passes=*/1, epilogue);
  for (Value output : product.getOutputs())
    addWrite(output, epilogue);
  traffic = {operands.memory + epilogue.memory,
             operands.cache + epilogue.cache};
  timeline.peak =
      std::max(timeline.peak, model.getPeak(desc.a_type, /*isTf32=*/false));
  auto tile = product.getTile();
  return model.getGeneratedMatmul(
      describe(desc), static_cast<double>(tile.getM()),
      static_cast<double>(tile.getN()), operands, epilogue);
}

Node &Player::add(exec::AbiCall call) {
  Node &node = timeline.nodes.emplace_back();
  SmallVector<std::string> names = nodeNames(call->getLoc());
  node.name = names.empty() ? std::string("-") : names.back();
  node.kind = call.getAbiEntry().kind;
  return node;
}

void Player::run(exec::AbiCall call, double times) {
  Traffic traffic;
  NodeTime time = getTime(call, traffic);
  if (statesTimes)
    call->setAttr(exec::kBoundAttr,
                  Builder(call->getContext()).getF64FloatAttr(time.seconds));
  time.seconds *= times;
  time.flops *= times;
  traffic.memory *= times;
  traffic.cache *= times;
  size_t number = timeline.nodes.size();
  Node &node = add(call);
  node.time = time;
  node.traffic = traffic;
  node.isBeside = isBeside;
  timeline.flops += time.flops;
  if (isBeside)
    beside.push_back(number);
  else
    items.push_back({Item::Run, number});
}

void Player::begin(exec::AbiCall call) {
  items.push_back({Item::Exchange, timeline.nodes.size()});
  add(call).time = model.getExchange(static_cast<double>(call.getCallBytes()));
}

namespace {

/// A stream, and what is left of the node that it runs.
struct Stream {
  Node *node = nullptr;
  double launch = 0, work = 0;

  void begin(Node &next, double now) {
    node = &next;
    next.start = now;
    launch = next.time.launchSeconds;
    work = next.time.seconds - launch;
  }
  bool isWorking() const { return node && launch <= 0; }
  double getRest(double speed) const {
    return launch > 0 ? launch : work / speed;
  }
  /// Returns whether the node is done.
  bool advance(double seconds, double speed, double now) {
    // What is left of rounding.
    constexpr double negligible = 1e-13;
    double &rest = launch > 0 ? launch : work;
    rest -= launch > 0 ? seconds : seconds * speed;
    if (rest > negligible)
      return false;
    rest = 0;
    if (launch > 0 || work > 0)
      return false;
    node->end = now;
    node = nullptr;
    return true;
  }
};

} // namespace

/// Runs the streams at the same time: nodes that share the GPU slow each other
/// down.
void Player::simulate() {
  Stream main, side;
  double now = 0, linkFree = 0;
  size_t next = 0, nextBeside = 0, doneBeside = 0, started = 0;
  // Returns whether the main stream waits for an exchange.
  auto goOn = [&] {
    for (; !main.node && next < items.size(); ++next) {
      const Item &item = items[next];
      switch (item.kind) {
      case Item::Run:
        main.begin(timeline.nodes[item.number], now);
        break;
      case Item::RegionStart:
        started = item.number + 1;
        break;
      case Item::RegionWait:
        if (doneBeside < regionEnds[item.number])
          return false;
        break;
      case Item::Exchange: {
        Node &node = timeline.nodes[item.number];
        node.start = std::max(now, linkFree);
        node.end = linkFree = node.start + node.time.seconds;
        break;
      }
      case Item::ExchangeWait:
        if (now < linkFree)
          return true;
        break;
      }
    }
    return false;
  };
  while (true) {
    bool waits = goOn();
    if (!side.node && nextBeside < beside.size() && started > 0 &&
        nextBeside < regionEnds[started - 1])
      side.begin(timeline.nodes[beside[nextBeside++]], now);
    if (!main.node && !side.node && !waits)
      break;
    double speed =
        main.isWorking() && side.isWorking()
            ? model.getSpeedTogether(main.node->time, side.node->time)
            : 1;
    double step = waits ? linkFree - now : std::numeric_limits<double>::max();
    for (const Stream *stream : {&main, &side})
      if (stream->node)
        step = std::min(step, stream->getRest(speed));
    now += step;
    if (main.node)
      main.advance(step, speed, now);
    if (side.node)
      doneBeside += side.advance(step, speed, now);
  }
  timeline.seconds = std::max(now, linkFree);
}

std::optional<Timeline> gpu_model::predictStep(ModuleOp module,
                                               bool isOrdered) {
  std::unique_ptr<const Target> target = Target::of(module);
  exec::StepOp step, micro;
  for (auto function : module.getOps<exec::StepOp>()) {
    if (!step && function.getSymName().starts_with(kTrainStepName))
      step = function;
    if (!micro && function.getSymName().starts_with(kAccumulateStepName))
      micro = function;
  }
  if (!step)
    return std::nullopt;
  auto count = module->getAttrOfType<IntegerAttr>(kGradAccumulationAttr);
  int64_t parts = count ? count.getInt() : 1;
  Player player(target->getMachine(), isOrdered);
  for (int64_t i = 1; micro && i < parts; ++i)
    player.play(micro);
  player.play(step);
  Timeline timeline = player.take();
  if (auto memory = step.getMemoryAttr())
    timeline.memoryBytes = memory.getPeak();
  auto batch = module->getAttrOfType<IntegerAttr>(kBatchAttr);
  timeline.samples = (batch ? batch.getInt() : 1) * parts;
  // Indices are tokens.
  for (auto input : step.getInputs().getAsRange<exec::ValueAttr>())
    if (input.getKind() == "data" && input.getType().getRank() > 1 &&
        input.getType().getElementType().isInteger()) {
      timeline.tokens = input.getType().getNumElements() * parts;
      break;
    }
  return timeline;
}

void gpu_model::stateTimes(ModuleOp module, bool isOrdered) {
  std::unique_ptr<const Target> target = Target::of(module);
  Player player(target->getMachine(), isOrdered);
  player.stateTimes();
  for (auto step : module.getOps<exec::StepOp>())
    player.play(step);
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

std::string gpu_model::describeTimeline(const Timeline &timeline,
                                        StringRef machine) {
  constexpr double micro = 1e6, milli = 1e3, mega = 1e-6;
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "   start us      time us    kind         limit          MB   GFLOP  "
        "node\n";
  struct Sum {
    int64_t nodes = 0;
    double seconds = 0, bytes = 0, flops = 0;
  };
  llvm::MapVector<StringRef, Sum> sums;
  double bytes = 0, beside = 0, multiprocessors = 0, memory = 0;
  for (const Node &node : timeline.nodes) {
    double work = node.time.seconds - node.time.launchSeconds;
    multiprocessors += work * node.time.multiprocessors;
    memory += work * node.time.memory;
    beside += node.isBeside ? node.time.seconds : 0;
    os << llvm::formatv(
        "{0,11:f1}  {1,11:f1} {2} {3,-11}  {4,-8}  {5,8:f2}  {6,6:f1}  {7}\n",
        node.start * micro, (node.end - node.start) * micro,
        node.isBeside ? "+" : " ", node.kind, getName(node.time.limit),
        node.traffic.memory * mega, node.time.flops * 1e-9, node.name);
    Sum &sum = sums[node.kind];
    ++sum.nodes;
    sum.seconds += node.time.seconds;
    sum.bytes += node.traffic.memory;
    sum.flops += node.time.flops;
    bytes += node.traffic.memory;
  }
  os << "\nkind         nodes        ms  share        MB     TFLOP\n";
  for (const auto &[kind, sum] : sums)
    os << llvm::formatv(
        "{0,-11}  {1,5}  {2,8:f3}  {3,5:f1}  {4,8:f1}  {5,8:f3}\n", kind,
        sum.nodes, sum.seconds * milli, 100 * sum.seconds / timeline.seconds,
        sum.bytes * mega, sum.flops * 1e-12);
  if (beside > 0)
    os << llvm::formatv("\nbeside other nodes (+): {0:f3} ms of these\n",
                        beside * milli);
  os << llvm::formatv("\nall multiprocessors are busy for {0:f3} ms, the "
                      "memory for {1:f3} ms\n",
                      multiprocessors * milli, memory * milli);
  os << llvm::formatv(
      "\nstep on {0}: {1:f3} ms, {2} nodes, {3:f1} MB of memory "
      "traffic, {4} bytes planned\n",
      machine, timeline.seconds * milli, timeline.nodes.size(), bytes * mega,
      timeline.memoryBytes);
  if (timeline.tokens > 0)
    os << llvm::formatv("{0:f0} tokens/s",
                        static_cast<double>(timeline.tokens) /
                            timeline.seconds);
  else
    os << llvm::formatv("{0:f1} samples/s",
                        static_cast<double>(timeline.samples) /
                            timeline.seconds);
  if (timeline.peak > 0)
    os << llvm::formatv(", {0:f1} % of the peak rate (MFU)",
                        100 * timeline.flops / timeline.seconds /
                            timeline.peak);
  os << "\n";
  return text;
}
