// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Reading the manifest.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Manifest.h"

#include "runtime/abi/Abi.h"
#include "runtime/abi/Align.h"
#include "runtime/core/ManifestField.h"

#include <charconv>
#include <nlohmann/json.hpp>

using namespace ingot::runtime;
using nlohmann::json;

/// Reads name, type and shape; returns the bytes of the tensor.
static int64_t readType(const Field &field, TensorSpec &tensor) {
  tensor.name = field["name"].getString();
  tensor.dtype = field["dtype"].getDType();
  int64_t bytes = getSize(tensor.dtype);
  for (const Field &dim : field["shape"].getItems()) {
    int64_t extent = dim.getCount();
    tensor.shape.push_back(extent);
    if (extent != 0 && bytes > kMaxBytes / extent)
      throw dim.makeError("the size overflows");
    bytes *= extent;
  }
  return bytes;
}

/// Reads a tensor. `bytesAtOffset` is the size of what is at its offset, if
/// that is not the tensor itself.
static void readTensor(const Field &field, int64_t blockBytes,
                       TensorSpec &tensor,
                       std::optional<int64_t> bytesAtOffset = {}) {
  int64_t bytes = readType(field, tensor);
  tensor.offset = field["offset"].getCount();
  if (tensor.offset + bytesAtOffset.value_or(bytes) > blockBytes)
    throw field["offset"].makeError("'" + tensor.name +
                                    "' is outside its block");
  if (tensor.offset % bytesAtOffset.value_or(getSize(tensor.dtype)) != 0)
    throw field["offset"].makeError("'" + tensor.name + "' is not aligned");
}

static StateSpec readState(const Field &field, int64_t stateBytes) {
  StateSpec state;
  bool isSharded = field.has("shard");
  if (field.has("halves")) {
    readType(field, state);
    for (const Field &half : field["halves"].getItems())
      state.halves.push_back(half.getString());
  } else {
    readTensor(field, stateBytes, state,
               isSharded ? std::optional<int64_t>(sizeof(char *))
                         : std::nullopt);
  }
  if (isSharded) {
    std::vector<Field> place = field["shard"].getItems();
    if (place.size() != 2)
      throw field["shard"].makeError(
          "not the position of a tensor in a bucket");
    state.shard = {place[0].getCount(), place[1].getCount()};
    if (state.shard->of < state.getElements() ||
        state.shard->first > state.shard->of - state.getElements())
      throw field["shard"].makeError("outside its bucket");
  }
  state.role = static_cast<StateRole>(field["role"].getChoice(
      {"parameter", "frozen", "running", "moment", "step", "seed", "loss_scale",
       "low_copy", "accumulator", "residual", "basis", "lower_half"}));
  Field init = field["init"];
  state.init = static_cast<InitKind>(
      init["kind"].getChoice({"weights", "fill", "normal", "copy"}));
  if (state.init == InitKind::Fill)
    state.value = init["value"].getNumber();
  if (state.init == InitKind::Normal) {
    state.mean = init["mean"].getNumber();
    state.deviation = init["deviation"].getNumber();
  }
  if (state.init == InitKind::Copy)
    state.of = init["of"].getString();
  bool isCounter =
      state.role == StateRole::Step || state.role == StateRole::Seed;
  if (isCounter && (state.dtype != DType::I64 || state.getElements() != 1))
    throw field.makeError("'" + state.name + "' must be one i64");
  return state;
}

static void checkInput(const Field &field, const InputSpec &input,
                       int64_t batch) {
  bool isScalar = input.getElements() == 1;
  if (input.kind == InputKind::Hyper &&
      (!isScalar || input.dtype != DType::F64))
    throw field.makeError("a hyperparameter must be one f64");
  if (input.kind == InputKind::Valid &&
      (!isScalar || input.dtype != DType::I64))
    throw field.makeError("the number of valid samples must be one i64");
  if (input.isBatched() && (input.shape.empty() || input.shape[0] != batch))
    throw field.makeError("the first dimension of '" + input.name +
                          "' is not the batch");
}

static KernelOutput readOutput(const Field &field, const Manifest &manifest) {
  KernelOutput output;
  output.dtype = field["dtype"].getDType();
  output.inState = field["space"].getChoice({"arena", "state"}) == 1;
  output.offset = field["offset"].getCount();
  output.elements = field["elements"].getCount();
  int64_t block = output.inState ? manifest.stateBytes : manifest.arenaBytes;
  int64_t bytes;
  if (__builtin_mul_overflow(output.elements, getSize(output.dtype), &bytes) ||
      output.offset > block || bytes > block - output.offset)
    throw field["offset"].makeError("an output is outside its block");
  return output;
}

