// SPDX-License-Identifier: Apache-2.0

#include "runtime/embed/EmbeddedSession.h"

#include "runtime/core/Error.h"
#include "runtime/embed/IndexCheck.h"
#include "runtime/embed/LibraryFunctions.h"
#include "runtime/embed/StepMemory.h"
#include "runtime/trainer/adapters/AdapterPart.h"
#include "runtime/trainer/options/phases/Hyperparameters.h"
#include "runtime/trainer/state/State.h"
#include "runtime/trainer/state/StateValues.h"

#include <algorithm>
#include <cstring>
#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>
#include <mutex>
#include <utility>

using namespace ingot::runtime;

/// The module of the library, which its sessions share.
static std::shared_ptr<const LoadedModule> loadModule() {
  static std::mutex mutex;
  static std::weak_ptr<const LoadedModule> last;
  std::lock_guard lock(mutex);
  std::shared_ptr<const LoadedModule> loaded = last.lock();
  if (!loaded)
    last = loaded =
        std::make_shared<const LoadedModule>(chooseModule(ingot_module));
  return loaded;
}

/// The file of weights beside the file that holds the model: a library, which
/// keeps the name that the compiler gave it, or a program. Empty for a program:
/// the loader knows it by the words that it was started with.
static std::string findSidecar(const char *given) {
  Dl_info info = {};
  void *map = nullptr;
  if (given)
    return given;
  if (!dladdr1(reinterpret_cast<void *>(&ingot_get_model), &info, &map,
               RTLD_DL_LINKMAP))
    return "";
  std::string file = static_cast<const link_map *>(map)->l_name;
  return file.empty() ? file : file + ".safetensors";
}

static std::function<void(const std::string &)>
makeSink(const ingot_options &options) {
  return [log = options.log, data = options.log_data](const std::string &line) {
    if (log)
      log(data, line.c_str());
  };
}

EmbeddedSession::EmbeddedSession(
    const ingot_options &options,
    std::unique_ptr<const SessionSettings> settings)
    : settings(std::move(settings)), console(makeSink(options)),
      loaded(loadModule()), lists(loaded->manifest),
      session(*loaded->module, loaded->manifest), seed(options.seed) {
  for (const HyperparameterSpec &spec : loaded->manifest.hyperparameters)
    hyperparameters[spec.name] = spec.value;
  session.setSidecar(findSidecar(options.sidecar));
  std::string weights = options.weights ? options.weights : "";
  initializeState(session, seed, weights, console);
  startAdapters(session, weights);
  pruner = openPruner(session);
  pruneWeights();
  session.storeState();
}

