// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Reading the manifest.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Manifest.h"
#include "runtime/abi/TeacherNames.h"

#include "runtime/abi/Abi.h"
#include "runtime/abi/Align.h"
#include "runtime/core/DType.h"
#include "runtime/core/ManifestField.h"
#include "runtime/core/StateEncoding.h"
#include "runtime/core/libraries/JsonLibrary.h"

#include <algorithm>

using namespace ingot::runtime;
using nlohmann::json;

/// Checks that a tensor of `bytes` is within its block, and aligned to
/// `alignment`.
static void checkPlace(const Field &field, const TensorSpec &tensor,
                       int64_t bytes, int64_t alignment, int64_t blockBytes) {
  if (tensor.offset > blockBytes - bytes)
    throw field.makeError("'" + tensor.name + "' is outside its block");
  if (tensor.offset % alignment != 0)
    throw field.makeError("'" + tensor.name + "' is not aligned");
}

/// Checks that the bytes of a tensor are a number, and returns it.
static int64_t checkSize(const Field &field, const TensorSpec &tensor) {
  int64_t bytes = getSize(tensor.dtype);
  for (int64_t extent : tensor.shape) {
    if (extent != 0 && bytes > kMaxBytes / extent)
      throw field["shape"].makeError("the size overflows");
    bytes *= extent;
  }
  return bytes;
}

static void checkTensor(const Field &field, const TensorSpec &tensor,
                        int64_t blockBytes) {
  checkPlace(field, tensor, checkSize(field, tensor), getSize(tensor.dtype),
             blockBytes);
}

/// Checks that ranks have equal parts of each segment of each dimension, and
/// that a part has the state's shape.
static void checkPartition(const Field &field, const StateSpec &state,
                           const Manifest &manifest) {
  const PartitionSpec &partition = *state.partition;
  TensorSpec whole = state;
  whole.shape = partition.whole;
  checkSize(field, whole);
  bool isValid = partition.dims.size() == partition.whole.size() &&
                 partition.whole.size() == state.shape.size() &&
                 state.getSplitAxes() != 0;
  for (size_t i = 0; isValid && i < partition.dims.size(); ++i) {
    const SplitDim &dim = partition.dims[i];
    int64_t parts = 1, sum = 0;
    for (size_t axis = 0; axis < manifest.mesh.size(); ++axis)
      if ((dim.axes >> axis & 1) != 0)
        parts *= manifest.mesh[axis];
    isValid = (dim.axes & INGOT_DATA) == 0 && dim.pad < parts &&
              (partition.whole[i] + dim.pad) / parts == state.shape[i];
    for (size_t k = 0; k < dim.segments.size(); ++k) {
      bool isLast = k + 1 == dim.segments.size();
      isValid &= (dim.segments[k] + (isLast ? dim.pad : 0)) % parts == 0;
      sum += dim.segments[k];
    }
    isValid &= dim.segments.empty()
                   ? (partition.whole[i] + dim.pad) % parts == 0
                   : sum == partition.whole[i];
  }
  if (!isValid)
    throw field.makeError("not equal parts of '" + state.name + "'");
}

/// Checks that a mapped state is in the range of such states.
static void checkMapped(const Field &field, const StateSpec &state,
                        const Manifest &manifest) {
  int64_t begin = manifest.getMappedBegin();
  checkTensor(field, state, begin + manifest.mappedBytes);
  if (state.offset < begin)
    throw field["offset"].makeError("before the mapped range");
}

static void checkState(const Field &field, const StateSpec &state,
                       const Manifest &manifest) {
  if (!state.halves.empty() || state.home == StateHome::File ||
      state.home == StateHome::Encoded)
    checkSize(field, state);
  else if (state.home == StateHome::Mapped)
    checkMapped(field, state, manifest);
  else if (!state.shard)
    checkTensor(field, state, manifest.stateBytes);
  else {
    // The offset is that of its address, in a table with one for each state.
    constexpr int64_t bytes = sizeof(char *);
    checkSize(field, state);
    checkPlace(field, state, bytes, bytes,
               bytes * static_cast<int64_t>(manifest.states.size()));
  }
  if (state.home != StateHome::Block && (state.shard || !state.halves.empty()))
    throw field["home"].makeError("a state in parts is in its blocks");
  if (state.shard &&
      (state.shardBlock < 1 ||
       state.shard->of / state.shardBlock < state.getElements() ||
       state.shard->first >
           state.shard->of - state.getElements() * state.shardBlock))
    throw field["shard"].makeError("outside its bucket");
  if (state.partition)
    checkPartition(field["partition"], state, manifest);
  // What the kind of initial value needs is there.
  Field init = field["init"];
  if (state.init.kind == InitKind::Fill)
    init["value"];
  if (state.init.kind == InitKind::Normal) {
    init["mean"];
    init["deviation"];
  }
  bool isCounter =
      state.role == StateRole::Step || state.role == StateRole::Seed;
  if (isCounter && (state.dtype != DType::I64 || state.getElements() != 1))
    throw field.makeError("'" + state.name + "' must be one i64");
  constexpr int64_t axes = 5;
  if (state.role == StateRole::Coordinates &&
      (state.dtype != DType::I64 || state.getElements() != axes))
    throw field.makeError("'" + state.name + "' must be an i64 for each axis");
}

