// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Initial values of states, and checkpoints.
//
//===----------------------------------------------------------------------===//

#include "runtime/trainer/state/State.h"

#include "runtime/checkpoint/TensorFiles.h"
#include "runtime/comm/Communicator.h"
#include "runtime/core/Error.h"
#include "runtime/core/Memory.h"
#include "runtime/core/Random.h"
#include "runtime/core/Text.h"
#include "runtime/core/console/Console.h"
#include "runtime/core/files/Crc32.h"
#include "runtime/core/machine/ControlGroups.h"
#include "runtime/trainer/state/CompiledWeights.h"
#include "runtime/trainer/state/StateValues.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <map>
#include <system_error>
#include <thread>

using namespace ingot::runtime;

/// The number of elements that are generated at a time.
static constexpr int64_t kPiece = 4096;

static void fill(Session &session, const StateSpec &spec) {
  int64_t size = getSize(spec.dtype);
  char element[sizeof(double)] = {};
  double value = spec.init.value.value_or(0);
  convert(&value, DType::F64, element, spec.dtype, 1);
  // A session's memory is zero at first. Zeros are not written, so that the
  // moments of a large model do not delay its first step.
  if (std::all_of(element, element + size, [](char c) { return c == 0; }))
    return;
  ElementRange held = session.getHeld(spec);
  std::string values;
  for (int64_t i = 0, e = std::min(kPiece, held.getCount()); i < e; ++i)
    values.append(element, size);
  for (int64_t i = held.begin; i < held.end; i += kPiece)
    writeValues(session, spec, i, std::min(kPiece, held.end - i), values.data(),
                spec.dtype);
}

static void drawNormal(Session &session, const StateSpec &spec, uint64_t seed) {
  double mean = spec.init.mean.value_or(0);
  double deviation = spec.init.deviation.value_or(0);
  ElementRange held = session.getHeld(spec);
  std::atomic<int64_t> next = held.begin;
  auto draw = [&] {
    // Each name has its own stream, so that values do not depend on other
    // parameters.
    Philox random(seed, hashName(spec.name) >> 1);
    std::array<double, kPiece> values;
    for (int64_t i; (i = next.fetch_add(kPiece)) < held.end;) {
      int64_t some = std::min(kPiece, held.end - i);
      random.seek(i);
      for (int64_t k = 0; k < some; ++k)
        values[k] = mean + deviation * random.normal();
      writeValues(session, spec, i, some, values.data(), DType::F64);
    }
  };
  // The largest models have billions of numbers, of some 60 ns each.
  int64_t threads = std::min(countProcessors(), held.getCount() / kPiece);
  std::vector<std::jthread> others;
  try {
    for (int64_t i = 1; i < threads; ++i)
      others.emplace_back(draw);
  } catch (const std::system_error &) {
    // Fewer threads draw the same numbers.
  }
  draw();
}

static std::string describe(const std::vector<int64_t> &shape) {
  std::string text = "[";
  for (int64_t extent : shape)
    text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
  return text + "]";
}

/// Throws unless a tensor can be copied into a state.
static void checkTensor(const StateSpec &spec, const TensorView &tensor,
                        const std::string &where) {
  if (tensor.shape != spec.shape)
    throw badInput(where,
                   "shape " + describe(tensor.shape) + ", the model has " +
                       describe(spec.shape),
                   "use weights of the same model");
  bool sameKind = tensor.dtype == spec.dtype ||
                  (isFloat(tensor.dtype) && isFloat(spec.dtype));
  if (!sameKind)
    throw badInput(where,
                   "element type " + std::string(getName(tensor.dtype)) +
                       ", the model has " + std::string(getName(spec.dtype)),
                   "use weights of the same model");
}

/// Copies a tensor into a state, converting between float types.
static void assignState(Session &session, const StateSpec &spec,
                        const TensorView &tensor, const std::string &where) {
  checkTensor(spec, tensor, where);
  ElementRange held = session.getHeld(spec);
  writeValues(session, spec, held.begin, held.getCount(),
              tensor.data.data() + held.begin * getSize(tensor.dtype),
              tensor.dtype);
}

