#include "test/random-graphs/Compiled.h"

#include "dialects/ingot/ir/Dialect.h"
#include "dialects/ingot/ir/States.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Pipeline.h"
#include "passes/codegen/Manifest.h"
#include "passes/codegen/cpu/Object.h"
#include "passes/codegen/cpu/Passes.h"
#include "passes/fusion/Passes.h"
#include "passes/graph/Passes.h"
#include "passes/schedule/Passes.h"
#include "runtime/abi/Abi.h"
#include "runtime/core/Context.h"

#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/TargetSelect.h"

#include <cstring>

using namespace mlir;
using namespace ingot;
using namespace ingot::testing;
using reference::Tensor;

/// Arguments are data, results outputs, as in @predict.
static void nameSignature(func::FuncOp function) {
  Builder builder(function.getContext());
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    function.setArgAttr(i, kNameAttr,
                        builder.getStringAttr("x" + llvm::Twine(i)));
    function.setArgAttr(i, kKindAttr, builder.getStringAttr("data"));
  }
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    function.setResultAttr(i, kNameAttr,
                           builder.getStringAttr("y" + llvm::Twine(i)));
}

/// Where a named tensor of the manifest lies.
static int64_t offsetOf(const llvm::json::Array &tensors,
                        const std::string &name) {
  for (const llvm::json::Value &tensor : tensors)
    if (tensor.getAsObject()->getString("name") == name)
      return *tensor.getAsObject()->getInteger("offset");
  llvm::report_fatal_error("the manifest lacks a tensor");
}

static bool place(ModuleOp module, unsigned level) {
  PassManager passes(module.getContext());
  OpPassManager &functions = passes.nest<func::FuncOp>();
  functions.addPass(createSimplify());
  functions.addPass(createDecompose());
  functions.addPass(createSimplify());
  FormFusionsOptions fusion;
  fusion.each = level == 0;
  functions.addPass(createFormFusions(fusion));
  PlaceStepsOptions placement;
  placement.noReuse = level == 0;
  passes.addPass(createPlaceSteps(placement));
  return succeeded(passes.run(module));
}

static bool lower(ModuleOp module, unsigned level) {
  PassManager passes(module.getContext());
  buildCpuKernelPipeline(passes, level);
  passes.addPass(createLowerSteps());
  return succeeded(passes.run(module));
}

/// The entry points of the runtime that this test is linked with.
static llvm::Error defineRuntime(llvm::orc::LLJIT &jit) {
  llvm::orc::SymbolMap symbols;
  auto define = [&](llvm::StringRef name, auto *entry) {
    symbols[jit.mangleAndIntern(name)] = {
        llvm::orc::ExecutorAddr::fromPtr(entry),
        llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
  };
  define("ingot_launch", &ingot_launch);
  define("ingot_matmul", &ingot_matmul);
  define("ingot_conv", &ingot_conv);
  define("ingot_conv_input_grad", &ingot_conv_input_grad);
  define("ingot_conv_filter_grad", &ingot_conv_filter_grad);
  define("ingot_copy", &ingot_copy);
  return jit.getMainJITDylib().define(
      llvm::orc::absoluteSymbols(std::move(symbols)));
}

static llvm::Expected<std::unique_ptr<llvm::orc::LLJIT>>
load(const std::string &object) {
  llvm::InitializeNativeTarget();
  auto jit = llvm::orc::LLJITBuilder().create();
  if (!jit)
    return jit.takeError();
  if (llvm::Error error = defineRuntime(**jit))
    return std::move(error);
  auto process = llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
      (*jit)->getDataLayout().getGlobalPrefix());
  if (!process)
    return process.takeError();
  (*jit)->getMainJITDylib().addGenerator(std::move(*process));
  if (llvm::Error error = (*jit)->addObjectFile(
          llvm::MemoryBuffer::getMemBufferCopy(object, "graph")))
    return std::move(error);
  return jit;
}

llvm::Expected<std::vector<Tensor>>
ingot::testing::compileAndRun(ModuleOp module, unsigned level,
                              const std::vector<Tensor> &arguments) {
  auto function = *module.getOps<func::FuncOp>().begin();
  SmallVector<RankedTensorType> resultTypes;
  for (Type type : function.getResultTypes())
    resultTypes.push_back(cast<RankedTensorType>(type));
  function.setName(kPredictName);
  nameSignature(function);
  if (!place(module, level))
    return reference::invalid("placing failed");

  llvm::json::Object manifest = buildManifest(module, WeightStorage::Embed);
  runtime::Block state(*manifest.getInteger("state_bytes"), "state");
  runtime::Block arena(*manifest.getInteger("arena_bytes"), "arena");
  for (StateOp op : module.getOps<StateOp>()) {
    std::string storage;
    llvm::StringRef bytes = stateBytes(op, storage);
    std::memcpy(state.getData() + offsetOf(*manifest.getArray("states"),
                                           op.getSymName().str()),
                bytes.data(), bytes.size());
  }
  const llvm::json::Object &spec =
      *manifest.getObject("functions")->getObject(kPredictName);
  for (auto [i, argument] : llvm::enumerate(arguments)) {
    std::vector<char> bytes = argument.getRawData();
    std::memcpy(arena.getData() +
                    offsetOf(*spec.getArray("inputs"), "x" + std::to_string(i)),
                bytes.data(), bytes.size());
  }

  if (!lower(module, level))
    return reference::invalid("lowering failed");
  CpuTarget target = CpuTarget::host();
  llvm::LLVMContext context;
  auto translated = translateForCpu(module, context, target, level);
  if (!translated)
    return translated.takeError();
  auto object = emitObject(**translated, target, level);
  if (!object)
    return object.takeError();
  auto jit = load(*object);
  if (!jit)
    return jit.takeError();
  auto symbol = (*jit)->lookup("ingot_module");
  if (!symbol)
    return symbol.takeError();
  ingot_context running;
  symbol->toPtr<const ingot_module_t *>()->functions[0].run(
      &running, state.getData(), arena.getData());
  if (running.failed)
    return reference::invalid(running.message);

  std::vector<Tensor> results;
  for (auto [i, type] : llvm::enumerate(resultTypes)) {
    Tensor shape(type);
    const char *at = arena.getData() + offsetOf(*spec.getArray("outputs"),
                                                "y" + std::to_string(i));
    auto result = Tensor::fromRawData(
        type, llvm::ArrayRef<char>(at, shape.getRawData().size()));
    if (!result)
      return result.takeError();
    results.push_back(std::move(*result));
  }
  return results;
}
