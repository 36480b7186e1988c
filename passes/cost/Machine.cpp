#include "passes/cost/Machine.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace ingot;

namespace {
struct Field {
  llvm::StringLiteral name;
  double Machine::*value;
};
} // namespace

static constexpr Field kFields[] = {
    {"threads", &Machine::threads},
    {"vector_f32", &Machine::vectorF32},
    {"vector_f64", &Machine::vectorF64},
    {"matmul_f32", &Machine::matmulF32},
    {"matmul_f64", &Machine::matmulF64},
    {"matmul_bf16", &Machine::matmulBf16},
    {"matmul_f16", &Machine::matmulF16},
    {"convolution_f32", &Machine::convolutionF32},
    {"convolution_f64", &Machine::convolutionF64},
    {"convolution_bf16", &Machine::convolutionBf16},
    {"convolution_f16", &Machine::convolutionF16},
    {"attention_f32", &Machine::attentionF32},
    {"attention_bf16", &Machine::attentionBf16},
    {"attention_f16", &Machine::attentionF16},
    {"multiplies_bf16", &Machine::multipliesBf16},
    {"multiplies_f16", &Machine::multipliesF16},
    {"packs_halves", &Machine::packsHalves},
    {"tiles_halves", &Machine::tilesHalves},
    {"tiles_f32", &Machine::tilesF32},
    {"memory_bandwidth", &Machine::memoryBandwidth},
    {"cache_bandwidth", &Machine::cacheBandwidth},
    {"cache_bytes", &Machine::cacheBytes},
    {"device_workspace_bytes", &Machine::deviceWorkspaceBytes},
    {"launch_seconds", &Machine::launchSeconds},
    {"link_bandwidth", &Machine::linkBandwidth},
    {"link_seconds", &Machine::linkSeconds},
};

static const Field *findField(StringRef name) {
  const Field *field = llvm::find_if(
      kFields, [&](const Field &field) { return field.name == name; });
  return field == std::end(kFields) ? nullptr : field;
}

Machine Machine::byFeatures(ArrayRef<std::string> features, unsigned threads) {
  auto has = [&](StringRef feature) {
    return llvm::is_contained(features, feature);
  };
  Machine machine;
  machine.threads = threads;
  bool isWide = has("avx512f"), isVector = has("avx2");
  double scale = threads * (isWide ? 1.0 : isVector ? 0.6 : 0.2);
  double multiplyAdds = 65e9 * scale;
  machine.convolutionF32 = 50e9 * scale;
  // Exponentials, and tiles of scores that are computed twice, count nothing.
  machine.attentionF32 = machine.attentionBf16 = machine.attentionF16 =
      0.4 * multiplyAdds;
  machine.vectorF32 = 20e9 * scale;
  machine.vectorF64 = 10e9 * scale;
  machine.matmulF64 = machine.convolutionF64 = 1.5e9 * scale;
  machine.multipliesBf16 = has("avx512bf16");
  machine.multipliesF16 = has("avx512fp16");
  machine.packsHalves = has("avx512bw") && has("avx512vl");
  bool hasTiles =
      machine.packsHalves != 0 && has("amx-tile") && has("amx-bf16");
  machine.tilesHalves = machine.tilesF32 = hasTiles;
  if (hasTiles)
    machine.attentionBf16 = machine.attentionF16 = 1.2 * multiplyAdds;
  machine.matmulF32 = (hasTiles ? 1.6 : 1) * multiplyAdds;
  // Half precision is converted where the processor cannot multiply it.
  double half = hasTiles ? 10 : machine.multipliesBf16 ? 2 : 0.9;
  machine.matmulBf16 = (hasTiles ? 6 : half) * multiplyAdds;
  machine.convolutionBf16 = half * machine.convolutionF32;
  double low = machine.multipliesF16 ? 2 : 0.9;
  machine.matmulF16 = (hasTiles ? 2.3 : low) * multiplyAdds;
  machine.convolutionF16 = low * machine.convolutionF32;
  machine.memoryBandwidth = std::min(8e9 * threads, 100e9);
  machine.cacheBandwidth = 40e9 * threads;
  machine.cacheBytes = 1048576.0 * threads;
  return machine;
}

