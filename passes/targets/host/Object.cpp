// SPDX-License-Identifier: Apache-2.0

#include "passes/targets/host/Object.h"

#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "runtime/abi/Processor.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/AArch64TargetParser.h"
#include "llvm/TargetParser/Host.h"

#include <cstdlib>

using namespace mlir;
using namespace ingot;

namespace {
/// A kind of processor that code is generated for.
struct Architecture {
  llvm::StringRef triple;
  /// The CPU that every one of the kind can stand for.
  llvm::StringRef baseline;
};
constexpr Architecture kX86 = {"x86_64-unknown-linux-gnu", "x86-64"};
constexpr Architecture kAArch64 = {"aarch64-unknown-linux-gnu", "generic"};
} // namespace

/// The architecture of this machine.
static const Architecture &getNativeArchitecture() {
  return llvm::Triple(llvm::sys::getDefaultTargetTriple()).isAArch64()
             ? kAArch64
             : kX86;
}

/// LLVM's registry of targets, filled on first use.
static llvm::Expected<const llvm::Target *> findTarget(llvm::StringRef triple) {
  static bool initialized = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
    return true;
  }();
  (void)initialized;
  std::string error;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(llvm::Triple(triple), error);
  if (!target)
    return llvm::createStringError(error);
  return target;
}

namespace {
/// A name of a CPU, as LLVM takes it.
struct ProcessorName {
  const Architecture &architecture;
  std::string cpu;
  /// Features besides those of the CPU, as `+NAME,+NAME`.
  std::string more;
};
} // namespace

/// The version of AArch64 with that name; those of other profiles than A run
/// no trainers.
static const llvm::AArch64::ArchInfo *findArmVersion(llvm::StringRef name) {
  return name.ends_with("-a") ? llvm::AArch64::parseArch(name) : nullptr;
}