/// Checks that a state can have the value of the one that it copies.
static void checkCopy(const StateSpec &copy, const Manifest &manifest) {
  if (copy.init.kind != InitKind::Copy)
    return;
  const StateSpec *original = manifest.findState(copy.init.of);
  bool isHalf = copy.role == StateRole::LowerHalf;
  if (!original || original->shape != copy.shape ||
      (!isHalf && !canConvert(original->dtype, copy.dtype)))
    throw malformed("states",
                    "'" + copy.name + "' cannot copy '" + copy.init.of + "'");
}

/// Checks that the halves of a split f32 master are states in bf16 and i16.
static void checkHalves(const StateSpec &state, const Manifest &manifest) {
  if (state.halves.empty())
    return;
  auto isHalf = [&](const std::string &name, DType dtype) {
    const StateSpec *half = manifest.findState(name);
    return half && half->init.kind == InitKind::Copy &&
           half->init.of == state.name && half->dtype == dtype &&
           half->halves.empty() && !half->shard;
  };
  if (state.dtype != DType::F32 || state.shard || state.halves.size() != 2 ||
      !isHalf(state.halves[0], DType::BF16) ||
      !isHalf(state.halves[1], DType::I16))
    throw malformed("states", "'" + state.name + "' has no such halves");
}

/// Checks that the parts of an encoded state are states of the sizes that its
/// elements need.
static void checkEncoding(const StateSpec &state, const Manifest &manifest) {
  if (state.home != StateHome::Encoded && !state.encoding)
    return;
  auto fail = [&] {
    return malformed("states", "'" + state.name + "' has no such encoding");
  };
  if (state.home != StateHome::Encoded || !state.encoding ||
      !isFloat(state.dtype) || state.dtype == DType::F64 ||
      state.encoding->parts.size() < 2 || state.encoding->parts.size() > 3 ||
      (state.encoding->transposed && state.shape.size() != 2))
    throw fail();
  const ingot::quantization::Encoding encoding = getEncoding(*state.encoding);
  if (!encoding.isValid())
    throw fail();
  const int64_t elements = state.getElements();
  auto check = [&](size_t part, DType dtype, int64_t size) {
    const StateSpec *found = manifest.findState(state.encoding->parts[part]);
    if (!found || found->dtype != dtype || found->getElements() != size ||
        found->home == StateHome::Encoded || found->home == StateHome::File ||
        (found->shard && !encoding.isDynamic()) || found->partition)
      throw fail();
  };
  check(0, DType::U8, encoding.getCodeBytes(elements));
  check(1, encoding.isDouble ? DType::U8 : DType::F32,
        encoding.countScales(elements));
  if (encoding.hasNested())
    check(2, DType::F32, encoding.countNested(elements));
}

/// Checks what the elements of a sample index.
static void checkIndexed(const Field &field, const InputSpec &input) {
  int64_t elements = 0;
  for (const IndexedRows &part : input.indexed) {
    elements += part.elements;
    if (elements > input.getElements())
      throw field.makeError("more elements than '" + input.name + "' has");
  }
  int64_t samples = input.shape.empty() ? 0 : input.shape[0];
  if (elements != (samples == 0 ? 0 : input.getElements() / samples))
    throw field.makeError("not of all elements of '" + input.name + "'");
}

static void checkInput(const Field &field, const InputSpec &input,
                       const Manifest &manifest, const FunctionSpec &function) {
  checkTensor(field, input, function.arenaBytes);
  bool isScalar = input.getElements() == 1;
  if (input.kind == InputKind::Hyper &&
      (!isScalar || input.dtype != DType::F64))
    throw field.makeError("a hyperparameter must be one f64");
  if (input.kind == InputKind::Hyper &&
      !manifest.findHyperparameter(input.name))
    throw field.makeError("no hyperparameter '" + input.name + "'");
  if (input.kind == InputKind::Valid &&
      (!isScalar || input.dtype != DType::I64))
    throw field.makeError("the number of valid samples must be one i64");
  if (input.isBatched() &&
      (input.shape.empty() ||
       input.shape[0] != manifest.getBatch(function.variant)))
    throw field.makeError("the first dimension of '" + input.name +
                          "' is not the batch");
  if (field.has("rows"))
    checkIndexed(field["rows"], input);
}

