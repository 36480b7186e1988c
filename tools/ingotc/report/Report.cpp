// SPDX-License-Identifier: Apache-2.0

#include "tools/ingotc/report/Report.h"

#include "tools/report/Page.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

/// Returns the fields of an object that have these names.
static json::Object select(const json::Object &object,
                           ArrayRef<StringRef> names) {
  json::Object selected;
  for (StringRef name : names)
    if (const json::Value *value = object.get(name))
      selected[name] = *value;
  return selected;
}

/// Returns what is shown of a function, which is most of what the manifest has.
static json::Object selectFunction(const json::Object &function) {
  json::Object selected =
      select(function, {"memory", "live", "intervals", "interval_kinds"});
  json::Array kernels;
  for (const json::Value &kernel : *function.getArray("kernels"))
    kernels.push_back(
        select(*kernel.getAsObject(), {"name", "kind", "onnx_nodes", "bytes",
                                       "flops", "bound_us", "part"}));
  selected["kernels"] = std::move(kernels);
  return selected;
}

std::string ingot::makeReport(const json::Object &manifest,
                              const Machine &machine, json::Array graph) {
  json::Object compilation =
      select(manifest, {"model", "producer", "target", "precision", "loss",
                        "optimizer", "batch", "grad_accumulation"});
  // Machines are written as JSON by themselves.
  compilation["machine"] = cantFail(json::parse(machine.toJson()));
  json::Object functions;
  for (const auto &[name, function] : *manifest.getObject("functions"))
    functions[name] = selectFunction(*function.getAsObject());
  compilation["functions"] = std::move(functions);
  compilation["graph"] = std::move(graph);
  std::string title = manifest.getString("model").value_or("a model").str();
  json::Object data{{"title", title},
                    {"compilations", json::Array{std::move(compilation)}},
                    {"runs", json::Array()}};
  return makePage(title, formatv("{0}", json::Value(std::move(data))).str());
}
