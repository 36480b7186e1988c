// SPDX-License-Identifier: Apache-2.0

#include "dialects/ingot/target/Machine.h"

#include "dialects/ingot/support/InputFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include <cmath>

using namespace mlir;
using namespace ingot;

namespace {
template <typename T> struct Field {
  llvm::StringLiteral name;
  double T::*value;
};
} // namespace

static constexpr Field<Machine> kFields[] = {
    {"threads", &Machine::threads},
    {"vector_f32", &Machine::vectorF32},
    {"vector_f64", &Machine::vectorF64},
    {"matmul_f32", &Machine::matmulF32},
    {"matmul_f64", &Machine::matmulF64},
    {"matmul_bf16", &Machine::matmulBf16},
    {"matmul_f16", &Machine::matmulF16},
    {"matmul_f8", &Machine::matmulF8},
    {"convolution_f32", &Machine::convolutionF32},
    {"convolution_f64", &Machine::convolutionF64},
    {"convolution_bf16", &Machine::convolutionBf16},
    {"convolution_f16", &Machine::convolutionF16},
    {"attention_f32", &Machine::attentionF32},
    {"attention_bf16", &Machine::attentionBf16},
    {"attention_f16", &Machine::attentionF16},
    {"multiplies_bf16", &Machine::multipliesBf16},
    {"multiplies_f16", &Machine::multipliesF16},
    {"tiles_halves", &Machine::tilesHalves},
    {"tiles_f32", &Machine::tilesF32},
    {"strassen_share", &Machine::strassenShare},
    {"memory_bandwidth", &Machine::memoryBandwidth},
    {"cache_bandwidth", &Machine::cacheBandwidth},
    {"cache_bytes", &Machine::cacheBytes},
    {"launch_seconds", &Machine::launchSeconds},
    {"link_bandwidth", &Machine::linkBandwidth},
    {"link_seconds", &Machine::linkSeconds},
};

static constexpr Field<GpuMachine> kGpuFields[] = {
    {"device_workspace_bytes", &GpuMachine::deviceWorkspaceBytes},
    {"multiprocessors", &GpuMachine::multiprocessors},
    {"memory_bytes", &GpuMachine::memoryBytes},
    {"latency_seconds", &GpuMachine::latencySeconds},
    {"matmul_tf32", &GpuMachine::matmulTf32},
    {"peak_f32", &GpuMachine::peakF32},
    {"peak_tf32", &GpuMachine::peakTf32},
    {"peak_bf16", &GpuMachine::peakBf16},
    {"peak_f8", &GpuMachine::peakF8},
    {"tile_seconds", &GpuMachine::tileSeconds},
    {"attention_tile_seconds", &GpuMachine::attentionTileSeconds},
    {"generated_matmul_share", &GpuMachine::generatedMatmulShare},
    {"attention_gradient_share", &GpuMachine::attentionGradientShare},
    {"attention_ordered_share", &GpuMachine::attentionOrderedShare},
    {"attention_softmax_share", &GpuMachine::attentionSoftmaxShare},
    {"sustained_share", &GpuMachine::sustainedShare},
    {"streaming_share", &GpuMachine::streamingShare},
    {"concurrent_share", &GpuMachine::concurrentShare},
};

/// Calls `visit` with the name of each figure that the machine has, and the
/// figure.
template <typename MachineType, typename Visit>
static void forEachField(MachineType &machine, Visit visit) {
  for (const Field<Machine> &field : kFields)
    visit(field.name, machine.*field.value);
  if (machine.gpu)
    for (const Field<GpuMachine> &field : kGpuFields)
      visit(field.name, *machine.gpu.*field.value);
}

/// Returns the figure of that name; null if there is none.
static double *findField(Machine &machine, StringRef name) {
  double *found = nullptr;
  forEachField(machine, [&](StringRef field, double &value) {
    if (field == name)
      found = &value;
  });
  return found;
}

/// Returns whether only GPUs have the figure.
static bool isOfGpu(StringRef name) {
  return llvm::any_of(kGpuFields, [&](const Field<GpuMachine> &field) {
    return field.name == name;
  });
}

/// Returns a machine with all figures there are.
static Machine makeGpu() {
  Machine machine;
  machine.gpu = GpuMachine();
  return machine;
}

