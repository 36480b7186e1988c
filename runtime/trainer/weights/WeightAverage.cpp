// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/weights/WeightAverage.h"

#include "runtime/core/Device.h"
#include "runtime/core/Error.h"
#include "runtime/trainer/state/SavedElements.h"
#include "runtime/trainer/state/State.h"
#include "runtime/trainer/state/StateValues.h"

#include <algorithm>
#include <cstring>
#include <functional>

using namespace ingot::runtime;

/// The elements that a thread averages at a time.
static constexpr int64_t kPiece = 4096;

static std::string getAverageName(const StateSpec &spec) {
  return spec.name + "/ema";
}

int64_t WeightAverage::Weight::getBytes() const {
  constexpr int64_t alignment = 64;
  int64_t bytes = held.getCount() * getSize(spec->dtype);
  return (bytes + alignment - 1) / alignment * alignment;
}

char *WeightAverage::Weight::find(int64_t element) const {
  return average + (element - held.begin) * getSize(spec->dtype);
}

TensorView WeightAverage::Weight::view() const {
  return {
      spec->dtype,
      spec->shape,
      {average, static_cast<size_t>(held.getCount() * getSize(spec->dtype))}};
}

WeightAverage::WeightAverage(Session &session, double decay)
    : session(session), decay(decay) {
  if (!session.getDevice().getTraits().sharesHostMemory)
    throw usageError("--ema", "is for trainers on CPUs",
                     "leave it out, or compile with --target cpu");
  int64_t bytes = 0;
  for (const StateSpec &spec : session.getManifest().states)
    if (spec.role == StateRole::Parameter)
      bytes += weights.emplace_back(spec, session.getHeld(spec)).getBytes();
  block = Block(bytes, "the average of the weights");
  char *next = block.getData();
  for (Weight &weight : weights) {
    weight.average = next;
    next += weight.getBytes();
  }
}

/// average + (1 - decay) (weight - average), as torch.lerp computes it.
template <typename T>
static void average(T *averages, const T *values, int64_t count, double decay) {
  T part = static_cast<T>(1 - decay);
  if (part < T(0.5))
    for (int64_t i = 0; i < count; ++i)
      averages[i] += part * (values[i] - averages[i]);
  else
    for (int64_t i = 0; i < count; ++i)
      averages[i] = values[i] - (values[i] - averages[i]) * (1 - part);
}

template <typename Body> void WeightAverage::forEachPiece(Body body) const {
  struct Piece {
    const Weight *weight;
    int64_t first;
  };
  std::vector<Piece> pieces;
  for (const Weight &weight : weights)
    for (int64_t at = weight.held.begin; at < weight.held.end; at += kPiece)
      pieces.push_back({&weight, at});
  session.getDevice().forEach(
      static_cast<int64_t>(pieces.size()), [&](int64_t number) {
        auto [weight, first] = pieces[number];
        body(*weight->spec, first, std::min(kPiece, weight->held.end - first),
             weight->find(first));
      });
}

void WeightAverage::update() {
  forEachPiece(
      [&](const StateSpec &spec, int64_t first, int64_t count, char *to) {
        if (!isStarted) {
          readValues(session, spec, first, count, to, spec.dtype);
          return;
        }
        if (spec.dtype == DType::F64) {
          double values[kPiece];
          readValues(session, spec, first, count, values, DType::F64);
          average(reinterpret_cast<double *>(to), values, count, decay);
          return;
        }
        float values[kPiece], averages[kPiece];
        readValues(session, spec, first, count, values, DType::F32);
        convert(to, spec.dtype, averages, DType::F32, count);
        average(averages, values, count, decay);
        convert(averages, DType::F32, to, spec.dtype, count);
      });
  isStarted = true;
}

void WeightAverage::exchange() {
  if (!isStarted)
    return;
  forEachPiece(
      [&](const StateSpec &spec, int64_t first, int64_t count, char *other) {
        char values[kPiece * sizeof(double)];
        readValues(session, spec, first, count, values, spec.dtype);
        writeValues(session, spec, first, count, other, spec.dtype);
        std::memcpy(other, values, count * getSize(spec.dtype));
      });
  refreshCopies(session);
}

void WeightAverage::addTo(SafeTensors &state) const {
  if (!isStarted)
    return;
  for (const Weight &weight : weights)
    if (!isInShards(session, *weight.spec))
      state.tensors[getAverageName(*weight.spec)] = weight.view();
}

void WeightAverage::addShards(SafeTensors &shards) const {
  if (!isStarted)
    return;
  for (const Weight &weight : weights)
    if (isInShards(session, *weight.spec))
      addShard(shards, session, *weight.spec, getAverageName(*weight.spec),
               weight.view());
}

bool WeightAverage::isIn(const CheckpointState &saved,
                         const Manifest &manifest) {
  auto has = [&](const StateSpec &spec, const SafeTensors &file) {
    return file.tensors.count(getAverageName(spec)) != 0;
  };
  return std::any_of(manifest.states.begin(), manifest.states.end(),
                     [&](const StateSpec &spec) {
                       return spec.role == StateRole::Parameter &&
                              (has(spec, saved.whole) ||
                               std::any_of(saved.shards.begin(),
                                           saved.shards.end(),
                                           std::bind_front(has, spec)));
                     });
}

void WeightAverage::restore(const CheckpointState &saved,
                            const std::string &path) {
  isStarted = false;
  for (const Weight &weight : weights) {
    const StateSpec &spec = *weight.spec;
    const std::string name = getAverageName(spec);
    auto take = [&](int64_t first, int64_t count, const char *from,
                    DType dtype) {
      convert(from, dtype, weight.find(first), spec.dtype, count);
    };
    auto found = saved.whole.tensors.find(name);
    if (found != saved.whole.tensors.end()) {
      checkTensor(spec, found->second, path + ": " + name);
      readWhole(session, spec, found->second, take);
    } else if (!readShards(session, spec, name, saved.shards,
                           path + ": " + name, take)) {
      return;
    }
  }
  isStarted = true;
}
