// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A loaded module with its memory.
//
//===----------------------------------------------------------------------===//

#include "runtime/trainer/session/Session.h"

#include "runtime/comm/Communicator.h"
#include "runtime/core/Error.h"
#include "runtime/core/console/Console.h"
#include "runtime/observe/MetricSums.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

using namespace ingot::runtime;

Session::Session(const ingot_module_t &module, const Manifest &manifest,
                 const RankMesh &mesh, int64_t rank)
    : module(module), manifest(manifest), mesh(mesh), rank(rank),
      device(openDevice(module, manifest, mesh.getSize(mesh.getAxes()))),
      transfers(device->getTransfers()) {
  for (size_t i = 0; i < manifest.functions.size(); ++i) {
    Function function;
    function.spec = &manifest.functions[i];
    function.index = static_cast<int32_t>(i);
    for (uint32_t j = 0; j < module.function_count; ++j)
      if (manifest.getSymbol(*function.spec) == module.functions[j].name)
        function.run = module.functions[j].run;
    if (!function.run)
      throw failure("module",
                    "no function '" + manifest.getSymbol(*function.spec) + "'",
                    "compile the model again");
    function.inputs = function.spec->inputs;
    functions.push_back(function);
  }
  context.device = device.get();
  context.rank = mesh.getPlace(rank, mesh.getShardAxis());
  context.rankCount = mesh.getSize(mesh.getShardAxis());
  hostState = device->getState();
  hostInputs = device->getArena();
  layOutShards();
  if (transfers)
    layOutStaging();
}

void Session::layOutShards() {
  bool isSharded = false;
  for (const StateSpec &state : manifest.states)
    isSharded |= state.shard.has_value();
  if (!isSharded && manifest.payloads.empty())
    return;
  // The block is not empty, even if a rank holds no elements.
  shardBytes = manifest.getShardBytes(context.rank, context.rankCount);
  char *place = device->allocateShards(std::max<int64_t>(
      shardBytes + manifest.getPayloadBytes(context.rankCount),
      INGOT_ALIGNMENT));
  if (isSharded)
    shards = hostShards = place;
  auto setAddress = [&](int64_t offset, char *address) {
    size_t number = offset / sizeof(char *);
    context.shards.resize(std::max(context.shards.size(), number + 1));
    context.shards[number] = address;
  };
  char *block = place;
  for (const StateSpec &state : manifest.states) {
    if (!state.shard)
      continue;
    char *first = place - getHeld(state).begin * getSize(state.dtype);
    shardOffsets[&state] = first - block;
    setAddress(state.offset, first);
    place += state.getShardBytes(context.rank, context.rankCount);
  }
  for (const PayloadSpec &payload : manifest.payloads) {
    setAddress(payload.offset, place);
    place += payload.getBytes(context.rankCount);
  }
}

void Session::makeStateCopy() {
  stateCopy = Block(manifest.stateBytes, "the host's copy of the state");
  hostState = stateCopy.getData();
  if (!shards)
    return;
  shardCopy = Block(shardBytes, "the host's copy of the state's shards");
  hostShards = shardCopy.getData();
}

/// Whether the host reads an output after each run.
static bool isResult(const TensorSpec &output) {
  return output.getElements() == 1 || !MetricSums::getName(output.name).empty();
}

/// The room for an output among the results of a run.
static int64_t getPlaceBytes(const TensorSpec &output) {
  return isResult(output)
             ? ingot::abi::alignTo(output.getBytes(), sizeof(double))
             : 0;
}

static int64_t getResultBytes(const FunctionSpec &function) {
  int64_t bytes = 0;
  for (const TensorSpec &output : function.outputs)
    bytes += getPlaceBytes(output);
  return bytes;
}