/// Understands a name that may be one of AArch64.
static llvm::Expected<ProcessorName> parseName(llvm::StringRef name) {
  auto [base, extensions] = name.split('+');
  const llvm::AArch64::ArchInfo *version = findArmVersion(base);
  bool isArm = base == "aarch64" || version ||
               (base != kAArch64.baseline && llvm::AArch64::parseCpu(base));
  if (!isArm)
    return ProcessorName{kX86, name.str(), ""};
  std::vector<llvm::StringRef> features;
  if (version) {
    features.push_back(version->ArchFeature);
    llvm::AArch64::getExtensionFeatures(version->DefaultExts, features);
  }
  llvm::SmallVector<llvm::StringRef> names;
  extensions.split(names, '+', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (llvm::StringRef extension : names) {
    auto known = llvm::AArch64::parseArchExtension(extension);
    if (!known || known->PosTargetFeature.empty())
      return llvm::createStringError("AArch64 has no extension '" + extension +
                                     "'");
    features.push_back(known->PosTargetFeature);
  }
  bool isCpu = base != "aarch64" && !version;
  return ProcessorName{kAArch64, (isCpu ? base : kAArch64.baseline).str(),
                       llvm::join(features, ",")};
}

std::vector<std::string> ingot::splitProcessors(llvm::StringRef names) {
  llvm::SmallVector<llvm::StringRef> parts;
  names.split(parts, '+');
  std::vector<std::string> found;
  for (llvm::StringRef part : parts) {
    bool isExtension = llvm::AArch64::parseArchExtension(part).has_value();
    if (isExtension && !found.empty() &&
        (llvm::StringRef(found.back()).contains('+') ||
         found.back() == "aarch64" || findArmVersion(found.back()) ||
         llvm::AArch64::parseCpu(found.back())))
      found.back() += ("+" + part).str();
    else
      found.push_back(part.str());
  }
  return found;
}

/// Whether trainers look for a feature.
static bool isFound(const Architecture &architecture, llvm::StringRef feature) {
  return &architecture == &kAArch64
             ? abi::findAArch64Feature(feature) != nullptr
             : abi::findCpuFeature(feature) != nullptr;
}

/// The names of the instructions that LLVM assumes for a CPU, without what only
/// tunes code for it.
static llvm::Expected<std::vector<std::string>>
listInstructions(const ProcessorName &name) {
  auto target = findTarget(name.architecture.triple);
  if (!target)
    return target.takeError();
  llvm::Triple triple(name.architecture.triple);
  std::unique_ptr<llvm::MCSubtargetInfo> info(
      (*target)->createMCSubtargetInfo(triple, "", ""));
  if (!info->isCPUStringValid(name.cpu))
    return llvm::createStringError("no CPU is named '" + name.cpu + "'");
  info.reset((*target)->createMCSubtargetInfo(triple, name.cpu, name.more));
  // LLVM aborts when it is asked for 64-bit code for these.
  if (triple.isX86() && !info->checkFeatures("+64bit"))
    return llvm::createStringError("'" + name.cpu + "' is not a 64-bit CPU");
  std::vector<std::string> names;
  for (const llvm::SubtargetFeatureKV &feature :
       info->getAllProcessorFeatures()) {
    llvm::StringRef text = feature.Desc;
    if (info->getFeatureBits().test(feature.Value) &&
        (text.starts_with("Enable") || text.starts_with("Support") ||
         isFound(name.architecture, feature.Key)))
      names.push_back(feature.Key);
  }
  return names;
}

/// The level that INGOT_MAX_ISA names; the highest one without it.
static llvm::Expected<ingot::abi::CpuLevel> getMaxLevel() {
  const char *name = std::getenv(ingot::abi::kMaxIsaVariable);
  if (!name || !*name)
    return ingot::abi::CpuLevel::Amx;
  if (auto level = ingot::abi::findCpuLevel(name))
    return *level;
  return llvm::createStringError(llvm::Twine(ingot::abi::kMaxIsaVariable) +
                                 " names no level: '" + name + "' is not " +
                                 std::string(ingot::abi::kCpuLevelList));
}

/// The features of this machine's CPU, up to the level.
static std::vector<std::string> listHostFeatures(ingot::abi::CpuLevel most) {
  std::vector<std::string> names;
  for (auto &feature : llvm::sys::getHostCPUFeatures())
    if (const ingot::abi::CpuFeature *known =
            ingot::abi::findCpuFeature(feature.first());
        feature.second && known && known->level <= most)
      names.push_back(feature.first().str());
  return names;
}

llvm::Expected<HostProcessor> ingot::findProcessor(llvm::StringRef name) {
  bool isNative = name == "native";
  auto parsed = isNative ? ProcessorName{getNativeArchitecture(),
                                         llvm::sys::getHostCPUName().str(), ""}
                         : parseName(name);
  if (!parsed)
    return parsed.takeError();
  const Architecture &architecture = parsed->architecture;
  HostProcessor result;
  result.triple = architecture.triple;
  result.cpu = parsed->cpu;
  auto assumed = listInstructions(*parsed);
  if (!assumed)
    return assumed.takeError();
  auto baseline =
      listInstructions({architecture, architecture.baseline.str(), ""});
  if (!baseline)
    return baseline.takeError();
  if (isNative && &architecture == &kX86) {
    auto most = getMaxLevel();
    if (!most)
      return most.takeError();
    result.features = listHostFeatures(*most);
  } else if (isNative) {
    // Code is for any CPU of the architecture.
    result.features.emplace_back(abi::kAArch64Baseline);
  } else {
    llvm::copy_if(*assumed, std::back_inserter(result.features),
                  [&](llvm::StringRef feature) {
                    return isFound(architecture, feature);
                  });
  }
  llvm::sort(result.features);
  for (const std::string &feature : *assumed)
    if (!llvm::is_contained(result.features, feature) &&
        !llvm::is_contained(*baseline, feature))
      result.disabled.push_back(feature);
  return result;
}

static std::string featureString(const HostProcessor &target) {
  std::string text;
  // A feature that is disabled takes those with it that build on it.
  for (const std::string &feature : target.disabled)
    text += (text.empty() ? "-" : ",-") + feature;
  for (const std::string &feature : target.features)
    text += (text.empty() ? "+" : ",+") + feature;
  return text;
}

static llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createMachine(const HostProcessor &cpu, unsigned level) {
  std::string triple =
      cpu.triple.empty() ? getNativeArchitecture().triple.str() : cpu.triple;
  auto target = findTarget(triple);
  if (!target)
    return target.takeError();
  llvm::TargetOptions options;
  // Results do not depend on fusion: operations are not contracted across ops.
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>((*target)->createTargetMachine(
      llvm::Triple(triple), cpu.cpu, featureString(cpu), options,
      llvm::Reloc::PIC_, std::nullopt,
      level <= 1 ? llvm::CodeGenOptLevel::Less
                 : llvm::CodeGenOptLevel::Aggressive));
}

void ingot::runDefaultPipeline(llvm::PassBuilder &builder,
                               llvm::OptimizationLevel level,
                               llvm::Module &module) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(level).run(module, modules);
}