static std::vector<StateRange> readStateWrites(const Field &field,
                                               const Manifest &manifest) {
  std::vector<StateRange> ranges;
  for (const Field &item : field.getItems()) {
    std::vector<int64_t> numbers;
    for (const Field &number : item.getItems())
      numbers.push_back(number.getCount());
    if (numbers.size() != 2 || numbers[0] > manifest.stateBytes ||
        numbers[1] > manifest.stateBytes - numbers[0])
      throw item.makeError("not a range of the states");
    ranges.push_back({numbers[0], numbers[1]});
  }
  return ranges;
}

/// The term of a loss FACTOR*NAME:SETTINGS@OUTPUT+... that compares with the
/// labels of this name, without factor and output. One that is alone may have
/// any labels.
static std::string_view findTerm(std::string_view loss,
                                 std::string_view labels) {
  bool isAlone = loss.find('+') == std::string_view::npos;
  while (!loss.empty()) {
    std::string_view term = loss.substr(0, loss.find('+'));
    loss.remove_prefix(std::min(term.size() + 1, loss.size()));
    if (size_t factor = term.find('*'); factor != std::string_view::npos)
      term.remove_prefix(factor + 1);
    size_t at = term.find('@');
    std::string name = "labels";
    if (at != std::string_view::npos)
      name += "_" + std::string(term.substr(at + 1));
    if (isAlone || name == labels)
      return term.substr(0, at);
  }
  return {};
}

/// The axis in `cross-entropy:AXIS` or `nll:AXIS`, which settings may follow.
static std::optional<int64_t> readClassAxis(std::string_view loss) {
  size_t colon = loss.find(':');
  int64_t axis = 0;
  if (colon == std::string_view::npos)
    return std::nullopt;
  const char *end = loss.data() + loss.size();
  auto parsed = std::from_chars(loss.data() + colon + 1, end, axis);
  if (parsed.ec != std::errc() || (parsed.ptr != end && *parsed.ptr != ','))
    return std::nullopt;
  return axis;
}

/// Whether a term of a loss compares with probabilities.
static bool takesProbabilities(std::string_view term) {
  return term.starts_with("bce-with-logits") || term.starts_with("kl-div");
}

/// Reads the tables that the elements of a sample index.
static void readIndexed(const Field &field, InputSpec &input) {
  int64_t elements = 0;
  for (const Field &item : field.getItems()) {
    std::vector<Field> pair = item.getItems();
    if (pair.size() != 2)
      throw item.makeError("not a number of elements and their rows");
    input.indexed.push_back({pair[0].getCount(), pair[1].getCount()});
    elements += input.indexed.back().elements;
    if (elements > input.getElements())
      throw item.makeError("more elements than '" + input.name + "' has");
  }
  if (input.shape.empty() || elements * input.shape[0] != input.getElements())
    throw field.makeError("not of all elements of '" + input.name + "'");
}

static FunctionSpec readFunction(const Field &field, const Manifest &manifest,
                                 size_t variant) {
  FunctionSpec function;
  function.variant = variant;
  function.arenaBytes = field["arena_bytes"].getCount();
  if (function.arenaBytes > manifest.arenaBytes)
    throw field["arena_bytes"].makeError("more than the whole arena");
  for (const Field &item : field["inputs"].getItems()) {
    InputSpec input;
    readTensor(item, function.arenaBytes, input);
    input.kind = static_cast<InputKind>(
        item["kind"].getChoice({"data", "labels", "hyper", "valid"}));
    if (item.has("classes")) {
      input.classes = item["classes"].getCount();
      std::string_view term = findTerm(manifest.loss, input.name);
      input.classAxis = readClassAxis(term);
      input.loss = term.substr(0, term.find(':'));
    }
    for (const std::string &name : manifest.shiftedLabels)
      input.isShifted |= name == input.name;
    if (item.has("ignored"))
      input.ignored = item["ignored"].getInteger();
    if (item.has("rows"))
      readIndexed(item["rows"], input);
    checkInput(item, input, manifest.getBatch(variant));
    function.inputs.push_back(std::move(input));
  }
  for (const Field &item : field["outputs"].getItems())
    readTensor(item, function.arenaBytes, function.outputs.emplace_back());
  if (field.has("memory"))
    for (auto &[key, value] : field["memory"].value.items())
      function.memory[key] =
          Field(value, field.path + ".memory." + key).getCount();
  if (field.has("live"))
    for (const Field &item : field["live"].getItems()) {
      LiveTensor &tensor = function.live.emplace_back();
      tensor.kind = item["kind"].getString();
      for (const Field &node : item["onnx_nodes"].getItems())
        tensor.onnxNodes.push_back(node.getString());
      tensor.bytes = item["bytes"].getCount();
    }
  if (field.has("intervals"))
    for (const Field &item : field["intervals"].getItems()) {
      std::vector<int64_t> numbers;
      for (const Field &number : item.getItems())
        numbers.push_back(number.getCount());
      if (numbers.size() != 4 || numbers[0] > function.arenaBytes ||
          numbers[1] > function.arenaBytes - numbers[0])
        throw item.makeError("not an interval of the arena");
      function.intervals.push_back(
          {numbers[0], numbers[1], numbers[2], numbers[3]});
    }
  if (field.has("kernels"))
    for (const Field &item : field["kernels"].getItems()) {
      KernelSpec &kernel = function.kernels.emplace_back();
      kernel.name = item["name"].getString();
      kernel.kind = item["kind"].getString();
      for (const Field &node : item["onnx_nodes"].getItems())
        kernel.onnxNodes.push_back(node.getString());
      if (item.has("outputs"))
        for (const Field &written : item["outputs"].getItems())
          kernel.outputs.push_back(readOutput(written, manifest));
      if (item.has("state_writes"))
        kernel.stateWrites = readStateWrites(item["state_writes"], manifest);
      if (item.has("times"))
        kernel.times = item["times"].getCount();
      kernel.bytes = item["bytes"].getCount();
      kernel.flops = item["flops"].getCount();
      if (item.has("bound_us"))
        kernel.boundMicroseconds = item["bound_us"].getNumber();
      if (item.has("part"))
        kernel.part = item["part"].getString();
      if (item.has("gradients"))
        for (const Field &gradient : item["gradients"].getItems())
          kernel.gradients.push_back(
              {gradient["state"].getString(), readOutput(gradient, manifest)});
    }
  return function;
}