void Session::layOutStaging() {
  manifest.checkStaging();
  makeStateCopy();
  int64_t inputBytes = 0, resultBytes = 0;
  for (Function &function : functions) {
    layOutInputs(function);
    inputBytes = std::max(inputBytes, function.spec->getInputBytes());
    resultBytes = std::max(resultBytes, getResultBytes(*function.spec));
  }
  char *block = transfers->getStaging();
  for (Staging &staging : inputs) {
    staging = {transfers->allocate(inputBytes), block, transfers->makeMark(),
               transfers->makeMark()};
    block += manifest.stagingBytes / INGOT_STAGING_BLOCKS;
  }
  for (Results &place : results)
    place = {nullptr, transfers->allocate(resultBytes), transfers->makeMark()};
  copied = transfers->makeMark();
  hostInputs = inputs[0].host;
}

/// Orders inputs as in the arena, where adjacent ones are copied together.
void Session::layOutInputs(Function &function) {
  std::vector<InputSpec *> order;
  for (InputSpec &input : function.inputs)
    order.push_back(&input);
  std::sort(order.begin(), order.end(),
            [](auto *a, auto *b) { return a->offset < b->offset; });
  std::vector<Function::StagedRange> &ranges = function.stagedRanges;
  int64_t end = 0;
  for (InputSpec *input : order) {
    if (ranges.empty() ||
        ranges.back().to - ranges.back().from != input->offset - end)
      ranges.push_back({end, input->offset, 0});
    Function::StagedRange &range = ranges.back();
    range.bytes = end - range.from + input->getBytes();
    input->offset = end;
    end += input->getAlignedBytes();
  }
}

const Function *Session::findFunction(std::string_view name,
                                      size_t variant) const {
  for (const Function &function : functions)
    if (function.spec->name == name && function.spec->variant == variant)
      return &function;
  return nullptr;
}

void Session::storeState() {
  if (!transfers)
    return;
  transfers->copyIn(Queue::Runs, device->getState(), hostState,
                    manifest.stateBytes);
  if (shards)
    transfers->copyIn(Queue::Runs, shards, hostShards, shardBytes);
  waitForCopies();
  stateCopy = Block();
  shardCopy = Block();
  hostState = hostShards = nullptr;
}

void Session::completeState() {
  if (context.ranks)
    context.ranks->waitForAll();
  device->completeState();
}

void Session::fetchState() {
  completeState();
  if (!transfers)
    return;
  if (!hostState)
    makeStateCopy();
  transfers->copyOut(hostState, device->getState(), manifest.stateBytes);
  if (shards)
    transfers->copyOut(hostShards, shards, shardBytes);
  waitForCopies();
}

void Session::waitForCopies() {
  transfers->setMark(copied, Queue::Runs);
  transfers->wait(copied);
}

char *Session::prepareInputs() {
  if (transfers) {
    std::rotate(inputs.begin(), inputs.begin() + 1, inputs.end());
    transfers->wait(inputs[0].sent);
    hostInputs = inputs[0].host;
  }
  return hostInputs;
}

/// Copies the inputs to a staging block of the device during the last run, and
/// from there to the arena directly after that run.
void Session::sendInputs(const Function &function) {
  const Staging &block = inputs[0];
  transfers->holdBack(Queue::Inputs, block.taken);
  transfers->copyIn(Queue::Inputs, block.device, block.host,
                    function.spec->getInputBytes());
  transfers->setMark(block.sent, Queue::Inputs);
  transfers->holdBack(Queue::Runs, block.sent);
  for (const Function::StagedRange &range : function.stagedRanges)
    transfers->copyWithin(device->getArena() + range.to,
                          block.device + range.from, range.bytes);
  transfers->setMark(block.taken, Queue::Runs);
}

