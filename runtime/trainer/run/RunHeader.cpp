// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/run/RunHeader.h"

#include "runtime/core/Text.h"

#include <fmt/format.h>
#include <unistd.h>

using namespace ingot::runtime;

std::string ingot::runtime::describeRun(const Manifest &manifest,
                                        const std::string &device,
                                        int64_t ranks,
                                        const std::string &what) {
  char host[256] = "unknown host";
  (void)gethostname(host, sizeof(host) - 1);
  std::string accumulation =
      manifest.gradAccumulation > 1
          ? fmt::format(" x {}", manifest.gradAccumulation)
          : "";
  return makePrintable(
      fmt::format("{}: {}, {}, batch {}{}; {}; {} on {}, {} {}; {}",
                  manifest.model, manifest.optimizer, manifest.precision,
                  manifest.batch, accumulation, manifest.producer, device, host,
                  ranks, ranks == 1 ? "rank" : "ranks", what));
}

StepCost ingot::runtime::getStepCost(const Manifest &manifest, size_t variant,
                                     int64_t ranks) {
  StepCost cost;
  auto addFunction = [&](std::string_view name, int64_t times) {
    const FunctionSpec *function = manifest.findFunction(name, variant);
    if (!function)
      return;
    for (const KernelSpec &kernel : function->kernels) {
      double count = static_cast<double>(times) * kernel.times;
      cost.flops += count * static_cast<double>(kernel.flops);
      cost.boundMs += count * kernel.boundMicroseconds * 1e-3;
    }
    // A label for each position of a sample makes it a sequence.
    for (const InputSpec &input : function->inputs)
      if (input.kind == InputKind::Labels && input.classes &&
          input.getElements() > manifest.getBatch(variant))
        cost.tokens += times * input.getElements() * ranks;
  };
  addFunction("train_step", 1);
  addFunction("accumulate_step", manifest.gradAccumulation - 1);
  return cost;
}