static void readExport(const Field &field, Manifest &manifest) {
  for (const Field &item : field.getItems()) {
    ExportPiece &piece = manifest.exportPieces.emplace_back();
    if (item.has("literal")) {
      piece.literal = item["literal"].getCount();
      continue;
    }
    piece.state = item["state"].getString();
    piece.dtype = item["dtype"].getDType();
    const StateSpec *state = manifest.findState(piece.state);
    if (!state)
      throw item["state"].makeError("no state '" + piece.state + "'");
    if (!canConvert(state->dtype, piece.dtype))
      throw item["dtype"].makeError("'" + piece.state +
                                    "' cannot become this type");
  }
}

/// Checks that the halves of a split f32 master are states in bf16 and i16.
static void checkHalves(const StateSpec &state, const Manifest &manifest) {
  if (state.halves.empty())
    return;
  auto isHalf = [&](const std::string &name, DType dtype) {
    const StateSpec *half = manifest.findState(name);
    return half && half->init == InitKind::Copy && half->of == state.name &&
           half->dtype == dtype && half->halves.empty() && !half->shard;
  };
  if (state.dtype != DType::F32 || state.shard || state.halves.size() != 2 ||
      !isHalf(state.halves[0], DType::BF16) ||
      !isHalf(state.halves[1], DType::I16))
    throw malformed("states", "'" + state.name + "' has no such halves");
}

static std::string getSymbol(const std::string &name,
                             const std::string &variant) {
  return variant.empty() ? name : name + "[" + variant + "]";
}