/// Returns what is wrong with the words on the origin of values; empty if
/// nothing is.
static std::string checkSources(const llvm::json::Value &value) {
  const llvm::json::Object *sources = value.getAsObject();
  if (!sources)
    return "'sources' is not an object";
  Machine all = makeGpu();
  for (const auto &[key, text] : *sources)
    if (!findField(all, key) || !text.getAsString())
      return ("'sources' has no words on a field: '" + StringRef(key) + "'")
          .str();
  return "";
}

Machine Machine::of(ModuleOp module) {
  auto fields = module->getAttrOfType<DictionaryAttr>(kMachineAttr);
  if (!fields)
    return Machine();
  Machine machine = makeGpu();
  bool isGpu = false;
  forEachField(machine, [&](StringRef name, double &value) {
    auto given = fields.getAs<FloatAttr>(name);
    if (!given)
      return;
    value = given.getValueAsDouble();
    isGpu |= isOfGpu(name) && value != 0;
  });
  if (!isGpu)
    machine.gpu.reset();
  return machine;
}

llvm::Error Machine::readJson(StringRef text) {
  llvm::Expected<llvm::json::Value> json = parseJson(text);
  if (!json)
    return json.takeError();
  const llvm::json::Object *object = json->getAsObject();
  if (!object)
    return llvm::createStringError("not a JSON object");
  Machine all = makeGpu();
  for (const auto &[key, value] : *object) {
    StringRef name = key;
    if (name == "sources") {
      if (std::string problem = checkSources(value); !problem.empty())
        return llvm::createStringError(problem);
      continue;
    }
    const double *initial = findField(all, name);
    if (!initial)
      return llvm::createStringError("no field named '" + name + "'");
    std::optional<double> number = value.getAsNumber();
    // Those of a CPU are 0 on a GPU, and the other way round.
    bool mayBeZero = *initial == 0;
    if (!number || *number < 0 || (*number == 0 && !mayBeZero))
      return llvm::createStringError("'" + name + "' is not a positive number");
    constexpr double mostThreads = 1 << 17;
    if (name == "threads" && (*number < 1 || *number > mostThreads ||
                              *number != std::floor(*number)))
      return llvm::createStringError(
          "'threads' is not an integer from 1 to 131072");
    // Sizes are multiplied as 64-bit integers.
    constexpr double mostBytes = 1e15;
    if (name.ends_with("_bytes") && *number > mostBytes)
      return llvm::createStringError("'" + name + "' is above 1e15");
    if (*number != 0 && !isModerate(*number))
      return llvm::createStringError("'" + name +
                                     "' is not from 1e-30 to 1e30");
    // Files say of CPUs, too, that figures of GPUs are 0.
    if (isOfGpu(name) && !gpu) {
      if (*number == 0)
        continue;
      gpu = GpuMachine();
    }
    *findField(*this, name) = *number;
  }
  return llvm::Error::success();
}

std::string Machine::toJson() const {
  llvm::json::Object object;
  forEachField(*this,
               [&](StringRef name, double value) { object[name] = value; });
  return llvm::formatv("{0:2}\n", llvm::json::Value(std::move(object)));
}

DictionaryAttr Machine::toAttr(MLIRContext *context) const {
  Builder b(context);
  SmallVector<NamedAttribute> fields;
  forEachField(*this, [&](StringRef name, double value) {
    fields.push_back(b.getNamedAttr(name, b.getF64FloatAttr(value)));
  });
  return b.getDictionaryAttr(fields);
}

double Machine::getRate(WorkKind kind, Type element) const {
  auto choose = [&](double f32, double f64, double bf16, double f16) {
    return element.isF64()    ? f64
           : element.isBF16() ? bf16
           : element.isF16()  ? f16
                              : f32;
  };
  switch (kind) {
  case WorkKind::Vector:
    return choose(vectorF32, vectorF64, vectorF32, vectorF32);
  case WorkKind::Matmul:
    if (element.getIntOrFloatBitWidth() == 8)
      return matmulF8 > 0 ? matmulF8 : matmulBf16;
    return choose(matmulF32, matmulF64, matmulBf16, matmulF16);
  case WorkKind::Convolution:
    return choose(convolutionF32, convolutionF64, convolutionBf16,
                  convolutionF16);
  case WorkKind::Attention:
    return choose(attentionF32, matmulF64, attentionBf16, attentionF16);
  }
  llvm_unreachable("all kinds of work are handled");
}