static void checkOutput(const Field &field, const KernelOutput &output,
                        const Manifest &manifest) {
  int64_t block =
      output.space == Space::State ? manifest.stateBytes : manifest.arenaBytes;
  int64_t bytes;
  if (__builtin_mul_overflow(output.elements, getSize(output.dtype), &bytes) ||
      output.offset > block || bytes > block - output.offset)
    throw field["offset"].makeError("an output is outside its block");
}

static void checkKernel(const Field &field, const KernelSpec &kernel,
                        const Manifest &manifest) {
  for (size_t i = 0; i < kernel.outputs.size(); ++i)
    checkOutput(field["outputs"][i], kernel.outputs[i], manifest);
  for (size_t i = 0; i < kernel.gradients.size(); ++i)
    checkOutput(field["gradients"][i], kernel.gradients[i], manifest);
  if (kernel.stateWrites)
    for (const StateRange &range : *kernel.stateWrites)
      if (range.offset > manifest.stateBytes ||
          range.bytes > manifest.stateBytes - range.offset)
        throw field["state_writes"].makeError("not a range of the states");
}

static void checkFunction(const Field &field, const FunctionSpec &function,
                          const Manifest &manifest) {
  if (function.arenaBytes > manifest.arenaBytes)
    throw field["arena_bytes"].makeError("more than the whole arena");
  for (size_t i = 0; i < function.inputs.size(); ++i)
    checkInput(field["inputs"][i], function.inputs[i], manifest, function);
  for (size_t i = 0; i < function.outputs.size(); ++i)
    checkTensor(field["outputs"][i], function.outputs[i], function.arenaBytes);
  for (size_t i = 0; i < function.intervals.size(); ++i)
    if (const ArenaInterval &interval = function.intervals[i];
        interval.offset > function.arenaBytes ||
        interval.bytes > function.arenaBytes - interval.offset)
      throw field["intervals"][i].makeError("not an interval of the arena");
  for (size_t i = 0; i < function.kernels.size(); ++i)
    checkKernel(field["kernels"][i], function.kernels[i], manifest);
}

static void checkExport(const Field &field, const ExportPiece &piece,
                        const Manifest &manifest) {
  if (field.has("literal"))
    return;
  const StateSpec *state = manifest.findState(piece.state);
  if (!state)
    throw field.makeError("no state '" + piece.state + "'");
  if (piece.codes) {
    const ingot::quantization::Encoding encoding{
        static_cast<ingot_encoding>(piece.codes->kind), piece.codes->block};
    const std::vector<int64_t> &shape = state->getWholeShape();
    bool isMatrix = isFloat(state->dtype) && shape.size() == 2;
    int64_t columns = isMatrix ? shape[piece.codes->transposed ? 0 : 1] : 0;
    bool hasRows = piece.codes->columns || piece.codes->wholeRows;
    if (!isMatrix || !encoding.isValid() ||
        (hasRows && columns % encoding.block != 0))
      throw field["codes"].makeError("'" + piece.state + "' has no such codes");
    return;
  }
  if (!canConvert(state->dtype, piece.dtype))
    throw field.makeError("'" + piece.state + "' cannot become " +
                          std::string(getName(piece.dtype)));
}

static void checkPayload(const Field &field, const PayloadSpec &payload) {
  constexpr int64_t maxTable = 1 << 20;
  if (payload.offset % sizeof(char *) != 0 || payload.offset > maxTable)
    throw field["offset"].makeError("not the offset of an address");
}

static std::string getSymbol(const std::string &name,
                             const std::string &variant) {
  return variant.empty() ? name : name + "[" + variant + "]";
}

std::string Manifest::getSymbol(const FunctionSpec &function) const {
  return variants.empty()
             ? function.name
             : ::getSymbol(function.name, variants[function.variant]);
}