TensorView ingot::runtime::viewState(const Session &session,
                                     const StateSpec &spec) {
  TensorView view{spec.dtype, spec.shape, {}};
  if (spec.halves.empty())
    view.data = {session.getPlace(spec), static_cast<size_t>(spec.getBytes())};
  else
    view.pieces = [&session, &spec](const TensorView::Sink &take) {
      readPieces(session, spec, take);
    };
  return view;
}

using StateList = std::vector<const StateSpec *>;

/// Copies the weights of the compiler.
static void loadWeights(Session &session, StateList states) {
  std::erase_if(states, [](const StateSpec *spec) {
    return spec->init.kind != InitKind::Weights;
  });
  if (states.empty())
    return;
  CompiledWeights weights(session);
  for (const StateSpec *spec : states) {
    const TensorView *found = weights.find(spec->name);
    if (!found)
      throw badInput(weights.getPlace(), "no tensor '" + spec->name + "'",
                     "compile the model again");
    assignState(session, *spec, *found, weights.getPlace() + ": " + spec->name);
  }
}

void ingot::runtime::loadWeightsFile(Session &session, const std::string &path,
                                     Console &console) {
  TensorFiles files(path);
  SafeTensors &weights = files.getContent();
  std::map<const StateSpec *, TensorView> values;
  for (const StateSpec &spec : session.getManifest().states) {
    if (!spec.isModel())
      continue;
    auto found = weights.tensors.find(spec.name);
    if (found == weights.tensors.end()) {
      // Files of weights often lack the constants of the graph.
      if (spec.role == StateRole::Frozen)
        continue;
      throw badInput(path, "no tensor '" + spec.name + "'",
                     "use weights of the same model; names are those of the "
                     "ONNX initializers");
    }
    checkTensor(spec, found->second, path + ": " + spec.name);
    values.emplace(&spec, found->second);
    weights.tensors.erase(found);
  }
  for (const auto &[spec, tensor] : values)
    assignState(session, *spec, tensor, path + ": " + spec->name);
  refreshCopies(session);
  std::vector<std::string> others;
  for (const auto &[name, tensor] : weights.tensors)
    others.push_back(name);
  if (others.size() == 1)
    console.noteOnce(path + ": tensor '" + others.front() +
                     "' is not in the model: ignored");
  else if (!others.empty())
    console.noteOnce(path + ": " + std::to_string(others.size()) +
                     " tensors are not in the model: ignored (" +
                     listNames(others) + ")");
}

void ingot::runtime::refreshCopies(Session &session) {
  const Manifest &manifest = session.getManifest();
  for (const StateSpec &copy : manifest.states) {
    if (copy.init.kind != InitKind::Copy)
      continue;
    const StateSpec &original = *manifest.findState(copy.init.of);
    // A split master is stored in its halves only.
    if (!original.halves.empty())
      continue;
    // Ranks have the same shards of both.
    ElementRange held = session.getHeld(copy);
    convert(session.getPlace(original) + held.begin * getSize(original.dtype),
            original.dtype,
            session.getPlace(copy) + held.begin * getSize(copy.dtype),
            copy.dtype, held.getCount());
  }
}

static void initialize(Session &session, const StateList &states,
                       uint64_t seed) {
  for (const StateSpec *spec : states) {
    if (spec->init.kind == InitKind::Fill)
      fill(session, *spec);
    else if (spec->init.kind == InitKind::Normal)
      drawNormal(session, *spec, seed);
    if (spec->role == StateRole::Seed)
      convert(&seed, DType::U64, session.getPlace(*spec), DType::I64, 1);
  }
  loadWeights(session, states);
}

void ingot::runtime::initializeState(Session &session, uint64_t seed,
                                     const std::string &initPath,
                                     Console &console) {
  StateList states;
  for (const StateSpec &spec : session.getManifest().states)
    states.push_back(&spec);
  // This comes before --init, whose file may lack constants of the graph.
  initialize(session, states, seed);
  if (!initPath.empty())
    loadWeightsFile(session, initPath, console);
  else
    refreshCopies(session);
}