llvm::Expected<std::unique_ptr<llvm::Module>>
ingot::translateForHost(ModuleOp module, llvm::LLVMContext &context,
                        const HostProcessor &target, unsigned level) {
  registerBuiltinDialectTranslation(*module->getContext());
  registerLLVMDialectTranslation(*module->getContext());
  std::unique_ptr<llvm::Module> result =
      translateModuleToLLVMIR(module, context, "ingot");
  if (!result)
    return llvm::createStringError("translation to LLVM IR failed");
  auto machine = createMachine(target, level);
  if (!machine)
    return machine.takeError();
  result->setDataLayout((*machine)->createDataLayout());
  result->setTargetTriple((*machine)->getTargetTriple());
  for (llvm::Function &function : *result) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", target.cpu);
    function.addFnAttr("target-features", featureString(target));
    function.addFnAttr("prefer-vector-width", "512");
    function.addFnAttr(llvm::Attribute::NoUnwind);
  }
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = true;
  tuning.SLPVectorization = true;
  llvm::PassBuilder builder(machine->get(), tuning);
  runDefaultPipeline(builder,
                     level <= 1 ? llvm::OptimizationLevel::O1
                                : llvm::OptimizationLevel::O3,
                     *result);
  return result;
}

void ingot::renameModule(llvm::Module &module, llvm::StringRef name) {
  llvm::GlobalVariable *table = module.getGlobalVariable("ingot_module");
  for (llvm::GlobalValue &value : module.global_values())
    if (&value != table && !value.isDeclaration())
      value.setLinkage(llvm::GlobalValue::InternalLinkage);
  table->setName(name);
}

void ingot::addModelFunction(llvm::Module &module, llvm::StringRef name) {
  auto *type = llvm::FunctionType::get(
      llvm::PointerType::getUnqual(module.getContext()), /*isVarArg=*/false);
  llvm::FunctionCallee getter =
      module.getOrInsertFunction("ingot_get_model", type);
  auto *function =
      llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage,
                             (name + "_model").str(), module);
  llvm::IRBuilder<> builder(
      llvm::BasicBlock::Create(module.getContext(), "", function));
  builder.CreateRet(builder.CreateCall(getter));
}

llvm::Expected<std::string> ingot::emitObject(llvm::Module &module,
                                              const HostProcessor &target,
                                              unsigned level) {
  auto machine = createMachine(target, level);
  if (!machine)
    return machine.takeError();
  llvm::SmallString<0> bytes;
  llvm::raw_svector_ostream os(bytes);
  llvm::legacy::PassManager passes;
  if ((*machine)->addPassesToEmitFile(passes, os, nullptr,
                                      llvm::CodeGenFileType::ObjectFile))
    return llvm::createStringError("the target cannot emit object files");
  passes.run(module);
  return bytes.str().str();
}