/// Takes the functions by variant and in their order, and checks that each
/// variant has all of them.
static void orderFunctions(Manifest &manifest) {
  for (size_t variant = 0; variant < manifest.variants.size(); ++variant)
    for (const char *name :
         {"train_step", "uncompressed_step", "accumulate_step", "eval_step",
          "predict", "observe"}) {
      std::string symbol = getSymbol(name, manifest.variants[variant]);
      auto found = manifest.symbols.find(symbol);
      if (found == manifest.symbols.end()) {
        // Every variant has the functions that the first one has.
        if (symbol.starts_with("train_step") ||
            (symbol.starts_with("uncompressed_step") &&
             manifest.uncompressedSteps > 0) ||
            (variant > 0 && manifest.findFunction(name)))
          throw malformed("functions." + symbol, "missing");
        continue;
      }
      FunctionSpec &function =
          manifest.functions.emplace_back(std::move(found->second));
      function.name = name;
      function.variant = variant;
    }
  manifest.symbols.clear();
}

/// Tells inputs what the manifest says of them elsewhere.
static void describeInputs(Manifest &manifest) {
  for (FunctionSpec &function : manifest.functions)
    for (InputSpec &input : function.inputs) {
      for (const std::string &name : manifest.shiftedLabels)
        input.isShifted |= name == input.name;
      const LossTerm *term = manifest.findTerm(input.name);
      if (!term || input.kind != InputKind::Labels)
        continue;
      input.loss = term->kind;
      input.classAxis = term->classAxis;
      input.isProbability = term->probabilities;
    }
}

static void checkManifest(const Field &root, const Manifest &manifest) {
  for (size_t i = 0; i < manifest.payloads.size(); ++i)
    checkPayload(root["messages"][i], manifest.payloads[i]);
  for (size_t i = 0; i < manifest.states.size(); ++i)
    checkState(root["states"][i], manifest.states[i], manifest);
  for (const StateSpec &state : manifest.states) {
    checkCopy(state, manifest);
    checkHalves(state, manifest);
    checkEncoding(state, manifest);
  }
  for (const FunctionSpec &function : manifest.functions)
    checkFunction(root["functions"][manifest.getSymbol(function).c_str()],
                  function, manifest);
  for (size_t i = 0; i < manifest.exportPieces.size(); ++i)
    checkExport(root["export"][i], manifest.exportPieces[i], manifest);
  if (manifest.stagingBytes != 0)
    manifest.checkStaging();
}

static Manifest readManifest(const Field &root) {
  int64_t abi = root["abi"].getCount();
  if (abi != INGOT_ABI_VERSION)
    throw failure("module manifest: abi",
                  "compiled for version " + std::to_string(abi) +
                      ", this runtime has version " +
                      std::to_string(INGOT_ABI_VERSION),
                  "compile the model again with the ingotc of this release");
  Manifest manifest;
  ManifestReader reader(root);
  visit(reader, static_cast<ModuleSpec &>(manifest));
  if (manifest.batch == 0)
    throw malformed("batch", "is zero");
  if (manifest.gradAccumulation == 0)
    throw malformed("grad_accumulation", "is zero");
  if (manifest.variants.empty())
    throw malformed("variants", "empty");
  if (!manifest.batches.empty() &&
      manifest.batches.size() != manifest.variants.size())
    throw malformed("batches", "not one for each variant");
  for (int64_t batch : manifest.batches) {
    if (batch == 0)
      throw malformed("batches", "is zero");
    manifest.batch = std::max(manifest.batch, batch);
  }
  constexpr size_t axes = 5;
  constexpr int64_t mostRanks = 1 << 16;
  if (!manifest.mesh.empty() && manifest.mesh.size() != axes)
    throw malformed("mesh", "not a number for each axis");
  for (int64_t size : manifest.mesh)
    if (size == 0 || size > mostRanks)
      throw malformed("mesh", "not a number of ranks");
  orderFunctions(manifest);
  describeInputs(manifest);
  checkManifest(root, manifest);
  return manifest;
}

Manifest ingot::runtime::parseManifest(std::string_view text) {
  json root = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (root.is_discarded() || !root.is_object())
    throw malformed("(root)", "not a JSON object");
  return readManifest(Field(root, ""));
}

static int64_t align(int64_t bytes) {
  return ingot::abi::alignTo(bytes, INGOT_ALIGNMENT);
}

int64_t TensorSpec::getElements() const {
  int64_t elements = 1;
  for (int64_t extent : shape)
    elements *= extent;
  return elements;
}

int64_t TensorSpec::getBytes() const { return getElements() * getSize(dtype); }

int64_t TensorSpec::getAlignedBytes() const { return align(getBytes()); }

bool StateSpec::isOwn() const { return role == StateRole::Residual; }