/// Assembles the elements of a state that this rank holds from the saved
/// shards. Returns false if no shard has any of them.
static bool assignShards(Session &session, const StateSpec &spec,
                         const std::vector<SafeTensors> &shards,
                         const std::string &where) {
  ElementRange held = session.getHeld(spec);
  int64_t found = 0;
  bool isThere = false;
  for (const SafeTensors &shard : shards) {
    auto tensor = shard.tensors.find(spec.name);
    auto start = shard.metadata.find(spec.name);
    if (tensor == shard.tensors.end() || start == shard.metadata.end())
      continue;
    isThere = true;
    const TensorView &piece = tensor->second;
    int64_t first = std::strtoll(start->second.c_str(), nullptr, 10);
    int64_t count = piece.shape.size() == 1 ? piece.shape[0] : -1;
    if (count < 0 || first < 0 || first > spec.getElements() - count ||
        !isFloat(piece.dtype) || !isFloat(spec.dtype))
      throw badInput(where,
                     "a shard does not fit the model's " + describe(spec.shape),
                     "resume with a trainer of the same model and optimizer");
    int64_t begin = std::max(first, held.begin);
    int64_t end = std::min(first + count, held.end);
    if (begin >= end)
      continue;
    writeValues(session, spec, begin, end - begin,
                piece.data.data() + (begin - first) * getSize(piece.dtype),
                piece.dtype);
    found += end - begin;
  }
  if (isThere && found != held.getCount())
    throw badInput(where, "shards do not hold all elements",
                   "resume from another checkpoint of the folder");
  return isThere;
}

/// Sums the error-feedback residuals of the ranks that saved. Each rank
/// continues with an equal part of the sum, so that the mean over ranks does
/// not change.
static void restoreOwn(Session &session, const StateSpec &spec,
                       const CheckpointState &saved, const std::string &where) {
  const int64_t rank = session.getContext().rank, ranks = session.getRanks();
  const auto savedRanks = std::max<int64_t>(1, saved.shards.size());
  const float weight =
      static_cast<float>(ranks) / static_cast<float>(savedRanks);
  std::vector<float> sum(spec.getElements()), part(sum.size());
  auto add = [&](const SafeTensors &tensors) {
    auto found = tensors.tensors.find(spec.name);
    if (found == tensors.tensors.end())
      return;
    const TensorView &tensor = found->second;
    if (tensor.shape != spec.shape || !isFloat(tensor.dtype))
      throw badInput(where,
                     "shape " + describe(tensor.shape) + ", the model has " +
                         describe(spec.shape),
                     "resume with a trainer of the same model and compression");
    convert(tensor.data.data(), tensor.dtype,
            reinterpret_cast<char *>(part.data()), DType::F32, part.size());
    for (size_t i = 0; i < sum.size(); ++i)
      sum[i] += weight * part[i];
  };
  if (rank == 0)
    add(saved.whole);
  for (size_t from = rank; from < saved.shards.size(); from += ranks)
    add(saved.shards[from]);
  convert(sum.data(), DType::F32, session.getPlace(spec), spec.dtype,
          sum.size());
}

void ingot::runtime::checkState(const Session &session,
                                const CheckpointState &saved,
                                const std::string &path) {
  for (const StateSpec &spec : session.getManifest().states) {
    if (!spec.isSaved() || spec.isOwn())
      continue;
    auto found = saved.whole.tensors.find(spec.name);
    auto hasIt = [&](const SafeTensors &shard) {
      return shard.tensors.count(spec.name) != 0 &&
             shard.metadata.count(spec.name) != 0;
    };
    if (found != saved.whole.tensors.end())
      checkTensor(spec, found->second, path + ": " + spec.name);
    else if (!spec.isOptional() &&
             std::none_of(saved.shards.begin(), saved.shards.end(), hasIt))
      throw badInput(path, "no state '" + spec.name + "'",
                     "resume with a trainer of the same model and optimizer");
  }
}

