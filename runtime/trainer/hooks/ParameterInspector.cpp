// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/hooks/ParameterInspector.h"

#include "runtime/core/Text.h"
#include "runtime/core/console/Console.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

using namespace ingot::runtime;

/// The values that are converted at a time.
static constexpr int64_t kPiece = 4096;

double ParameterHistograms::getUpdateRatio() const {
  double norm = weight.getNorm();
  return norm == 0 ? 0 : update.getNorm() / norm;
}

std::optional<Ailment> ParameterHistograms::diagnose(bool isMatrix,
                                                     double rate) const {
  // Below this, f32 weights keep next to nothing of an update; updates of a
  // thousandth of the weight are usual.
  constexpr double tiny = 1e-7, large = 0.1;
  auto isFinite = [](const Histogram &values) {
    return values.getFinite() == values.getElements();
  };
  if (!isFinite(weight) || !isFinite(update) ||
      (gradient && !isFinite(*gradient)))
    return Ailment::NotFinite;
  if (gradient && gradient->getZeros() == gradient->getElements())
    return Ailment::NoGradient;
  double ratio = getUpdateRatio();
  if (isMatrix && ratio > large)
    return Ailment::LargeUpdate;
  // Neither is a rate of zero an ailment, nor a schedule's that has fallen.
  if (ratio > 0 && ratio < tiny * std::min(rate, 1.0))
    return Ailment::TinyUpdate;
  return std::nullopt;
}

ParameterInspector::ParameterInspector(const RunContext &context,
                                       TensorBoard *board)
    : session(context.session), board(board), console(context.console),
      every(*context.options.observe.histogramEvery) {
  if (!board)
    return;
  int64_t elements = 0;
  std::vector<std::string> divided;
  for (const StateSpec &spec : session.getManifest().states) {
    if (spec.role != StateRole::Parameter)
      continue;
    if (spec.partition || (spec.shard && session.getRanks() > 1)) {
      divided.push_back(spec.name);
      continue;
    }
    indices[spec.name] = parameters.size();
    parameters.push_back({&spec, nullptr, std::nullopt});
    elements += spec.getElements();
  }
  if (!divided.empty())
    console.noteOnce("--histogram-every leaves out parameters that are divided "
                     "over ranks: " +
                     listNames(divided));
  block = Block(elements * sizeof(float), "the weights before a step");
  auto *next = reinterpret_cast<float *>(block.getData());
  for (Parameter &parameter : parameters) {
    parameter.before = next;
    next += parameter.spec->getElements();
  }
}

const char *ParameterInspector::readState(const StateSpec &spec) {
  if (spec.shard)
    return session.readShard(spec);
  return session.read(
      {spec.dtype, Space::State, spec.offset, spec.getElements()});
}

void ParameterInspector::read(
    const StateSpec &spec,
    const std::function<void(const float *, int64_t, int64_t)> &take) {
  std::array<float, kPiece> values;
  int64_t elements = spec.getElements();
  std::string upper;
  const char *from = nullptr;
  if (spec.halves.empty()) {
    from = readState(spec);
  } else {
    // The second call may reuse the memory of the first.
    const Manifest &manifest = session.getManifest();
    upper.assign(readState(*manifest.findState(spec.halves[0])),
                 elements * getSize(DType::BF16));
    from = readState(*manifest.findState(spec.halves[1]));
  }
  for (int64_t first = 0; first < elements; first += kPiece) {
    int64_t count = std::min(kPiece, elements - first);
    if (spec.halves.empty())
      convert(from + first * getSize(spec.dtype), spec.dtype, values.data(),
              DType::F32, count);
    else
      joinHalves(upper.data() + first * getSize(DType::BF16),
                 from + first * getSize(DType::I16), values.data(), count);
    take(values.data(), first, count);
  }
}

void ParameterInspector::startStep(int64_t number) {
  if (!board || !inspects(number))
    return;
  for (Parameter &parameter : parameters) {
    parameter.gradient.reset();
    read(*parameter.spec,
         [&](const float *values, int64_t first, int64_t count) {
           std::copy(values, values + count, parameter.before + first);
         });
  }
}

void ParameterInspector::called(int32_t function, int64_t kernel) {
  const FunctionSpec &spec = session.getManifest().functions[function];
  if (kernel < 0 || kernel >= static_cast<int64_t>(spec.kernels.size()))
    return;
  for (const GradientSpec &gradient : spec.kernels[kernel].gradients) {
    auto found = indices.find(gradient.state);
    if (found == indices.end())
      continue;
    Histogram &histogram = parameters[found->second].gradient.emplace();
    const char *from = session.read(gradient);
    std::array<float, kPiece> values;
    for (int64_t first = 0; first < gradient.elements; first += kPiece) {
      int64_t count = std::min(kPiece, gradient.elements - first);
      convert(from + first * getSize(gradient.dtype), gradient.dtype,
              values.data(), DType::F32, count);
      histogram.add(values.data(), count);
    }
  }
}

void ParameterInspector::endStep(int64_t number, double rate) {
  if (!board || !inspects(number))
    return;
  Summary summary;
  std::map<Ailment, std::vector<std::string>> found;
  for (Parameter &parameter : parameters) {
    ParameterHistograms histograms;
    histograms.gradient = std::move(parameter.gradient);
    read(*parameter.spec,
         [&](const float *values, int64_t first, int64_t count) {
           histograms.weight.add(values, count);
           float *before = parameter.before + first;
           for (int64_t i = 0; i < count; ++i)
             before[i] = values[i] - before[i];
           histograms.update.add(before, count);
         });
    const std::string &name = parameter.spec->name;
    summary.addHistogram("weights/" + name, histograms.weight);
    summary.addHistogram("updates/" + name, histograms.update);
    summary.addScalar("update_ratio/" + name, histograms.getUpdateRatio());
    if (const auto &gradient = histograms.gradient) {
      summary.addHistogram("gradients/" + name, *gradient);
      summary.addScalar("gradient_norm/" + name, gradient->getNorm());
      summary.addScalar("zero_gradients/" + name,
                        static_cast<double>(gradient->getZeros()) /
                            static_cast<double>(
                                std::max<int64_t>(gradient->getElements(), 1)));
    }
    bool isMatrix = parameter.spec->shape.size() > 1;
    if (std::optional<Ailment> ailment = histograms.diagnose(isMatrix, rate))
      if (said.insert({*ailment, name}).second)
        found[*ailment].push_back(name);
  }
  board->write(number, summary);
  say(number, found);
}

void ParameterInspector::say(
    int64_t number, const std::map<Ailment, std::vector<std::string>> &found) {
  for (const auto &[ailment, names] : found) {
    const char *what = ailment == Ailment::NotFinite ? "values are not finite"
                       : ailment == Ailment::NoGradient
                           ? "all gradients are zero"
                       : ailment == Ailment::TinyUpdate
                           ? "updates are below 1e-7 of the weights"
                           : "updates are above a tenth of the weights";
    console.line(
        fmt::format("step {}: {} in {}", number, what, listNames(names)));
  }
}
