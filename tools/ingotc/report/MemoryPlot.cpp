// SPDX-License-Identifier: Apache-2.0

#include "tools/ingotc/report/MemoryPlot.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

using namespace llvm;

namespace {

struct Layer {
  StringLiteral kind, colour;
};

/// The layers of the plot from the bottom.
constexpr Layer kLayers[] = {
    {"weights", "#4a7ebb"},       {"optimizer", "#8fb0d8"},
    {"input", "#bbbbbb"},         {"gradient", "#c0504d"},
    {"communication", "#8064a2"}, {"workspace", "#d9a13c"},
    {"output", "#777777"},        {"activation", "#7fa650"},
};
constexpr double kWidth = 900, kHeight = 260, kLeft = 70, kTop = 20;
constexpr double kMib = 1 << 20;

/// The memory in use during each kernel, and its start time.
class Timeline {
public:
  explicit Timeline(const json::Object &function) {
    for (const json::Value &kernel : *function.getArray("kernels"))
      ends.push_back(
          (ends.empty() ? 0 : ends.back()) +
          std::max(kernel.getAsObject()->getNumber("bound_us").value_or(0),
                   kLeastMicroseconds));
    bytes.assign(std::size(kLayers), std::vector<double>(ends.size() + 1, 0));
    const json::Object &memory = *function.getObject("memory");
    for (size_t layer : {0, 1})
      add(layer,
          memory.getNumber((kLayers[layer].kind + "_bytes").str()).value_or(0),
          0, static_cast<int64_t>(ends.size()));
    const json::Array &kinds = *function.getArray("interval_kinds");
    for (auto [i, interval] : enumerate(*function.getArray("intervals"))) {
      const json::Array &numbers = *interval.getAsArray();
      auto at = find_if(kLayers, [&](const Layer &layer) {
        return layer.kind == *kinds[i].getAsString();
      });
      add(at - std::begin(kLayers), *numbers[1].getAsNumber(),
          *numbers[2].getAsInteger(), *numbers[3].getAsInteger());
    }
    for (std::vector<double> &layer : bytes)
      for (size_t i = 1; i < layer.size(); ++i)
        layer[i] += layer[i - 1];
  }

  size_t size() const { return ends.size(); }
  /// Returns the sum up to this layer, included.
  double sum(size_t layer, size_t kernel) const {
    double total = 0;
    for (size_t i = 0; i <= layer; ++i)
      total += bytes[i][kernel];
    return total;
  }
  double total(size_t kernel) const {
    return sum(std::size(kLayers) - 1, kernel);
  }
  bool has(size_t layer) const {
    return any_of(bytes[layer], [](double value) { return value > 0; });
  }
  double begin(size_t kernel) const { return kernel ? ends[kernel - 1] : 0; }
  double end() const { return ends.back(); }

private:
  /// Kernels with no or almost no estimated time are visible too.
  static constexpr double kLeastMicroseconds = 0.5;

  void add(size_t layer, double amount, int64_t first, int64_t last) {
    auto count = static_cast<int64_t>(ends.size());
    if (first >= count)
      return;
    bytes[layer][first] += amount;
    bytes[layer][std::min(last + 1, count)] -= amount;
  }

  std::vector<double> ends;
  std::vector<std::vector<double>> bytes;
};

} // namespace

static void writeLive(raw_ostream &os, const json::Object &function) {
  constexpr size_t most = 20;
  const json::Array &live = *function.getArray("live");
  if (live.empty())
    return;
  os << "<table><tr><th class=text>largest at the peak</th><th "
        "class=text>ONNX node</th><th>MiB</th></tr>\n";
  for (const json::Value &value :
       ArrayRef(live.data(), std::min(most, live.size()))) {
    const json::Object &tensor = *value.getAsObject();
    const json::Array &nodes = *tensor.getArray("onnx_nodes");
    os << "<tr><td class=text>" << *tensor.getString("kind")
       << "</td><td class=text>";
    if (!nodes.empty())
      printHTMLEscaped(*nodes.back().getAsString(), os);
    os << formatv("</td><td>{0:f2}</td></tr>\n",
                  tensor.getNumber("bytes").value_or(0) / kMib);
  }
  os << "</table>\n";
}

void ingot::writeMemoryPlot(raw_ostream &os, const json::Object &function) {
  Timeline timeline(function);
  if (timeline.size() == 0)
    return;
  size_t peak = 0;
  for (size_t i = 0; i < timeline.size(); ++i)
    if (timeline.total(i) > timeline.total(peak))
      peak = i;
  double most = std::max(timeline.total(peak), 1.0);
  auto x = [&](size_t kernel) {
    return kLeft + kWidth * timeline.begin(kernel) / timeline.end();
  };
  auto y = [&](double bytes) { return kTop + kHeight * (1 - bytes / most); };

  os << formatv("<svg width=\"{0}\" height=\"{1}\" font-size=\"12\" "
                "font-family=\"sans-serif\" role=\"img\">\n"
                "<title>memory over the step</title>\n",
                kLeft + kWidth + 20, kTop + kHeight + 60);
  // Layers are drawn from the top: each covers the area below it.
  for (size_t layer = std::size(kLayers); layer-- > 0;) {
    if (!timeline.has(layer))
      continue;
    os << formatv("<path fill=\"{0}\" d=\"M{1:f1} {2:f1}",
                  kLayers[layer].colour, kLeft, kTop + kHeight);
    for (size_t i = 0; i < timeline.size(); ++i) {
      double height = y(timeline.sum(layer, i));
      os << formatv("V{0:f1}H{1:f1}", height, x(i + 1));
    }
    os << formatv("V{0:f1}Z\"/>\n", kTop + kHeight);
  }
  for (double share : {0.0, 0.5, 1.0})
    os << formatv("<text x=\"{0}\" y=\"{1:f1}\" text-anchor=\"end\">{2:f1} "
                  "MiB</text>\n",
                  kLeft - 5, y(share * most) + 4, share * most / kMib);
  double at = (x(peak) + x(peak + 1)) / 2;
  os << formatv("<path stroke=\"black\" stroke-dasharray=\"3\" d=\"M{0:f1} "
                "{1}V{2}\"/><text x=\"{0:f1}\" y=\"{3}\" "
                "text-anchor=\"middle\">peak: kernel {4}</text>\n",
                at, kTop, kTop + kHeight, kTop - 6, peak);
  os << formatv("<text x=\"{0}\" y=\"{1}\">estimated time, {2:f2} ms</text>\n",
                kLeft, kTop + kHeight + 16, timeline.end() * 1e-3);
  double legend = kLeft;
  for (auto [layer, style] : enumerate(kLayers)) {
    if (!timeline.has(layer))
      continue;
    os << formatv("<rect x=\"{0}\" y=\"{1}\" width=\"12\" height=\"12\" "
                  "fill=\"{2}\"/><text x=\"{3}\" y=\"{4}\">{5}</text>\n",
                  legend, kTop + kHeight + 30, style.colour, legend + 16,
                  kTop + kHeight + 40, style.kind);
    legend += 110;
  }
  os << "</svg>\n";
  writeLive(os, function);
}
