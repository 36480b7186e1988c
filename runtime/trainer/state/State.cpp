// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Initial values of states, and checkpoints.
//
//===----------------------------------------------------------------------===//

#include "runtime/trainer/state/State.h"

#include "runtime/abi/Mapping.h"
#include "runtime/abi/TeacherNames.h"
#include "runtime/checkpoint/TensorFiles.h"
#include "runtime/comm/Communicator.h"
#include "runtime/core/Error.h"
#include "runtime/core/Memory.h"
#include "runtime/core/Random.h"
#include "runtime/core/Text.h"
#include "runtime/core/console/Console.h"
#include "runtime/core/files/Crc32.h"
#include "runtime/core/machine/ControlGroups.h"
#include "runtime/trainer/state/AdapterStates.h"
#include "runtime/trainer/state/CompiledWeights.h"
#include "runtime/trainer/state/SavedElements.h"
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

/// Returns a number of [-1, 1), of a block of its own as a normal one has.
static double drawSigned(Philox &random) {
  double number = static_cast<double>(random.next64() >> 11) * 0x1p-52 - 1;
  random.next64();
  return number;
}

/// Draws the elements of a normal or a uniform distribution.
static void drawValues(Session &session, const StateSpec &spec, uint64_t seed) {
  double mean = spec.init.mean.value_or(0);
  double deviation = spec.init.deviation.value_or(0);
  double bound = spec.init.bound.value_or(0);
  bool isNormal = spec.init.kind == InitKind::Normal;
  ElementRange held = session.getHeld(spec);
  const PartPlaces places = session.getPlaces(spec);
  std::atomic<int64_t> next = held.begin;
  auto draw = [&] {
    // Each name has its own stream, so that values do not depend on other
    // parameters.
    Philox random(seed, hashName(spec.name) >> 1);
    std::array<double, kPiece> values;
    for (int64_t i; (i = next.fetch_add(kPiece)) < held.end;) {
      int64_t some = std::min(kPiece, held.end - i);
      // Those of the whole tensor, whatever part of it a rank has.
      places.forEach({i, i + some}, [&](const PartPlaces::Run &run) {
        random.seek(std::max<int64_t>(run.whole, 0));
        for (int64_t k = 0; k < run.count; ++k)
          values[run.first - i + k] = run.whole < 0 ? 0
                                      : isNormal
                                          ? mean + deviation * random.normal()
                                          : bound * drawSigned(random);
      });
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

void ingot::runtime::checkTensor(const StateSpec &spec,
                                 const TensorView &tensor,
                                 const std::string &where) {
  if (tensor.shape != spec.getWholeShape())
    throw badInput(where,
                   "shape " + describeShape(tensor.shape) + ", the model has " +
                       describeShape(spec.getWholeShape()),
                   "use weights of the same model");
  bool sameKind = tensor.dtype == spec.dtype ||
                  (isFloat(tensor.dtype) && isFloat(spec.dtype));
  if (!sameKind)
    throw badInput(where,
                   "element type " + std::string(getName(tensor.dtype)) +
                       ", the model has " + std::string(getName(spec.dtype)),
                   "use weights of the same model");
}

/// Takes elements into the state.
static TakeElements writeTo(Session &session, const StateSpec &spec) {
  return [&](int64_t first, int64_t count, const char *from, DType dtype) {
    writeValues(session, spec, first, count, from, dtype);
  };
}

void ingot::runtime::assignState(Session &session, const StateSpec &spec,
                                 const TensorView &tensor,
                                 const std::string &where) {
  checkTensor(spec, tensor, where);
  if (session.getFiled().contain(spec) && spec.home != StateHome::Encoded &&
      tensor.dtype == spec.dtype &&
      std::memcmp(session.getPlace(spec), tensor.data.data(),
                  spec.getBytes()) == 0)
    return;
  readWhole(session, spec, tensor, writeTo(session, spec));
}

TensorView ingot::runtime::viewState(const Session &session,
                                     const StateSpec &spec) {
  if (const char *whole = session.findWhole(spec))
    return {spec.dtype,
            spec.getWholeShape(),
            {whole, static_cast<size_t>(spec.getWholeElements() *
                                        getSize(spec.dtype))}};
  TensorView view{spec.dtype, spec.shape, {}};
  if (spec.halves.empty() && spec.home != StateHome::Encoded)
    view.data = {session.getPlace(spec), static_cast<size_t>(spec.getBytes())};
  else
    view.pieces = [&session, &spec](const TensorView::Sink &take) {
      readPieces(session, spec, take);
    };
  return view;
}

using StateList = std::vector<const StateSpec *>;

/// Returns the weights of the compiler for a state.
static const TensorView &findWeights(const CompiledWeights &weights,
                                     const StateSpec &spec) {
  const TensorView *found = weights.find(spec.name);
  if (!found)
    throw badInput(weights.getPlace(), "no tensor '" + spec.name + "'",
                   "compile the model again");
  return *found;
}

/// Maps the states that the file of weights has in one piece; copies them where
/// that is not possible.
static void mapStates(Session &session, const CompiledWeights &weights) {
  const Manifest &manifest = session.getManifest();
  std::optional<uint64_t> start;
  for (const StateSpec &spec : manifest.states) {
    if (spec.home != StateHome::Mapped)
      continue;
    const TensorView &tensor = findWeights(weights, spec);
    uint64_t begin =
        weights.getFileOffset(tensor) -
        static_cast<uint64_t>(spec.offset - manifest.getMappedBegin());
    if (tensor.dtype != spec.dtype || tensor.shape != spec.shape ||
        begin % ingot::abi::kMappedAlignment != 0 ||
        start.value_or(begin) != begin)
      throw badInput(weights.getPlace(),
                     "'" + spec.name + "' is not where the trainer expects it",
                     "compile the model again");
    start = begin;
  }
  if (!start ||
      (weights.getDescriptor() >= 0 &&
       session.mapStates(weights.getDescriptor(), *start, weights.getPlace())))
    return;
  for (const StateSpec &spec : manifest.states)
    if (spec.home == StateHome::Mapped)
      std::memcpy(session.getPlace(spec),
                  findWeights(weights, spec).data.data(), spec.getBytes());
}

/// Takes the states that stay in the weights from there.
static void takeFiledStates(Session &session) {
  const Manifest &manifest = session.getManifest();
  FiledStates &filed = session.getFiled();
  bool hasAny = std::any_of(manifest.states.begin(), manifest.states.end(),
                            [](const StateSpec &spec) {
                              return spec.home == StateHome::File ||
                                     spec.home == StateHome::Mapped;
                            });
  if (!hasAny)
    return;
  auto weights = std::make_shared<CompiledWeights>(session);
  filed.take(weights, weights->getPlace());
  for (const StateSpec &spec : manifest.states) {
    if (spec.home != StateHome::File)
      continue;
    const TensorView &tensor = findWeights(*weights, spec);
    std::string where = weights->getPlace() + ": " + spec.name;
    checkTensor(spec, tensor, where);
    if (weights->isMapped())
      filed.setPlace(spec, tensor.data.data());
    else
      filed.copy(spec, tensor.data.data());
  }
  mapStates(session, *weights);
  weights->releaseMemory();
}

/// Ends what takeFiledStates began: of a file that must not be mapped, all is
/// copied now.
static void endFiledStates(Session &session) {
  const auto &weights = session.getFiled().getWeights();
  if (weights && !weights->isMapped())
    session.getFiled().dropWeights();
}

/// Copies the weights of the compiler.
static void loadWeights(Session &session, StateList states) {
  std::erase_if(states, [&](const StateSpec *spec) {
    return spec->init.kind != InitKind::Weights ||
           session.getFiled().contain(*spec);
  });
  if (states.empty())
    return;
  std::shared_ptr<CompiledWeights> weights = session.getFiled().getWeights();
  if (!weights)
    weights = std::make_shared<CompiledWeights>(session);
  for (const StateSpec *spec : states)
    assignState(session, *spec, findWeights(*weights, *spec),
                weights->getPlace() + ": " + spec->name);
  weights->releaseMemory();
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
      // Files of weights often lack the constants of the graph, and those of
      // models the adapters.
      if (spec.role == StateRole::Frozen ||
          isOfAdapter(session.getManifest(), spec.name))
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
    // The compiler has rounded the weights.
    const FiledStates &filed = session.getFiled();
    if (filed.contain(original) && filed.contain(copy))
      continue;
    session.makeOwn(copy);
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
    if (spec->home == StateHome::Encoded)
      continue;
    if (spec->init.kind == InitKind::Fill)
      fill(session, *spec);
    else if (spec->init.kind == InitKind::Normal ||
             spec->init.kind == InitKind::Uniform)
      drawValues(session, *spec, seed);
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
  takeFiledStates(session);
  // This comes before --init, whose file may lack constants of the graph.
  initialize(session, states, seed);
  if (!initPath.empty())
    loadWeightsFile(session, initPath, console);
  else
    refreshCopies(session);
  endFiledStates(session);
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
                     "shape " + describeShape(tensor.shape) +
                         ", the model has " + describeShape(spec.shape),
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

/// Returns the numbers that a checkpoint has of each moment that is encoded
/// here, by the names of its parts: the run did not encode it.
static std::map<std::string, const StateSpec *>
findNumbers(const Session &session, const CheckpointState &saved) {
  std::map<std::string, const StateSpec *> encoded;
  for (const StateSpec &spec : session.getManifest().states) {
    if (!spec.encoding || spec.role != StateRole::Moment ||
        saved.whole.tensors.count(spec.name) == 0)
      continue;
    for (const std::string &part : spec.encoding->parts)
      if (!session.getManifest().findState(part)->shard ||
          session.getRanks() == 1)
        encoded[part] = &spec;
  }
  return encoded;
}

void ingot::runtime::checkState(const Session &session,
                                const CheckpointState &saved,
                                const std::string &path) {
  const auto encoded = findNumbers(session, saved);
  for (const StateSpec &spec : session.getManifest().states) {
    if (!spec.isSaved() || spec.isOwn())
      continue;
    if (auto whole = encoded.find(spec.name); whole != encoded.end()) {
      checkTensor(*whole->second, saved.whole.tensors.at(whole->second->name),
                  path + ": " + whole->second->name);
      continue;
    }
    auto found = saved.whole.tensors.find(spec.name);
    auto hasIt = [&](const SafeTensors &shard) {
      return shard.tensors.count(spec.name) != 0 &&
             shard.metadata.count(spec.name) != 0;
    };
    if (found != saved.whole.tensors.end())
      checkTensor(spec, found->second, path + ": " + spec.name);
    else if (!spec.isOptional() && saved.base.count(spec.name) == 0 &&
             std::none_of(saved.shards.begin(), saved.shards.end(), hasIt))
      throw badInput(path, "no state '" + spec.name + "'",
                     "resume with a trainer of the same model, optimizer and "
                     "--optimizer-precision");
  }
}

/// Throws unless the states that a checkpoint left to the weights have the
/// values that they had.
static void checkBase(const Session &session, const StateList &states,
                      const CheckpointState &saved, const std::string &path) {
  std::optional<CompiledWeights> weights;
  for (const StateSpec *spec : states) {
    auto crc = saved.base.find(spec->name);
    if (crc == saved.base.end())
      continue;
    auto own = static_cast<uint32_t>(spec->crc.value_or(0));
    if (!session.getFiled().contain(*spec)) {
      // Here the state has memory, of which ranks may have parts.
      if (!weights)
        weights.emplace(session);
      const TensorView *value = weights->find(spec->name);
      own = value ? computeCrc32(value->data) : 0;
    }
    if (own != crc->second)
      throw badInput(path,
                     "the run left '" + spec->name +
                         "' to the weights of its trainer, and those of this "
                         "one have other values",
                     "resume with the trainer of the run, or one compiled from "
                     "the same model");
  }
}

void ingot::runtime::restoreState(Session &session,
                                  const CheckpointState &saved,
                                  const std::string &path) {
  checkState(session, saved, path);
  if (!session.getFiled().getWeights())
    takeFiledStates(session);
  StateList missing;
  const auto encoded = findNumbers(session, saved);
  for (const StateSpec &spec : session.getManifest().states) {
    if (auto whole = encoded.find(spec.name); whole != encoded.end()) {
      // All parts are encoded at once.
      if (whole->second->encoding->parts.front() == spec.name)
        assignState(session, *whole->second,
                    saved.whole.tensors.at(whole->second->name), path);
      continue;
    }
    // No run changes a teacher or the constants of the graph, and none has them
    // in its checkpoints.
    if ((spec.role == StateRole::Frozen ||
         spec.name.starts_with(ingot::abi::kTeacherPrefix)) &&
        !spec.isSaved() && spec.init.kind != InitKind::Copy &&
        spec.home != StateHome::Encoded)
      missing.push_back(&spec);
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
    else if (readShards(session, spec, spec.name, saved.shards, where,
                        writeTo(session, spec)))
      continue;
    // A run can be resumed in another precision, or with compressed gradients.
    else
      missing.push_back(&spec);
  }
  initialize(session, missing, /*seed=*/0);
  checkBase(session, missing, saved, path);
  refreshCopies(session);
  endFiledStates(session);
}

SafeTensors ingot::runtime::viewWholeStates(const Session &session) {
  SafeTensors state;
  for (const StateSpec &spec : session.getManifest().states)
    if (spec.isSaved() && !isInShards(session, spec) &&
        !session.getFiled().contain(spec))
      state.tensors[spec.name] = viewState(session, spec);
  return state;
}

std::map<std::string, uint32_t>
ingot::runtime::listBase(const Session &session) {
  std::map<std::string, uint32_t> base;
  for (const StateSpec &spec : session.getManifest().states)
    if (spec.isSaved() && session.getFiled().contain(spec))
      base[spec.name] = static_cast<uint32_t>(spec.crc.value_or(0));
  return base;
}

SafeTensors ingot::runtime::viewShards(const Session &session) {
  SafeTensors shards;
  for (const StateSpec &spec : session.getManifest().states) {
    if (!spec.isSaved() || !isInShards(session, spec))
      continue;
    TensorView view = viewState(session, spec);
    if (spec.isOwn()) {
      shards.tensors[spec.name] = view;
      continue;
    }
    if (spec.halves.empty()) {
      ElementRange held = session.getHeld(spec);
      int64_t size = getSize(spec.dtype);
      view.data = {session.getPlace(spec) + held.begin * size,
                   static_cast<size_t>(held.getCount() * size)};
    }
    addShard(shards, session, spec, spec.name, view);
  }
  return shards;
}

static int64_t getChecksum(const char *data, int64_t bytes) {
  return computeCrc32({data, static_cast<size_t>(bytes)});
}

/// Broadcasts the states of rank 0 that are not those of the weights, which all
/// ranks have.
static void shareFiled(Session &session, Communicator &ranks) {
  StateList states;
  for (const StateSpec &spec : session.getManifest().states)
    if (spec.home != StateHome::Block)
      states.push_back(&spec);
  if (states.empty())
    return;
  std::string isOwn;
  for (const StateSpec *spec : states)
    isOwn += session.getFiled().contain(*spec) ? '0' : '1';
  ranks.checkEqual(getChecksum(isOwn.data(), isOwn.size()),
                   "choice of frozen weights",
                   "give all ranks the same --init");
  for (size_t i = 0; i < states.size(); ++i)
    if (isOwn[i] == '1')
      ranks.broadcast(session.getPlace(*states[i]), states[i]->getBytes(), 0,
                      "frozen weights");
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
  // Ranks along other axes may have other parts.
  Communicator &replicas = ranks.getGroup(RankMesh::kSampleAxes);
  char *state = session.getStates();
  replicas.broadcast(state, manifest.stateBytes, 0, "the initial state");
  replicas.checkEqual(getChecksum(state, manifest.stateBytes), "initial state",
                      "check the network and the memory of that machine");
  if (&replicas != &ranks) {
    uint32_t crc = 0;
    for (const StateSpec &spec : manifest.states)
      if (spec.isSaved() && !spec.partition && !spec.shard && !spec.isOwn() &&
          !session.getFiled().contain(spec))
        readPieces(session, spec, [&](std::string_view bytes) {
          crc = computeCrc32(bytes, crc);
        });
    ranks.checkEqual(crc, "initial state", "give all ranks the same weights");
  }
  shareFiled(session, ranks);
  for (const auto &[spec, value] : own)
    std::memcpy(session.getPlace(*spec), value.data(), value.size());
  // Ranks along data train on different samples, and dropout differs between
  // them. Rank 0's seed does not change, because it is the one in checkpoints.
  constexpr uint64_t spread = 0x9E3779B97F4A7C15;
  for (const StateSpec &spec : manifest.states)
    if (spec.role == StateRole::Seed) {
      uint64_t seed;
      char *place = session.getPlace(spec);
      std::memcpy(&seed, place, sizeof(seed));
      seed += spread * static_cast<uint64_t>(replicas.getRank());
      std::memcpy(place, &seed, sizeof(seed));
    } else if (spec.role == StateRole::Coordinates) {
      RankMesh::Sizes place = ranks.getMesh().getCoordinates(ranks.getRank());
      std::memcpy(session.getPlace(spec), place.data(), sizeof(place));
    }
}