bool StateSpec::isSaved() const {
  // Constants of the graph are numbered (OutlineConstants): another trainer of
  // the model may have others, or in another order.
  bool isConstant = role == StateRole::Frozen && name.starts_with("constant/");
  return init.kind != InitKind::Copy && role != StateRole::Accumulator &&
         role != StateRole::Coordinates && home != StateHome::Encoded &&
         !isConstant && !name.starts_with(abi::kTeacherPrefix);
}

bool StateSpec::isOptional() const {
  return role == StateRole::LossScale || role == StateRole::Magnitudes ||
         role == StateRole::Residual || role == StateRole::Basis;
}

bool StateSpec::isModel() const {
  return !name.starts_with(abi::kTeacherPrefix) &&
         (role == StateRole::Parameter || role == StateRole::Frozen ||
          role == StateRole::Running);
}

std::optional<int64_t> InputSpec::getLimit() const {
  std::optional<int64_t> most = classes;
  for (const IndexedRows &part : indexed)
    if (part.rows > most.value_or(0))
      most = part.rows;
  return most;
}

int64_t InputSpec::getIgnored() const {
  return ignored.value_or(kIgnoredLabel);
}

template <typename Range>
static auto findByName(const Range &range, std::string_view name)
    -> decltype(range.data()) {
  for (const auto &item : range)
    if (item.name == name)
      return &item;
  return nullptr;
}

int64_t FunctionSpec::getInputBytes() const {
  int64_t bytes = 0;
  for (const InputSpec &input : inputs)
    bytes += input.getAlignedBytes();
  return bytes;
}

const TensorSpec *FunctionSpec::findOutput(std::string_view name) const {
  return findByName(outputs, name);
}

ElementRange StateSpec::getHeld(int64_t rank, int64_t ranks) const {
  if (!shard)
    return {0, getElements()};
  // The last of the elements may be of a shorter block.
  ElementRange held = getShard(getElements() * shardBlock, shard->first,
                               shard->of, rank, ranks);
  return {held.begin / shardBlock,
          ingot::abi::divideCeil(held.end, shardBlock)};
}

int64_t StateSpec::getWholeElements() const {
  int64_t elements = 1;
  for (int64_t extent : getWholeShape())
    elements *= extent;
  return elements;
}

int32_t StateSpec::getSplitAxes() const {
  int64_t axes = 0;
  if (partition)
    for (const SplitDim &dim : partition->dims)
      axes |= dim.axes;
  return static_cast<int32_t>(axes);
}

int64_t StateSpec::getShardBytes(int64_t rank, int64_t ranks) const {
  return align(getHeld(rank, ranks).getCount() * getSize(dtype));
}

int64_t PayloadSpec::getBytes(int64_t ranks) const {
  return align(rankBytes * ranks);
}

bool Manifest::evaluatesParts() const {
  return std::none_of(lossTerms.begin(), lossTerms.end(),
                      [](const LossTerm &term) { return term.wholeBatch; });
}

const LossTerm *Manifest::findTerm(std::string_view labels) const {
  for (const LossTerm &term : lossTerms)
    if (!term.wholeBatch && term.labels == labels)
      return &term;
  return nullptr;
}

void Manifest::checkTarget(std::string_view kind) const {
  if (target.kind != kind)
    throw failure("target",
                  "compiled for '" + target.kind +
                      "', which this runtime does not have",
                  "compile with --target " + std::string(kind));
}

void Manifest::checkStaging() const {
  for (const FunctionSpec &function : functions)
    if (stagingBytes / INGOT_STAGING_BLOCKS < function.getInputBytes())
      throw malformed("staging_bytes",
                      "too small for the inputs of " + function.name);
}

bool Manifest::hasShards() const {
  return std::any_of(states.begin(), states.end(), [](const StateSpec &state) {
    return state.shard || state.isOwn() || state.partition;
  });
}

int64_t Manifest::getShardBytes(int64_t rank, int64_t ranks) const {
  int64_t bytes = 0;
  for (const StateSpec &state : states)
    if (state.shard)
      bytes += state.getShardBytes(rank, ranks);
  return bytes;
}

int64_t Manifest::getPayloadBytes(int64_t ranks) const {
  int64_t bytes = 0;
  for (const PayloadSpec &payload : payloads)
    bytes += payload.getBytes(ranks);
  return bytes;
}

const StateSpec *Manifest::findState(std::string_view name) const {
  return findByName(states, name);
}

const FunctionSpec *Manifest::findFunction(std::string_view name,
                                           size_t variant) const {
  for (const FunctionSpec &function : functions)
    if (function.name == name && function.variant == variant)
      return &function;
  return nullptr;
}

const HyperparameterSpec *
Manifest::findHyperparameter(std::string_view name) const {
  return findByName(hyperparameters, name);
}