void Session::run(const Function &function,
                  const std::map<std::string, double> &hyperparameters,
                  int64_t validSamples) {
  for (const InputSpec &input : function.inputs) {
    char *place = hostInputs + input.offset;
    if (input.kind == InputKind::Hyper) {
      double value = hyperparameters.at(input.name);
      std::memcpy(place, &value, sizeof(value));
    } else if (input.kind == InputKind::Valid) {
      std::memcpy(place, &validSamples, sizeof(validSamples));
    }
  }
  if (transfers)
    sendInputs(function);
  context.function = function.index;
  {
    ProfileScope scope(&context, /*kernel=*/-1);
    device->run(context, function.index, function.run);
  }
  if (context.error)
    throw *context.error;
  if (context.failed)
    throw failure(function.spec->name, context.message,
                  "report this with the model, or compile with -O0");
  filed.checkFile();
}

Results Session::fetchResults(const Function &function) {
  if (!transfers)
    return {function.spec};
  std::rotate(results.begin(), results.begin() + 1, results.end());
  Results &last = results[0];
  last.function = function.spec;
  char *place = last.values;
  for (const TensorSpec &output : function.spec->outputs) {
    if (isResult(output))
      transfers->copyOut(place, device->getArena() + output.offset,
                         output.getBytes());
    place += getPlaceBytes(output);
  }
  transfers->setMark(last.arrived, Queue::Runs);
  return last;
}

void Session::printNotes(Console &console) const {
  for (const std::string &note : context.notes)
    console.noteOnce(note);
}

double Session::readScalar(const Results &from, std::string_view output) {
  const TensorSpec *spec = from.function->findOutput(output);
  if (!spec || spec->getElements() != 1)
    return std::numeric_limits<double>::quiet_NaN();
  return readValues(from, *spec).front();
}

std::vector<double> Session::readValues(const Results &from,
                                        const TensorSpec &output) {
  std::vector<double> values(output.getElements());
  const char *place = from.values;
  if (!transfers) {
    place = getOutput(output);
  } else {
    transfers->wait(from.arrived);
    for (const TensorSpec &other : from.function->outputs) {
      if (&other == &output)
        break;
      place += getPlaceBytes(other);
    }
  }
  convert(place, output.dtype, values.data(), DType::F64, output.getElements());
  return values;
}

const char *Session::getOutput(const TensorSpec &output) {
  return read(device->getArena() + output.offset, output.getBytes());
}

const char *Session::read(const KernelOutput &output) {
  char *block =
      output.space == Space::State ? device->getState() : device->getArena();
  return read(block + output.offset, output.elements * getSize(output.dtype));
}

const char *Session::readShard(const StateSpec &spec) {
  ElementRange held = getHeld(spec);
  int64_t size = getSize(spec.dtype);
  return read(shards + shardOffsets.at(&spec) + held.begin * size,
              held.getCount() * size);
}

PartPlaces Session::getPlaces(const StateSpec &spec, int64_t ofRank) const {
  if (!spec.partition)
    return PartPlaces::ofWhole(spec.getElements());
  std::vector<PartOfDim> dims;
  for (size_t i = 0; i < spec.partition->dims.size(); ++i) {
    const SplitDim &dim = spec.partition->dims[i];
    auto axes = static_cast<int32_t>(dim.axes);
    PartOfDim &part = dims.emplace_back();
    part = {mesh.getPlace(ofRank, axes), mesh.getSize(axes), dim.segments,
            dim.pad};
    if (part.segments.empty())
      part.segments = {spec.partition->whole[i]};
  }
  return PartPlaces(std::move(dims));
}

bool Session::isFirstHolder(const StateSpec &spec, int64_t ofRank) const {
  int32_t axes = spec.getSplitAxes();
  if (spec.shard)
    axes |= mesh.getShardAxis();
  if (spec.isOwn())
    axes |= RankMesh::kSampleAxes;
  return mesh.getPlace(ofRank, mesh.getAxes() & ~axes) == 0;
}

const char *Session::read(const char *place, int64_t bytes) {
  if (!transfers)
    return place;
  if (static_cast<int64_t>(copy.getSize()) < bytes)
    copy = Block(bytes, "the host's copy of a tensor");
  transfers->copyOut(copy.getData(), place, bytes);
  waitForCopies();
  return copy.getData();
}
