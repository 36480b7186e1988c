// SPDX-License-Identifier: Apache-2.0

#include "runtime/core/Error.h"
#include "runtime/core/console/Console.h"
#include "runtime/trainer/evaluate/Evaluate.h"
#include "runtime/trainer/quantize/QuantizerPart.h"
#include "runtime/trainer/quantize/Ranges.h"
#include "runtime/trainer/run/StopRequest.h"
#include "runtime/trainer/state/StateValues.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

using namespace ingot::runtime;

/// The least scale, as steps have it.
static constexpr double kLeastScale = 0x1p-23;
/// Ranges are smaller, as in steps: the greatest code stays in the range of a
/// clipping.
static constexpr double kShrink = 1 - 0x1p-22;
/// The share of the values that a percentile leaves out.
static constexpr double kLeftOut = 1e-4;

static std::vector<float> readScales(const Session &session,
                                     const StateSpec &spec) {
  std::vector<float> scales(static_cast<size_t>(spec.getElements()));
  readValues(session, spec, 0, spec.getElements(), scales.data(), DType::F32);
  return scales;
}

/// Whether a scale of the quantizer is not known yet.
static bool isUnknown(const Session &session, const QuantizerSpec &quantizer) {
  std::vector<float> scales =
      readScales(session, *session.getManifest().findState(quantizer.scale));
  return std::count(scales.begin(), scales.end(), 0.0f) != 0;
}

namespace {

/// The values of one quantizer.
struct Observed {
  const QuantizerSpec *quantizer;
  const TensorSpec *output;
  ValueRange range;
  std::optional<RangeHistogram> histogram;

  /// Whether there is one scale, and a zero point.
  bool isAffine() const { return !quantizer->zeroPoint.empty(); }
};

class Calibration {
public:
  Calibration(const RunContext &context, const Datasets &data,
              const std::vector<size_t> &variants);

  void run(int64_t batches);

private:
  /// Calls `take` with the values of each quantizer in each of the batches.
  template <typename Take> void observe(int64_t batches, Take take);
  RangeChoice getChoice(const QuantizerSpec &quantizer) const {
    return context.options.run.calibration.value_or(
        quantizer.learned ? RangeChoice::Error : RangeChoice::MinMax);
  }
  void set(const std::string &state, const std::vector<float> &values);
  void setRange(const Observed &observed);
  void setMagnitudes(const Observed &observed, const float *values);

  const RunContext &context;
  Session &session;
  const Dataset *data = nullptr;
  const Function *function = nullptr;
  int64_t batch = 1;
  std::vector<Observed> all;
};

} // namespace

Calibration::Calibration(const RunContext &context, const Datasets &datasets,
                         const std::vector<size_t> &variants)
    : context(context), session(context.session) {
  for (size_t i = 0; i < datasets.size() && !data; ++i)
    if (datasets[i]) {
      data = datasets[i].get();
      function = session.findFunction("observe", variants[i]);
      batch = session.getManifest().getBatch(variants[i]);
    }
  if (!data)
    throw usageError("--calibrate", "needs samples in files",
                     "give --data FILE.npz, and not a pipe");
  for (const QuantizerSpec &quantizer : session.getManifest().quantizers)
    all.push_back(
        {&quantizer, function->spec->findOutput(quantizer.scale), {}, {}});
}

template <typename Take> void Calibration::observe(int64_t batches, Take take) {
  PassBatches pass(data->getSamples(), batch);
  pass.count = std::min(pass.count, batches);
  forEachBatch(
      session, *function, *data, pass, context.options, /*rank=*/0,
      /*size=*/1, /*together=*/false, [&](int64_t, int64_t count) {
        for (Observed &one : all) {
          int64_t elements = one.output->getElements();
          // The rest of the last batch is padding.
          if (one.isAffine() && !one.output->shape.empty() &&
              one.output->shape[0] == batch)
            elements = elements / batch * count;
          take(one,
               reinterpret_cast<const float *>(session.getOutput(*one.output)),
               elements);
        }
        return context.stop.getSignal() == 0;
      });
}

void Calibration::set(const std::string &state,
                      const std::vector<float> &values) {
  if (state.empty())
    return;
  const StateSpec &spec = *session.getManifest().findState(state);
  session.makeOwn(spec);
  writeValues(session, spec, 0, spec.getElements(), values.data(), DType::F32);
}

void Calibration::setRange(const Observed &observed) {
  const QuantizerSpec &quantizer = *observed.quantizer;
  double steps = quantizer.greatest - quantizer.least;
  ValueRange range = observed.range;
  RangeChoice choice = getChoice(quantizer);
  if (choice == RangeChoice::Percentile)
    range = observed.histogram->cut(kLeftOut);
  if (choice == RangeChoice::Error)
    range = observed.histogram->findLeastError(steps);
  // In single precision, as steps compute them.
  auto low = static_cast<float>(range.low);
  auto high = static_cast<float>(range.high);
  float scale = std::max((high - low) * static_cast<float>(kShrink / steps),
                         static_cast<float>(kLeastScale));
  float zero =
      std::clamp(std::nearbyint(-low / scale), 0.0f, static_cast<float>(steps));
  set(quantizer.scale, {scale});
  set(quantizer.zeroPoint, {zero});
  set(quantizer.low, {low});
  set(quantizer.high, {high});
}

