// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// ingot-gpu-predict: reads a machine's figures and work as JSON from stdin, and
// prints the seconds that the model of GPUs predicts for each (published.py).
//
//===----------------------------------------------------------------------===//

#include "passes/cost/gpu/GpuModel.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace ingot;
using namespace ingot::gpu_model;

namespace json = llvm::json;

static double getNumber(const json::Object &object, llvm::StringRef name,
                        double missing = 0) {
  return object.getNumber(name).value_or(missing);
}

/// A convolution of squares.
static ingot_conv_desc describeConvolution(const json::Object &node) {
  ingot_conv_desc desc = {};
  auto get = [&](llvm::StringRef name, double missing = 1) {
    return static_cast<int64_t>(getNumber(node, name, missing));
  };
  desc.spatial_rank = 2;
  desc.batch = get("batch");
  desc.groups = get("groups");
  desc.in_channels = get("in_channels");
  desc.out_channels = get("out_channels");
  desc.type = INGOT_BF16;
  for (int i : {0, 1}) {
    desc.in[i] = get("in");
    desc.out[i] = get("out");
    desc.kernel[i] = get("kernel");
    desc.stride[i] = get("stride");
    desc.dilation[i] = 1;
  }
  return desc;
}

/// Returns the time of a node; nothing if its kind is unknown.
static std::optional<NodeTime> predict(const GpuModel &model,
                                       const json::Object &node) {
  llvm::StringRef kind = node.getString("kind").value_or("");
  Traffic traffic = Traffic::ofMemory(getNumber(node, "bytes"));
  if (kind == "matmul")
    return model.getMatmul(
        {getNumber(node, "batch", 1), getNumber(node, "m"),
         getNumber(node, "n"), getNumber(node, "k"),
         node.getString("type") == "f8" ? INGOT_F8E4M3 : INGOT_BF16},
        traffic);
  if (kind == "attention") {
    Attention attention;
    attention.batch = getNumber(node, "batch", 1);
    attention.heads = getNumber(node, "heads", 1);
    attention.queries = attention.keys = getNumber(node, "rows");
    attention.size = attention.valueSize = getNumber(node, "size");
    attention.isCausal = node.getBoolean("causal").value_or(false);
    attention.isGradient = node.getBoolean("gradient").value_or(false);
    attention.isOrdered = node.getBoolean("ordered").value_or(false);
    return model.getAttention(attention, traffic);
  }
  if (kind == "convolution") {
    llvm::StringRef part = node.getString("part").value_or("forward");
    return model.getConvolution(describeConvolution(node),
                                part == "input" ? ConvolutionPart::InputGradient
                                : part == "filter"
                                    ? ConvolutionPart::FilterGradient
                                    : ConvolutionPart::Forward,
                                traffic);
  }
  if (kind == "kernel") {
    KernelWork work;
    // Enough blocks for all multiprocessors.
    constexpr double bytesPerBlock = 16.0 * 256;
    work.blocks = std::max(1.0, getNumber(node, "bytes") / bytesPerBlock);
    work.waits = getNumber(node, "waits", 0);
    return model.getKernel(work, traffic);
  }
  if (kind == "exchange")
    return model.getExchange(getNumber(node, "bytes"));
  return std::nullopt;
}

int main() {
  auto fail = [](const llvm::Twine &what) {
    llvm::errs() << "error: ingot-gpu-predict: " << what
                 << "\nhint: test/gpu/model/published.py calls it\n";
    return 2;
  };
  auto input = llvm::MemoryBuffer::getSTDIN();
  if (!input)
    return fail("cannot read stdin");
  auto value = json::parse((*input)->getBuffer());
  if (!value)
    return fail(llvm::toString(value.takeError()));
  const json::Object *object = value->getAsObject();
  const json::Object *figures = object ? object->getObject("machine") : nullptr;
  const json::Array *nodes = object ? object->getArray("nodes") : nullptr;
  if (!figures || !nodes)
    return fail("no 'machine' or no 'nodes'");
  Machine machine;
  std::string text;
  llvm::raw_string_ostream(text) << json::Value(json::Object(*figures));
  if (llvm::Error error = machine.readJson(text))
    return fail(llvm::toString(std::move(error)));
  GpuModel model(machine, object->getBoolean("sustained").value_or(false));
  json::Array seconds;
  for (const json::Value &node : *nodes) {
    const json::Object *work = node.getAsObject();
    std::optional<NodeTime> time;
    if (work)
      time = predict(model, *work);
    if (!time)
      return fail("a node of an unknown kind");
    seconds.push_back(time->seconds);
  }
  llvm::outs() << json::Value(std::move(seconds)) << "\n";
  return 0;
}
