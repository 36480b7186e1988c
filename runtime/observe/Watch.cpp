// SPDX-License-Identifier: Apache-2.0

#include "runtime/observe/Watch.h"

#include "runtime/core/Text.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

using namespace ingot::runtime;

void ValueStatistics::add(const ValueStatistics &other) {
  elements += other.elements;
  nans += other.nans;
  infinite += other.infinite;
  zeros += other.zeros;
  subnormal += other.subnormal;
  largest = std::max(largest, other.largest);
}

static double getSmallestNormal(DType type) {
  switch (type) {
  case DType::F64:
    return std::numeric_limits<double>::min();
  case DType::F16:
    return 0x1p-14;
  default:
    return std::numeric_limits<float>::min();
  }
}

ValueStatistics ingot::runtime::inspectValues(const void *data, DType type,
                                              int64_t count) {
  ValueStatistics statistics;
  statistics.elements = count;
  double smallestNormal = getSmallestNormal(type);
  // Elements are converted in pieces, because conversions of arrays are fast.
  constexpr int64_t piece = 1024;
  double values[piece];
  for (int64_t i = 0; i < count; i += piece) {
    int64_t size = std::min(piece, count - i);
    convert(static_cast<const char *>(data) + i * getSize(type), type, values,
            DType::F64, size);
    for (int64_t j = 0; j < size; ++j) {
      double magnitude = std::fabs(values[j]);
      if (!std::isfinite(magnitude)) {
        ++(std::isnan(magnitude) ? statistics.nans : statistics.infinite);
        continue;
      }
      statistics.zeros += magnitude == 0;
      statistics.subnormal += magnitude != 0 && magnitude < smallestNormal;
      statistics.largest = std::max(statistics.largest, magnitude);
    }
  }
  return statistics;
}

Watch::Watch(const Manifest &manifest, Reader read, bool keepsStatistics)
    : manifest(manifest), read(std::move(read)),
      keepsStatistics(keepsStatistics) {}

void Watch::startStep(bool lastWentWell) {
  if (lastWentWell)
    trusted.insert(infinite.begin(), infinite.end());
  infinite.clear();
  culprit.reset();
  hasNan = false;
}

void Watch::called(int32_t function, int64_t kernel) {
  const FunctionSpec &spec = manifest.functions[function];
  if (kernel < 0 || kernel >= static_cast<int64_t>(spec.kernels.size()))
    return;
  const KernelSpec &called = spec.kernels[kernel];
  for (size_t i = 0; i < called.outputs.size(); ++i) {
    const KernelOutput &output = called.outputs[i];
    ValueStatistics statistics =
        inspectValues(read(output), output.dtype, output.elements);
    hasNan |= statistics.nans != 0;
    if (statistics.infinite != 0)
      infinite.insert({function, kernel});
    bool suspect =
        statistics.nans != 0 ||
        (statistics.infinite != 0 && trusted.count({function, kernel}) == 0);
    if (suspect && !culprit)
      culprit = {&called, statistics};
    if (keepsStatistics)
      seen[{function, kernel, i}].add(statistics);
  }
}

std::optional<std::string> Watch::describeCulprit() const {
  if (!culprit)
    return std::nullopt;
  std::string nodes;
  for (const std::string &node : culprit->kernel->onnxNodes)
    nodes += (nodes.empty() ? "" : ", ") + node;
  return fmt::format(
      "the first value that is not finite is in {}: {} of {} elements{}",
      culprit->kernel->name,
      culprit->statistics.nans + culprit->statistics.infinite,
      culprit->statistics.elements,
      culprit->kernel->onnxNodes.size() > 1 ? " (computed with " + nodes + ")"
                                            : "");
}

std::string Watch::makeTable() const {
  struct Row {
    const KernelSpec *kernel;
    DType dtype;
    ValueStatistics statistics;
    double share(int64_t part) const {
      return static_cast<double>(part) /
             static_cast<double>(std::max<int64_t>(statistics.elements, 1));
    }
  };
  std::vector<Row> rows;
  for (const auto &[key, statistics] : seen) {
    auto [function, kernel, output] = key;
    const KernelSpec &spec = manifest.functions[function].kernels[kernel];
    rows.push_back({&spec, spec.outputs[output].dtype, statistics});
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Row &a, const Row &b) {
    auto key = [](const Row &row) {
      return std::pair(row.share(row.statistics.nans + row.statistics.infinite),
                       row.share(row.statistics.subnormal));
    };
    return key(a) > key(b);
  });
  constexpr size_t maxRows = 30;
  std::string text =
      fmt::format("{:>5} {:>11} {:>11} {:>8} {:>11}  {}\n", "type",
                  "not finite", "subnormal", "zero", "largest", "kernel");
  for (size_t i = 0; i < std::min(rows.size(), maxRows); ++i) {
    const Row &row = rows[i];
    text += fmt::format(
        "{:>5} {:>10.4f}% {:>10.4f}% {:>7.2f}% {:>11.4g}  {}\n",
        getName(row.dtype),
        100 * row.share(row.statistics.nans + row.statistics.infinite),
        100 * row.share(row.statistics.subnormal),
        100 * row.share(row.statistics.zeros), row.statistics.largest,
        describeName(row.kernel->name));
  }
  if (rows.size() > maxRows)
    text += fmt::format("... and {} more\n", rows.size() - maxRows);
  return text;
}
