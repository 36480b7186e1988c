// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/weights/WeightAverage.h"

#include "runtime/core/Device.h"
#include "runtime/core/Error.h"
#include "runtime/trainer/state/State.h"
#include "runtime/trainer/state/StateValues.h"

#include <algorithm>
#include <cstring>

using namespace ingot::runtime;

/// The elements that a thread averages at a time.
static constexpr int64_t kPiece = 4096;

static std::string getAverageName(const StateSpec &spec) {
  return spec.name + "/ema";
}

WeightAverage::WeightAverage(Session &session, double decay)
    : session(session), decay(decay) {
  const Manifest &manifest = session.getManifest();
  if (!session.getDevice().getTraits().sharesHostMemory)
    throw usageError("--ema", "is for trainers on CPUs",
                     "leave it out, or compile with --target cpu");
  int64_t bytes = 0;
  for (const StateSpec &spec : manifest.states) {
    if (spec.role != StateRole::Parameter)
      continue;
    if (spec.partition)
      throw usageError("--ema", "ranks have parts of the weights",
                       "leave it out, or compile without --mesh");
    if (spec.shard && session.getRanks() > 1)
      throw usageError("--ema", "the weights are divided over the ranks",
                       "compile with --zero 2");
    weights.push_back({&spec, nullptr});
    bytes += spec.getAlignedBytes();
  }
  block = Block(bytes, "the average of the weights");
  char *next = block.getData();
  for (Weight &weight : weights) {
    weight.average = next;
    next += weight.spec->getAlignedBytes();
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

/// Calls `body` with each piece of each weight: its index, first element, and
/// count.
template <typename Weights, typename Body>
static void forEachPiece(const Session &session, const Weights &weights,
                         Body body) {
  struct Piece {
    size_t weight;
    int64_t first;
  };
  std::vector<Piece> pieces;
  for (size_t i = 0; i < weights.size(); ++i)
    for (int64_t at = 0; at < weights[i].spec->getElements(); at += kPiece)
      pieces.push_back({i, at});
  session.getDevice().forEach(
      static_cast<int64_t>(pieces.size()), [&](int64_t number) {
        auto [weight, first] = pieces[number];
        body(weights[weight], first,
             std::min(kPiece, weights[weight].spec->getElements() - first));
      });
}

void WeightAverage::update() {
  forEachPiece(session, weights,
               [&](const Weight &weight, int64_t first, int64_t count) {
                 const StateSpec &spec = *weight.spec;
                 char *to = weight.average + first * getSize(spec.dtype);
                 if (!isStarted) {
                   readValues(session, spec, first, count, to, spec.dtype);
                   return;
                 }
                 if (spec.dtype == DType::F64) {
                   double values[kPiece];
                   readValues(session, spec, first, count, values, DType::F64);
                   average(reinterpret_cast<double *>(to), values, count,
                           decay);
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
  forEachPiece(session, weights,
               [&](const Weight &weight, int64_t first, int64_t count) {
                 const StateSpec &spec = *weight.spec;
                 int64_t size = getSize(spec.dtype);
                 char *other = weight.average + first * size;
                 char values[kPiece * sizeof(double)];
                 readValues(session, spec, first, count, values, spec.dtype);
                 writeValues(session, spec, first, count, other, spec.dtype);
                 std::memcpy(other, values, count * size);
               });
  refreshCopies(session);
}

void WeightAverage::addTo(SafeTensors &state) const {
  if (!isStarted)
    return;
  for (const Weight &weight : weights)
    state.tensors[getAverageName(*weight.spec)] = {
        weight.spec->dtype, weight.spec->shape,
        std::string_view(weight.average,
                         static_cast<size_t>(weight.spec->getBytes()))};
}

bool WeightAverage::isIn(const CheckpointState &saved,
                         const Manifest &manifest) {
  return std::any_of(manifest.states.begin(), manifest.states.end(),
                     [&](const StateSpec &spec) {
                       return spec.role == StateRole::Parameter &&
                              saved.whole.tensors.count(getAverageName(spec)) !=
                                  0;
                     });
}

void WeightAverage::restore(const CheckpointState &saved,
                            const std::string &path) {
  isStarted = false;
  for (const Weight &weight : weights) {
    const StateSpec &spec = *weight.spec;
    auto found = saved.whole.tensors.find(getAverageName(spec));
    if (found == saved.whole.tensors.end())
      return;
    if (found->second.shape != spec.shape || !isFloat(found->second.dtype))
      throw badInput(path + ": " + found->first,
                     "does not fit the model's weight",
                     "resume with a trainer of the same model");
    convert(found->second.data.data(), found->second.dtype, weight.average,
            spec.dtype, spec.getElements());
  }
  isStarted = true;
}