void ingot::runtime::restoreState(Session &session,
                                  const CheckpointState &saved,
                                  const std::string &path) {
  checkState(session, saved, path);
  StateList missing;
  for (const StateSpec &spec : session.getManifest().states) {
    if (!spec.isSaved())
      continue;
    std::string where = path + ": " + spec.name;
    if (spec.isOwn()) {
      restoreOwn(session, spec, saved, where);
      continue;
    }
    auto found = saved.whole.tensors.find(spec.name);
    if (found != saved.whole.tensors.end())
      assignState(session, spec, found->second, where);
    else if (assignShards(session, spec, saved.shards, where))
      continue;
    // A run can be resumed in another precision, or with compressed gradients.
    else
      missing.push_back(&spec);
  }
  initialize(session, missing, /*seed=*/0);
  refreshCopies(session);
}

/// Whether every rank has to save its part of the state.
static bool isInShards(const Session &session, const StateSpec &spec) {
  return (spec.shard || spec.isOwn()) && session.getRanks() > 1;
}

SafeTensors ingot::runtime::viewWholeStates(const Session &session) {
  SafeTensors state;
  for (const StateSpec &spec : session.getManifest().states)
    if (spec.isSaved() && !isInShards(session, spec))
      state.tensors[spec.name] = viewState(session, spec);
  return state;
}

SafeTensors ingot::runtime::viewShards(const Session &session) {
  SafeTensors shards;
  for (const StateSpec &spec : session.getManifest().states) {
    ElementRange held = session.getHeld(spec);
    if (!spec.isSaved() || !isInShards(session, spec) || held.getCount() == 0)
      continue;
    if (spec.isOwn()) {
      shards.tensors[spec.name] = viewState(session, spec);
      continue;
    }
    int64_t size = getSize(spec.dtype);
    shards.tensors[spec.name] = {spec.dtype,
                                 {held.getCount()},
                                 {session.getPlace(spec) + held.begin * size,
                                  static_cast<size_t>(held.getCount() * size)}};
    shards.metadata[spec.name] = std::to_string(held.begin);
  }
  return shards;
}

static int64_t getChecksum(const char *data, int64_t bytes) {
  return computeCrc32({data, static_cast<size_t>(bytes)});
}

void ingot::runtime::shareState(Session &session, Communicator &ranks,
                                int64_t step) {
  if (ranks.getSize() == 1)
    return;
  const Manifest &manifest = session.getManifest();
  const ingot_module_t &module = session.getModule();
  ranks.checkEqual(
      getChecksum(module.manifest, static_cast<int64_t>(module.manifest_bytes)),
      "trainer", "start one file on all ranks");
  ranks.checkEqual(step, "step to resume from",
                   "give all ranks the same checkpoint");
  std::map<const StateSpec *, std::string> own;
  for (const StateSpec &spec : manifest.states)
    if (spec.isOwn())
      own[&spec] = viewState(session, spec).data;
  char *state = session.getStates();
  ranks.broadcast(state, manifest.stateBytes, 0, "the initial state");
  ranks.checkEqual(getChecksum(state, manifest.stateBytes), "initial state",
                   "check the network and the memory of that machine");
  for (const auto &[spec, value] : own)
    std::memcpy(session.getPlace(*spec), value.data(), value.size());
  // Ranks train on different samples, and dropout differs between them. Rank
  // 0's seed does not change, because it is the one in checkpoints.
  constexpr uint64_t spread = 0x9E3779B97F4A7C15;
  for (const StateSpec &spec : manifest.states)
    if (spec.role == StateRole::Seed) {
      uint64_t seed;
      char *place = session.getPlace(spec);
      std::memcpy(&seed, place, sizeof(seed));
      seed += spread * static_cast<uint64_t>(ranks.getRank());
      std::memcpy(place, &seed, sizeof(seed));
    } else if (spec.role == StateRole::Coordinates) {
      RankMesh::Sizes place = ranks.getMesh().getCoordinates(ranks.getRank());
      std::memcpy(session.getPlace(spec), place.data(), sizeof(place));
    }
}