void Calibration::setMagnitudes(const Observed &observed, const float *values) {
  const QuantizerSpec &quantizer = *observed.quantizer;
  const std::vector<int64_t> &shape = observed.output->shape;
  // [outer, along, inner], with a scale for each block of the second.
  int64_t along = 1, inner = 1, outer = observed.output->getElements();
  if (quantizer.axis) {
    along = shape[*quantizer.axis];
    for (size_t i = *quantizer.axis + 1; i < shape.size(); ++i)
      inner *= shape[i];
    outer /= along * inner;
  }
  int64_t block = std::max<int64_t>(quantizer.block, 1);
  std::vector<float> scales;
  auto add = [&](const std::vector<float> &part) {
    double scale = 0;
    if (getChoice(quantizer) == RangeChoice::Error)
      scale = findLeastErrorScale(
          part.data(), static_cast<int64_t>(part.size()), quantizer.greatest);
    else
      for (float value : part)
        scale = std::max<double>(scale, std::abs(value));
    if (getChoice(quantizer) != RangeChoice::Error)
      scale = static_cast<float>(scale) *
              static_cast<float>(1 / quantizer.greatest);
    scales.push_back(static_cast<float>(std::max(scale, kLeastScale)));
  };
  std::vector<float> part;
  // Blocks have scales for each of the inner indices as well.
  if (quantizer.block > 1) {
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t first = 0; first < along; first += block)
        for (int64_t i = 0; i < inner; ++i) {
          part.clear();
          for (int64_t k = first; k < std::min(first + block, along); ++k)
            part.push_back(values[(o * along + k) * inner + i]);
          add(part);
        }
  } else {
    for (int64_t k = 0; k < along; ++k) {
      part.clear();
      for (int64_t o = 0; o < outer; ++o)
        part.insert(part.end(), values + (o * along + k) * inner,
                    values + (o * along + k + 1) * inner);
      add(part);
    }
  }
  set(quantizer.scale, scales);
}

void Calibration::run(int64_t batches) {
  session.fetchState();
  // Nothing is quantized without scales.
  for (const Observed &one : all)
    set(one.quantizer->scale, std::vector<float>(static_cast<size_t>(
                                  session.getManifest()
                                      .findState(one.quantizer->scale)
                                      ->getElements())));
  session.storeState();
  std::vector<std::vector<float>> weights(all.size());
  auto indexOf = [&](Observed &one) { return &one - all.data(); };
  observe(batches, [&](Observed &one, const float *values, int64_t count) {
    if (one.isAffine())
      one.range.add(values, count);
    else if (weights[indexOf(one)].empty())
      weights[indexOf(one)].assign(values, values + count);
  });
  for (Observed &one : all)
    if (!std::isfinite(one.range.low) || !std::isfinite(one.range.high))
      throw failure("--calibrate",
                    fmt::format("what has the scale '{}' is not finite",
                                one.quantizer->scale),
                    "check the data, and the weights");
  bool hasHistograms = false;
  for (Observed &one : all)
    if (one.isAffine() && getChoice(*one.quantizer) != RangeChoice::MinMax) {
      one.histogram.emplace(one.range);
      hasHistograms = true;
    }
  if (hasHistograms)
    observe(batches, [&](Observed &one, const float *values, int64_t count) {
      if (one.histogram)
        one.histogram->add(values, count);
    });
  session.fetchState();
  for (Observed &one : all)
    if (one.isAffine())
      setRange(one);
    else
      setMagnitudes(one, weights[indexOf(one)].data());
  session.storeState();
  int64_t taken =
      std::min(batches, PassBatches(data->getSamples(), batch).count);
  context.console.line(fmt::format("scales of {} tensors by {} {}", all.size(),
                                   taken, taken == 1 ? "batch" : "batches"));
}

static void calibrate(const RunContext &context, const Datasets &data,
                      const std::vector<size_t> &variants) {
  const RunOptions &options = context.options.run;
  const std::vector<QuantizerSpec> &quantizers =
      context.getManifest().quantizers;
  auto needsScale = [&](const QuantizerSpec &quantizer) {
    return quantizer.learned && isUnknown(context.session, quantizer);
  };
  bool isNeeded = !options.evaluatesOnly() &&
                  std::any_of(quantizers.begin(), quantizers.end(), needsScale);
  if (options.calibrate || isNeeded)
    Calibration(context, data, variants).run(options.calibrate.value_or(1));
}

static void checkKnown(const Session &session, const std::string &path) {
  const std::vector<QuantizerSpec> &quantizers =
      session.getManifest().quantizers;
  auto unknown = std::find_if(
      quantizers.begin(), quantizers.end(),
      [&](const auto &quantizer) { return isUnknown(session, quantizer); });
  if (unknown != quantizers.end())
    throw failure(
        path, fmt::format("scales are not known yet, as '{}'", unknown->scale),
        "take steps, or add --data FILE.npz --calibrate 8");
}

static const QuantizerPart kPart = {calibrate, checkKnown};

const QuantizerPart *ingot::runtime::ingot_quantizers() { return &kPart; }