Machine Machine::ofDevice() {
  // NVIDIA H100 SXM5, at about two thirds of the figures of its data sheet.
  Machine machine;
  machine.vectorF32 = 4e12;
  machine.vectorF64 = 2e12;
  machine.matmulF32 = machine.convolutionF32 = 40e12;
  machine.attentionF32 = 16e12;
  machine.attentionBf16 = machine.attentionF16 = 200e12;
  machine.matmulF64 = machine.convolutionF64 = 20e12;
  machine.matmulBf16 = machine.matmulF16 = 600e12;
  machine.convolutionBf16 = machine.convolutionF16 = 400e12;
  machine.multipliesBf16 = machine.multipliesF16 = 1;
  machine.memoryBandwidth = 2.5e12;
  machine.cacheBandwidth = 6e12;
  machine.cacheBytes = 50e6;
  // What NVIDIA recommends for matrix products on its latest devices.
  machine.deviceWorkspaceBytes = 32 << 20;
  machine.launchSeconds = 3e-6;
  machine.linkBandwidth = 300e9;
  machine.linkSeconds = 10e-6;
  return machine;
}

Machine Machine::of(ModuleOp module) {
  Machine machine;
  if (auto fields = module->getAttrOfType<DictionaryAttr>(kMachineAttr))
    for (const Field &field : kFields)
      if (auto value = fields.getAs<FloatAttr>(field.name))
        machine.*field.value = value.getValueAsDouble();
  return machine;
}

llvm::Error Machine::readJson(StringRef text) {
  llvm::Expected<llvm::json::Value> json = llvm::json::parse(text);
  if (!json)
    return json.takeError();
  const llvm::json::Object *object = json->getAsObject();
  if (!object)
    return llvm::createStringError("not a JSON object");
  for (const auto &[key, value] : *object) {
    StringRef name = key;
    const Field *field = findField(name);
    if (!field)
      return llvm::createStringError("no field named '" + name + "'");
    std::optional<double> number = value.getAsNumber();
    bool mayBeZero = name.starts_with("multiplies_") ||
                     name.starts_with("tiles_") || name == "packs_halves" ||
                     name == "device_workspace_bytes";
    if (!number || *number < 0 || (*number == 0 && !mayBeZero))
      return llvm::createStringError("'" + name + "' is not a positive number");
    this->*field->value = *number;
  }
  return llvm::Error::success();
}

std::string Machine::toJson() const {
  llvm::json::Object object;
  for (const Field &field : kFields)
    object[field.name] = this->*field.value;
  return llvm::formatv("{0:2}\n", llvm::json::Value(std::move(object)));
}

DictionaryAttr Machine::toAttr(MLIRContext *context) const {
  Builder b(context);
  SmallVector<NamedAttribute> fields;
  for (const Field &field : kFields)
    fields.push_back(
        b.getNamedAttr(field.name, b.getF64FloatAttr(this->*field.value)));
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
    return choose(matmulF32, matmulF64, matmulBf16, matmulF16);
  case WorkKind::Convolution:
    return choose(convolutionF32, convolutionF64, convolutionBf16,
                  convolutionF16);
  case WorkKind::Attention:
    return choose(attentionF32, matmulF64, attentionBf16, attentionF16);
  }
  llvm_unreachable("all kinds of work are handled");
}

abi::ScratchMachine Machine::getScratchMachine() const {
  return {static_cast<int64_t>(threads),
          multipliesBf16 != 0,
          multipliesF16 != 0,
          static_cast<int64_t>(deviceWorkspaceBytes),
          packsHalves != 0,
          tilesHalves != 0,
          tilesF32 != 0};
}