std::string Manifest::getSymbol(const FunctionSpec &function) const {
  return ::getSymbol(function.name, variants[function.variant]);
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
  manifest.model = root["model"].getString();
  manifest.producer = root["producer"].getString();
  manifest.targetKind = root["target"]["kind"].getString();
  if (root["target"].has("arch"))
    manifest.targetArch = root["target"]["arch"].getString();
  for (const Field &feature : root["target"]["features"].getItems())
    manifest.features.push_back(feature.getString());
  if (root["target"].has("tuning"))
    manifest.tuning = static_cast<TuningPlace>(
        root["target"]["tuning"].getChoice({"host", "device"}));
  manifest.precision = root["precision"].getString();
  manifest.loss = root["loss"].getString();
  manifest.optimizer = root["optimizer"].getString();
  manifest.batch = root["batch"].getCount();
  if (manifest.batch == 0)
    throw malformed("batch", "is zero");
  if (root.has("grad_accumulation"))
    manifest.gradAccumulation = root["grad_accumulation"].getCount();
  if (manifest.gradAccumulation == 0)
    throw malformed("grad_accumulation", "is zero");
  if (root.has("uncompressed_steps"))
    manifest.uncompressedSteps = root["uncompressed_steps"].getCount();
  if (root.has("eval_partial"))
    manifest.evalPartial = root["eval_partial"].getBool();
  for (auto [key, names] :
       {std::pair("metrics", &manifest.metrics),
        std::pair("train_metrics", &manifest.trainMetrics),
        std::pair("compiler_options", &manifest.compilerOptions),
        std::pair("shifted_labels", &manifest.shiftedLabels)})
    if (root.has(key))
      for (const Field &name : root[key].getItems())
        names->push_back(name.getString());
  if (root.has("data_parallel"))
    manifest.dataParallel = root["data_parallel"].getBool();
  manifest.weights = static_cast<WeightsKind>(
      root["weights"].getChoice({"embed", "sidecar", "none"}));
  if (root.has("weights_crc32"))
    manifest.weightsCrc = root["weights_crc32"].getCount();
  manifest.stateBytes = root["state_bytes"].getCount();
  manifest.arenaBytes = root["arena_bytes"].getCount();
  if (root.has("messages"))
    for (const Field &item : root["messages"].getItems()) {
      int64_t offset = item["offset"].getCount();
      constexpr int64_t maxTable = 1 << 20;
      if (offset % sizeof(char *) != 0 || offset > maxTable)
        throw item["offset"].makeError("not the offset of an address");
      manifest.payloads.push_back({offset, item["rank_bytes"].getCount()});
    }
  if (root.has("staging_bytes"))
    manifest.stagingBytes = root["staging_bytes"].getCount();
  for (const Field &item : root["states"].getItems())
    manifest.states.push_back(readState(item, manifest.stateBytes));
  for (const StateSpec &copy : manifest.states) {
    if (copy.init != InitKind::Copy)
      continue;
    const StateSpec *original = manifest.findState(copy.of);
    bool isHalf = copy.role == StateRole::LowerHalf;
    if (!original || original->shape != copy.shape ||
        (!isHalf && !canConvert(original->dtype, copy.dtype)))
      throw malformed("states",
                      "'" + copy.name + "' cannot copy '" + copy.of + "'");
  }
  for (const StateSpec &state : manifest.states)
    checkHalves(state, manifest);
  for (const Field &item : root["hyperparameters"].getItems())
    manifest.hyperparameters.push_back(
        {item["name"].getString(), item["default"].getNumber()});
  manifest.variants.clear();
  for (const Field &item : root["variants"].getItems())
    manifest.variants.push_back(item.getString());
  if (manifest.variants.empty())
    throw malformed("variants", "empty");
  if (root.has("batches")) {
    for (const Field &item : root["batches"].getItems()) {
      manifest.batches.push_back(item.getCount());
      if (manifest.batches.back() == 0)
        throw item.makeError("is zero");
      manifest.batch = std::max(manifest.batch, manifest.batches.back());
    }
    if (manifest.batches.size() != manifest.variants.size())
      throw malformed("batches", "not one for each variant");
  }
  Field functions = root["functions"];
  for (size_t variant = 0; variant < manifest.variants.size(); ++variant)
    for (const char *name : {"train_step", "uncompressed_step",
                             "accumulate_step", "eval_step", "predict"}) {
      std::string symbol = getSymbol(name, manifest.variants[variant]);
      if (!functions.has(symbol.c_str()) ||
          !functions[symbol.c_str()].has("arena_bytes")) {
        // Every variant has the functions that the first one has.
        if (symbol.starts_with("train_step") ||
            (symbol.starts_with("uncompressed_step") &&
             manifest.uncompressedSteps > 0) ||
            (variant > 0 && manifest.findFunction(name)))
          throw malformed("functions." + symbol, "missing");
        continue;
      }
      FunctionSpec function =
          readFunction(functions[symbol.c_str()], manifest, variant);
      for (InputSpec &input : function.inputs)
        input.isProbability =
            input.kind == InputKind::Labels &&
            takesProbabilities(findTerm(manifest.loss, input.name));
      function.name = name;
      manifest.functions.push_back(std::move(function));
    }
  for (const FunctionSpec &function : manifest.functions)
    for (const InputSpec &input : function.inputs)
      if (input.kind == InputKind::Hyper &&
          !manifest.findHyperparameter(input.name))
        throw malformed("functions." + function.name + ".inputs",
                        "no hyperparameter '" + input.name + "'");
  if (manifest.stagingBytes != 0)
    manifest.checkStaging();
  if (root.has("class_names"))
    for (const Field &name : root["class_names"].getItems())
      manifest.classNames.push_back(name.getString());
  if (root.has("export"))
    readExport(root["export"], manifest);
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

int64_t TensorSpec::getAlignedBytes() const { return align(getBytes()); }

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
  return getShard(getElements(), shard->first, shard->of, rank, ranks);
}

int64_t StateSpec::getShardBytes(int64_t rank, int64_t ranks) const {
  return align(getHeld(rank, ranks).getCount() * getSize(dtype));
}

int64_t PayloadSpec::getBytes(int64_t ranks) const {
  return align(rankBytes * ranks);
}

void Manifest::checkTarget(std::string_view kind) const {
  if (targetKind != kind)
    throw failure("target",
                  "compiled for '" + targetKind +
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
    return state.shard || state.isOwn();
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
