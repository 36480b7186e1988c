// SPDX-License-Identifier: Apache-2.0

#include "tools/ingotc/report/Report.h"

#include "tools/ingotc/report/MemoryPlot.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

using namespace llvm;

static constexpr StringLiteral kHead = R"(<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Ingot report</title>
<style>
body { font: 14px/1.4 sans-serif; margin: 2em; max-width: 80em }
table { border-collapse: collapse; margin: 1em 0 }
th, td { padding: .2em .7em; text-align: right; border-bottom: 1px solid #ddd }
th.text, td.text { text-align: left; max-width: 40em; overflow-wrap: anywhere }
td.bar div { background: #4a7ebb; height: .8em }
td.bar { width: 12em; text-align: left }
</style>
)";

static std::string escape(StringRef text) {
  std::string result;
  for (char c : text)
    switch (c) {
    case '<':
      result += "&lt;";
      break;
    case '>':
      result += "&gt;";
      break;
    case '&':
      result += "&amp;";
      break;
    case '"':
      result += "&quot;";
      break;
    default:
      result += c;
    }
  return result;
}

static double numberOf(const json::Object &object, StringRef name) {
  return object.getNumber(name).value_or(0);
}

static std::string nodesOf(const json::Object &kernel) {
  std::string names;
  for (const json::Value &node : *kernel.getArray("onnx_nodes"))
    names += (names.empty() ? "" : ", ") + escape(*node.getAsString());
  return names;
}

static void writeMemory(raw_ostream &os, const json::Object &function) {
  const json::Object &memory = *function.getObject("memory");
  os << "<table><tr><th class=text>memory</th><th>MiB</th></tr>\n";
  for (StringRef part :
       {"peak_bytes", "weights_bytes", "optimizer_bytes", "gradient_bytes",
        "activation_bytes", "workspace_bytes", "communication_bytes"})
    os << formatv("<tr><td class=text>{0}</td><td>{1:f1}</td></tr>\n", part,
                  numberOf(memory, part) / (1 << 20));
  os << "</table>\n";
}

static void writeKernels(raw_ostream &os, const json::Object &function) {
  SmallVector<const json::Object *> kernels;
  double total = 0, most = 0;
  for (const json::Value &kernel : *function.getArray("kernels")) {
    kernels.push_back(kernel.getAsObject());
    double bound = numberOf(*kernels.back(), "bound_us");
    total += bound;
    most = std::max(most, bound);
  }
  os << formatv("<p>{0} kernels and library calls, {1:f2} ms at least.</p>\n",
                kernels.size(), total * 1e-3)
     << "<table><tr><th>#</th><th class=text>kind</th><th class=text>ONNX "
        "nodes</th><th>MB</th><th>MFLOP</th><th>FLOP/byte</th><th>at least "
        "us</th><th class=text>share</th></tr>\n";
  for (auto [i, kernel] : enumerate(kernels)) {
    double bytes = numberOf(*kernel, "bytes"),
           flops = numberOf(*kernel, "flops"),
           bound = numberOf(*kernel, "bound_us");
    os << formatv(
        "<tr><td>{0}</td><td class=text>{1}</td><td class=text>{2}"
        "</td><td>{3:f2}</td><td>{4:f2}</td><td>{5:f1}</td><td>{6:f1}"
        "</td><td class=bar><div style=\"width:{7:f1}%\" "
        "title=\"{8:f1}% of the function\"></div></td></tr>\n",
        i, escape(kernel->getString("kind").value_or("")), nodesOf(*kernel),
        bytes * 1e-6, flops * 1e-6, bytes > 0 ? flops / bytes : 0, bound,
        most > 0 ? 100 * bound / most : 0, total > 0 ? 100 * bound / total : 0);
  }
  os << "</table>\n";
}

std::string ingot::makeReport(const json::Object &manifest,
                              const Machine &machine) {
  std::string text;
  raw_string_ostream os(text);
  os << kHead
     << formatv("<h1>{0}</h1>\n<p>{1}, precision {2}, optimizer {3}.</p>\n",
                escape(manifest.getString("model").value_or("")),
                escape(manifest.getString("producer").value_or("")),
                manifest.getString("precision").value_or(""),
                manifest.getString("optimizer").value_or(""))
     << formatv(
            "<p>Machine: {0} threads, {1:f0} GFLOP/s in matmuls, {2:f0} in "
            "vectors, {3:f1} GB/s from memory, {4:f1} from the cache.</p>\n",
            static_cast<int64_t>(machine.threads), machine.matmulF32 * 1e-9,
            machine.vectorF32 * 1e-9, machine.memoryBandwidth * 1e-9,
            machine.cacheBandwidth * 1e-9);
  const json::Object &functions = *manifest.getObject("functions");
  SmallVector<StringRef> names;
  for (const auto &entry : functions)
    names.push_back(entry.first);
  // The training step comes first.
  llvm::sort(names, std::greater<>());
  for (StringRef name : names) {
    os << "<h2>" << escape(name) << "</h2>\n";
    const json::Object &function = *functions.getObject(name);
    writeMemory(os, function);
    writeMemoryPlot(os, function);
    writeKernels(os, function);
  }
  os << "</html>\n";
  return text;
}
