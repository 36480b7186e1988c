// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/run/RunHeader.h"

#include "runtime/core/File.h"
#include "runtime/core/commandline/ConfigFile.h"
#include "runtime/core/text/Text.h"

#include <ctime>
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

/// How the second line begins.
static constexpr std::string_view kStarted = "# started ";

bool ingot::runtime::isConfiguration(std::string_view begin) {
  size_t end = begin.find('\n');
  return begin.starts_with("# ") && end != std::string_view::npos &&
         begin.substr(end + 1).starts_with(kStarted);
}

void ingot::runtime::writeConfiguration(const std::string &path,
                                        const std::string &header,
                                        const Options &options) {
  char time[64] = "";
  std::time_t now = std::time(nullptr);
  std::tm parts{};
  if (gmtime_r(&now, &parts))
    (void)std::strftime(time, sizeof(time), "%Y-%m-%dT%H:%M:%SZ", &parts);
  AtomicFile file(path, Links::Replace);
  file.write(fmt::format("# {}\n{}{}\n", header, kStarted, time));
  file.write(formatConfiguration(options.configuration));
  file.commit();
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
