//===----------------------------------------------------------------------===//
//
// A loaded module with its memory.
//
//===----------------------------------------------------------------------===//

#include "runtime/trainer/Session.h"

#include "runtime/comm/Communicator.h"
#include "runtime/core/Error.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

using namespace ingot::runtime;

Session::Session(const ingot_module_t &module, const Manifest &manifest,
                 int64_t rank, int64_t ranks)
    : module(module), manifest(manifest), device(openDevice(module, manifest)),
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
  context.rank = rank;
  context.rankCount = ranks;
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
  if (!isSharded && manifest.messages.empty())
    return;
  // A rank may have none of the elements.
  shardBytes = manifest.getShardBytes(context.rank, context.rankCount);
  char *place = device->allocateShards(std::max<int64_t>(
      shardBytes + manifest.getMessageBytes(context.rankCount),
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
  for (const MessageSpec &message : manifest.messages) {
    setAddress(message.offset, place);
    place += message.getBytes(context.rankCount);
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

void Session::layOutStaging() {
  makeStateCopy();
  int64_t inputBytes = 0, scalarBytes = 0;
  for (Function &function : functions) {
    int64_t end = 0;
    for (InputSpec &input : function.inputs) {
      input.offset = end;
      end += (input.getBytes() + INGOT_ALIGNMENT - 1) / INGOT_ALIGNMENT *
             INGOT_ALIGNMENT;
    }
    inputBytes = std::max(inputBytes, end);
    scalarBytes = std::max<int64_t>(scalarBytes, function.spec->outputs.size() *
                                                     sizeof(double));
  }
  for (Staging &staging : inputs)
    staging.data = transfers->allocate(inputBytes);
  scalars.data = transfers->allocate(scalarBytes);
  hostInputs = inputs[0].data;
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
  transfers->copyIn(device->getState(), hostState, manifest.stateBytes);
  if (shards)
    transfers->copyIn(shards, hostShards, shardBytes);
  transfers->wait(transfers->mark());
  stateCopy = Block();
  shardCopy = Block();
  hostState = hostShards = nullptr;
}

void Session::fetchState() {
  // What steps left under way.
  if (context.ranks)
    context.ranks->waitForAll();
  if (!transfers)
    return;
  if (!hostState)
    makeStateCopy();
  transfers->copyOut(hostState, device->getState(), manifest.stateBytes);
  if (shards)
    transfers->copyOut(hostShards, shards, shardBytes);
  transfers->wait(transfers->mark());
}

double Session::readState(const StateSpec &spec) {
  return readAsDouble(read(device->getState() + spec.offset, spec.getBytes()),
                      spec.dtype);
}

void Session::fillBatch(const Function &function, const Dataset &data,
                        const int64_t *samples, int64_t count) {
  if (transfers) {
    std::swap(inputs[0], inputs[1]);
    transfers->wait(inputs[0].lastUse);
    hostInputs = inputs[0].data;
  }
  data.fill(function.inputs, samples, count, hostInputs);
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
  const FunctionSpec &spec = *function.spec;
  if (transfers) {
    for (size_t i = 0; i < spec.inputs.size(); ++i)
      transfers->copyIn(device->getArena() + spec.inputs[i].offset,
                        hostInputs + function.inputs[i].offset,
                        spec.inputs[i].getBytes());
    inputs[0].lastUse = transfers->mark();
  }
  context.function = function.index;
  {
    ProfileScope scope(&context, /*kernel=*/-1);
    device->run(context, function.index, function.run);
  }
  if (transfers) {
    for (size_t i = 0; i < spec.outputs.size(); ++i)
      if (spec.outputs[i].getElements() == 1)
        transfers->copyOut(scalars.data + i * sizeof(double),
                           device->getArena() + spec.outputs[i].offset,
                           spec.outputs[i].getBytes());
    scalars.lastUse = transfers->mark();
  }
  if (context.error)
    throw *context.error;
  if (context.failed)
    throw failure(spec.name, context.message,
                  "report this with the model, or compile with -O0");
}

double Session::readScalar(const Function &function, std::string_view output) {
  const TensorSpec *spec = function.spec->findOutput(output);
  if (!spec || spec->getElements() != 1)
    return std::numeric_limits<double>::quiet_NaN();
  if (!transfers)
    return readAsDouble(getOutput(*spec), spec->dtype);
  transfers->wait(scalars.lastUse);
  size_t index = spec - function.spec->outputs.data();
  return readAsDouble(scalars.data + index * sizeof(double), spec->dtype);
}

const char *Session::getOutput(const TensorSpec &output) {
  return read(device->getArena() + output.offset, output.getBytes());
}

const char *Session::read(const KernelOutput &output) {
  char *block = output.inState ? device->getState() : device->getArena();
  return read(block + output.offset, output.elements * getSize(output.dtype));
}

const char *Session::read(const char *place, int64_t bytes) {
  if (!transfers)
    return place;
  if (static_cast<int64_t>(copy.getSize()) < bytes)
    copy = Block(bytes, "the host's copy of a tensor");
  transfers->copyOut(copy.getData(), place, bytes);
  transfers->wait(transfers->mark());
  return copy.getData();
}
