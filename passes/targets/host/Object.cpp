// SPDX-License-Identifier: Apache-2.0

#include "passes/targets/host/Object.h"

#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"

using namespace mlir;
using namespace ingot;

/// LLVM's registry of targets, filled on first use.
static llvm::Expected<const llvm::Target *> hostTarget() {
  static bool initialized = [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    return true;
  }();
  (void)initialized;
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(
      llvm::Triple(llvm::sys::getDefaultTargetTriple()), error);
  if (!target)
    return llvm::createStringError(error);
  return target;
}

static HostProcessor describeHost() {
  HostProcessor target;
  target.cpu = llvm::sys::getHostCPUName();
  for (auto &feature : llvm::sys::getHostCPUFeatures())
    if (feature.second)
      target.features.push_back(feature.first().str());
  llvm::sort(target.features);
  return target;
}

llvm::Expected<HostProcessor> ingot::findProcessor(llvm::StringRef name) {
  if (name == "native")
    return describeHost();
  auto target = hostTarget();
  if (!target)
    return target.takeError();
  llvm::Triple triple(llvm::sys::getDefaultTargetTriple());
  std::unique_ptr<llvm::MCSubtargetInfo> info(
      (*target)->createMCSubtargetInfo(triple, "", ""));
  if (!info->isCPUStringValid(name))
    return llvm::createStringError("no CPU is named '" + name + "'");
  HostProcessor result;
  result.cpu = name.str();
  info.reset((*target)->createMCSubtargetInfo(triple, name, ""));
  // LLVM aborts when it is asked for 64-bit code for these.
  if (triple.isX86() && !info->checkFeatures("+64bit"))
    return llvm::createStringError("'" + name + "' is not a 64-bit CPU");
  for (const llvm::SubtargetFeatureKV &feature :
       info->getAllProcessorFeatures())
    if (info->getFeatureBits().test(feature.Value) &&
        !StringRef(feature.Key).starts_with("tuning-") &&
        StringRef(feature.Desc).starts_with("Enable"))
      result.features.push_back(feature.Key);
  return result;
}

static std::string featureString(const HostProcessor &target) {
  std::string text;
  for (const std::string &feature : target.features)
    text += (text.empty() ? "+" : ",+") + feature;
  return text;
}

static llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createMachine(const HostProcessor &cpu, unsigned level) {
  auto target = hostTarget();
  if (!target)
    return target.takeError();
  llvm::TargetOptions options;
  // Results do not depend on fusion: operations are not contracted across ops.
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>((*target)->createTargetMachine(
      llvm::Triple(llvm::sys::getDefaultTargetTriple()), cpu.cpu,
      featureString(cpu), options, llvm::Reloc::PIC_, std::nullopt,
      level <= 1 ? llvm::CodeGenOptLevel::Less
                 : llvm::CodeGenOptLevel::Aggressive));
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
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder
      .buildPerModuleDefaultPipeline(level <= 1 ? llvm::OptimizationLevel::O1
                                                : llvm::OptimizationLevel::O3)
      .run(*result, modules);
  return result;
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