void EmbeddedSession::pruneWeights() {
  if (pruner)
    pruner->prune(steps);
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

void EmbeddedSession::selectShape(size_t index) {
  size_t shapes = list(INGOT_SHAPES).size();
  if (index >= shapes)
    throw usageError(
        "shape",
        fmt::format("there is no shape {}: the model has {}", index, shapes),
        "INGOT_SHAPES lists them");
  shape = index;
  prepared.reset();
}

const Function &EmbeddedSession::findFunction(ingot_list inputs) const {
  const char *name = inputs == INGOT_STEP_INPUTS       ? "train_step"
                     : inputs == INGOT_EVALUATE_INPUTS ? "eval_step"
                     : inputs == INGOT_PREDICT_INPUTS  ? "predict"
                                                       : nullptr;
  if (!name)
    throw usageError("list", "it is no list of inputs",
                     "give INGOT_STEP_INPUTS, INGOT_EVALUATE_INPUTS or "
                     "INGOT_PREDICT_INPUTS");
  if (const Function *function = session.findFunction(name, shape))
    return *function;
  throw usageError(name, "the model has no such function",
                   "compile it from a graph that has one");
}

void EmbeddedSession::requireStates() const {
  if (isTorn)
    throw usageError("session",
                     "an earlier call failed while it replaced the states",
                     "call ingot_reset, or ingot_resume with a checkpoint "
                     "that fits");
}

/// The samples of an input that belong to a batch; 0 if it has none of its own.
static int64_t getRows(const InputSpec &input, int64_t batch) {
  return !input.shape.empty() && input.shape[0] == batch ? batch : 0;
}

/// The bytes of the first samples of an input.
static int64_t getBytes(const InputSpec &input, int64_t batch,
                        int64_t samples) {
  int64_t rows = getRows(input, batch);
  return rows ? input.getBytes() / rows * samples : input.getBytes();
}

/// The offset in the memory of inputs.
static int64_t getOffset(const Function &function, const InputSpec &input) {
  for (const InputSpec &placed : function.inputs)
    if (placed.name == input.name)
      return placed.offset;
  throw failure(function.spec->name, "no input '" + input.name + "'",
                "compile the model again");
}

void EmbeddedSession::check(ingot_list list,
                            std::span<const ingot_input> inputs,
                            int64_t samples, int64_t batches) const {
  const Function &function = findFunction(list);
  int64_t batch = loaded->manifest.getBatch(shape);
  size_t number = 0;
  for (const InputSpec &input : function.spec->inputs)
    number += input.isBatched();
  if (inputs.size() != number)
    throw usageError(
        "inputs",
        fmt::format("{} are given, the model has {}", inputs.size(), number),
        "give all of them, in the order of the list");
  size_t index = 0;
  for (const InputSpec &input : function.spec->inputs) {
    if (!input.isBatched())
      continue;
    const ingot_input &given = inputs[index++];
    int64_t bytes = getBytes(input, batch, samples) * batches;
    if (!given.data && (prepared != list || batches != 1))
      throw usageError(input.name, "its data is null",
                       batches == 1
                           ? "give its values, or fill them in at the address "
                             "that ingot_input_address returns"
                           : "give its values: several micro-batches cannot "
                             "be filled in place");
    if (given.data && given.bytes != static_cast<size_t>(bytes))
      throw usageError(input.name,
                       fmt::format("{} bytes are given, {} are needed: {} of "
                                   "{}",
                                   given.bytes, bytes,
                                   bytes / getSize(input.dtype),
                                   getName(input.dtype)),
                       "give all samples of the call, in the model's type");
    const char *data = given.data ? static_cast<const char *>(given.data)
                                  : memory + getOffset(function, input);
    checkIndices(input, data, bytes / getSize(input.dtype));
  }
}

/// Fills rows that nobody looks at with what does no harm.
static void pad(const InputSpec &input, char *to, int64_t bytes) {
  int64_t value =
      input.kind == InputKind::Labels && input.classes ? input.getIgnored() : 0;
  if (value == 0 || !canConvert(DType::I64, input.dtype)) {
    std::memset(to, 0, static_cast<size_t>(bytes));
    return;
  }
  for (int64_t at = 0; at < bytes; at += getSize(input.dtype))
    convert(&value, DType::I64, to + at, input.dtype, 1);
}

void EmbeddedSession::place(const Function &function, ingot_list list,
                            std::span<const ingot_input> inputs,
                            int64_t samples, int64_t batch) {
  if (prepared != list)
    memory = session.prepareInputs();
  prepared.reset();
  int64_t rows = loaded->manifest.getBatch(shape);
  size_t index = 0;
  for (const InputSpec &input : findFunction(list).spec->inputs) {
    if (!input.isBatched())
      continue;
    const ingot_input &given = inputs[index++];
    char *to = memory + getOffset(function, input);
    int64_t bytes = getBytes(input, rows, samples);
    if (given.data)
      std::memcpy(to, static_cast<const char *>(given.data) + batch * bytes,
                  static_cast<size_t>(bytes));
    if (bytes < input.getBytes())
      pad(input, to + bytes, input.getBytes() - bytes);
  }
}

void EmbeddedSession::checkResults(ingot_list list,
                                   std::span<double> results) const {
  size_t number = this->list(list).size();
  if (results.size() > number)
    throw usageError(
        "results",
        fmt::format("{} are asked for, there are {}", results.size(), number),
        "the list of results names them");
}

void EmbeddedSession::read(const Function &function,
                           std::span<double> results) {
  size_t index = 0;
  for (const TensorSpec &output : function.spec->outputs) {
    if (index == results.size())
      break;
    if (isResult(output))
      results[index++] = readAsDouble(session.getOutput(output), output.dtype);
  }
  session.printNotes(console);
}

void EmbeddedSession::step(std::span<const ingot_input> inputs,
                           std::span<double> results) {
  requireStates();
  StepMemoryScope kept;
  const Manifest &manifest = loaded->manifest;
  const Function &last = findFunction(INGOT_STEP_INPUTS);
  int64_t parts = manifest.gradAccumulation, batch = manifest.getBatch(shape);
  checkResults(INGOT_STEP_RESULTS, results);
  check(INGOT_STEP_INPUTS, inputs, batch, parts);
  for (int64_t part = 0; part < parts; ++part) {
    const Function &function =
        part + 1 < parts ? *session.findFunction("accumulate_step", shape)
                         : last;
    place(function, INGOT_STEP_INPUTS, inputs, batch, part);
    session.run(function, hyperparameters, batch);
  }
  ++steps;
  if (pruner && pruner->isDue(steps))
    pruneWeights();
  read(last, results);
}

/// Throws unless a call can take that many samples.
static void checkSamples(size_t samples, int64_t batch) {
  if (samples == 0 || samples > static_cast<size_t>(batch))
    throw usageError("samples",
                     fmt::format("{} is not between 1 and {}", samples, batch),
                     "give as many samples as the inputs hold");
}

void EmbeddedSession::evaluate(std::span<const ingot_input> inputs,
                               size_t samples, std::span<double> results) {
  requireStates();
  StepMemoryScope kept;
  const Manifest &manifest = loaded->manifest;
  const Function &function = findFunction(INGOT_EVALUATE_INPUTS);
  checkSamples(samples, manifest.getBatch(shape));
  auto some = static_cast<int64_t>(samples);
  if (!manifest.evaluatesParts() && some != manifest.getBatch(shape))
    throw usageError("samples",
                     "a loss that the graph computes cannot leave samples out",
                     "evaluate whole batches");
  checkResults(INGOT_EVALUATE_RESULTS, results);
  check(INGOT_EVALUATE_INPUTS, inputs, some, /*batches=*/1);
  place(function, INGOT_EVALUATE_INPUTS, inputs, some, /*batch=*/0);
  session.run(function, hyperparameters, some);
  read(function, results);
}

void EmbeddedSession::predict(std::span<const ingot_input> inputs,
                              size_t samples,
                              std::span<const ingot_output> outputs) {
  requireStates();
  StepMemoryScope kept;
  const Function &function = findFunction(INGOT_PREDICT_INPUTS);
  int64_t batch = loaded->manifest.getBatch(shape);
  checkSamples(samples, batch);
  auto some = static_cast<int64_t>(samples);
  const std::vector<TensorSpec> &specs = function.spec->outputs;
  if (outputs.size() != specs.size())
    throw usageError("outputs",
                     fmt::format("{} are given, the model has {}",
                                 outputs.size(), specs.size()),
                     "give all of them, with null for what is not wanted");
  auto getWanted = [&](const TensorSpec &output) {
    bool isBatched = !output.shape.empty() && output.shape[0] == batch;
    return static_cast<size_t>(isBatched ? output.getBytes() / batch * some
                                         : output.getBytes());
  };
  for (size_t i = 0; i < specs.size(); ++i)
    if (outputs[i].data && outputs[i].bytes != getWanted(specs[i]))
      throw usageError(specs[i].name,
                       fmt::format("{} bytes are given, {} are needed",
                                   outputs[i].bytes, getWanted(specs[i])),
                       "give room for the samples of the call, in the model's "
                       "type");
  check(INGOT_PREDICT_INPUTS, inputs, some, /*batches=*/1);
  place(function, INGOT_PREDICT_INPUTS, inputs, some, /*batch=*/0);
  session.run(function, hyperparameters, some);
  for (size_t i = 0; i < specs.size(); ++i)
    if (outputs[i].data)
      std::memcpy(outputs[i].data, session.getOutput(specs[i]),
                  getWanted(specs[i]));
  session.printNotes(console);
}

void *EmbeddedSession::getInputAddress(ingot_list list, size_t index) {
  const Function &function = findFunction(list);
  if (list == INGOT_STEP_INPUTS && loaded->manifest.gradAccumulation > 1)
    throw usageError("list", "several micro-batches cannot be filled in place",
                     "give their values to ingot_step");
  for (const InputSpec &input : function.spec->inputs) {
    if (!input.isBatched() || index-- != 0)
      continue;
    if (prepared != list)
      memory = session.prepareInputs();
    prepared = list;
    return memory + getOffset(function, input);
  }
  throw usageError("index", "there is no such input",
                   "ingot_count returns the length of the list");
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

static Error unknown(const std::string &kind, const std::string &name,
                     const char *list) {
  return usageError(kind, "the model has no '" + name + "'",
                    std::string(list) + " lists the names");
}

double EmbeddedSession::getHyperparameter(const std::string &name) const {
  auto found = hyperparameters.find(name);
  if (found == hyperparameters.end())
    throw unknown("hyperparameter", name, "INGOT_HYPERPARAMETERS");
  return found->second;
}

void EmbeddedSession::setHyperparameter(const std::string &name, double value) {
  getHyperparameter(name);
  std::string problem = checkHyperparameter(name, fmt::format("{}", value));
  if (!problem.empty())
    throw usageError(name, problem, "give a value that the optimizer has");
  hyperparameters[name] = value;
}

const StateSpec &EmbeddedSession::findState(const std::string &name,
                                            size_t bytes, DType type) const {
  const StateSpec *spec = loaded->manifest.findState(name);
  if (!spec || !isListed(*spec))
    throw unknown("state", name, "INGOT_STATES");
  auto wanted = static_cast<size_t>(spec->getElements() * getSize(type));
  if (bytes != wanted)
    throw usageError(name,
                     fmt::format("{} bytes are given, {} are needed: {} of {}",
                                 bytes, wanted, spec->getElements(),
                                 getName(type)),
                     "give memory for all elements");
  return *spec;
}

/// Throws unless the type is one of ingot.h.
static DType requireType(ingot_type type) {
  if (auto known = ingot::runtime::getDType(type))
    return *known;
  throw usageError("type", fmt::format("{} is none", static_cast<int>(type)),
                   "give one of ingot_type");
}

/// Throws unless values can be converted.
static void requireConversion(const std::string &name, DType from, DType to) {
  if (!canConvert(from, to))
    throw usageError(
        name,
        fmt::format("{} does not convert to {}", getName(from), getName(to)),
        "give a type that holds its values");
}

void EmbeddedSession::getState(const std::string &name, ingot_type type,
                               void *data, size_t bytes) {
  requireStates();
  DType to = requireType(type);
  const StateSpec &spec = findState(name, bytes, to);
  requireConversion(name, spec.dtype, to);
  session.fetchState();
  readValues(session, spec, 0, spec.getElements(), data, to);
}

void EmbeddedSession::setState(const std::string &name, ingot_type type,
                               const void *data, size_t bytes) {
  requireStates();
  DType from = requireType(type);
  const StateSpec &spec = findState(name, bytes, from);
  requireConversion(name, from, spec.dtype);
  int64_t at = 0;
  if (!isFloat(from) && !isFloat(spec.dtype) &&
      !fitsIn(data, from, spec.dtype, spec.getElements(), at))
    throw badInput(
        name,
        fmt::format("element {} does not fit in {}", at, getName(spec.dtype)),
        "give values that the state can hold");
  session.fetchState();
  writeValues(session, spec, 0, spec.getElements(), data, from);
  refreshCopies(session);
  session.storeState();
}

void EmbeddedSession::reset(uint64_t seed) {
  this->seed = seed;
  session.fetchState();
  isTorn = true;
  // Initial values are written over zeros.
  std::memset(session.getStates(), 0,
              static_cast<size_t>(loaded->manifest.stateBytes));
  initializeState(session, seed, "", console);
  startAdapters(session, "");
  steps = 0;
  pruneWeights();
  session.storeState();
  isTorn = false;
  resumed.reset();
  folders.clear();
}

void EmbeddedSession::fill(ingot_statistics &statistics) {
  const Manifest &manifest = loaded->manifest;
  statistics.steps = steps;
  statistics.state_bytes = static_cast<size_t>(manifest.stateBytes);
  statistics.arena_bytes = static_cast<size_t>(manifest.arenaBytes);
  statistics.scratch_bytes = session.getContext().getUnplannedBytes();
  statistics.threads =
      static_cast<int>(session.getDevice().getParallelism().threads);
}
