#include "tools/ingot-eval/Compiled.h"

#include "dialects/exec/Exec.h"
#include "dialects/ingot/ir/Dialect.h"
#include "dialects/ingot/ir/Signature.h"
#include "dialects/ingot/ir/States.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Pipeline.h"
#include "passes/codegen/cpu/Object.h"
#include "passes/codegen/cpu/Passes.h"
#include "passes/fusion/Passes.h"
#include "passes/graph/Passes.h"
#include "passes/schedule/Passes.h"
#include "runtime/abi/Abi.h"
#include "runtime/core/Context.h"
#include "runtime/emulator/Emulator.h"

#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/TargetSelect.h"

#include <cstring>

using namespace mlir;
using namespace ingot;
using reference::invalid;
using reference::Tensor;

namespace {

/// An argument or result, and its place.
struct Slot {
  RankedTensorType type;
  std::string name;
  bool isState = false;
  int64_t offset = -1;
};

struct CompiledFunction {
  std::vector<Slot> arguments, results;
  int64_t arenaBytes = 0;
  ingot_step_fn run = nullptr;
};

/// A constant of the module, or a state that not every function has.
struct InitialState {
  int64_t offset;
  std::string bytes;
};

class LoadedModule : public CompiledModule {
public:
  llvm::Expected<std::vector<Tensor>>
  run(llvm::StringRef name, llvm::ArrayRef<Tensor> arguments) const override;

  llvm::Error build(ModuleOp module, unsigned level, Backend backend);

private:
  void readSignatures(ModuleOp module);
  llvm::Error readPlaces(ModuleOp module);
  llvm::Error load(const std::string &object);

  llvm::StringMap<CompiledFunction> functions;
  std::vector<InitialState> states;
  int64_t stateBytes = 0;
  std::unique_ptr<llvm::orc::LLJIT> jit;
};

} // namespace

/// Gives everything that is no state a name, and remembers what was there.
void LoadedModule::readSignatures(ModuleOp module) {
  Builder builder(module.getContext());
  for (auto function : module.getOps<func::FuncOp>()) {
    CompiledFunction &compiled = functions[function.getName()];
    auto slot = [&](Type type, llvm::Twine name, FlatSymbolRefAttr state) {
      Slot result{cast<RankedTensorType>(type), name.str()};
      if (state) {
        result.isState = true;
        result.name = state.getValue().str();
      }
      return result;
    };
    Signature signature(function);
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      compiled.arguments.push_back(slot(function.getArgumentTypes()[i],
                                        "x" + llvm::Twine(i),
                                        signature.argumentState(i)));
      const Slot &argument = compiled.arguments.back();
      if (argument.isState)
        continue;
      function.setArgAttr(i, kNameAttr, builder.getStringAttr(argument.name));
      function.setArgAttr(i, kKindAttr, builder.getStringAttr("data"));
    }
    for (unsigned i = 0; i < function.getNumResults(); ++i) {
      compiled.results.push_back(slot(function.getResultTypes()[i],
                                      "y" + llvm::Twine(i),
                                      signature.resultState(i)));
      const Slot &result = compiled.results.back();
      if (!result.isState)
        function.setResultAttr(i, kNameAttr,
                               builder.getStringAttr(result.name));
    }
  }
}

llvm::Error LoadedModule::readPlaces(ModuleOp module) {
  llvm::StringMap<int64_t> stateOffsets;
  for (auto state : module.getOps<StateOp>()) {
    int64_t offset = state->getAttrOfType<IntegerAttr>("exec.offset").getInt();
    stateOffsets[state.getSymName()] = offset;
    std::string storage;
    states.push_back({offset, ingot::stateBytes(state, storage).str()});
  }
  stateBytes = module->getAttrOfType<IntegerAttr>("exec.state_bytes").getInt();
  for (auto step : module.getOps<func::FuncOp>()) {
    CompiledFunction &compiled = functions[step.getName()];
    compiled.arenaBytes =
        step->getAttrOfType<IntegerAttr>("exec.arena_bytes").getInt();
    llvm::StringMap<int64_t> places;
    for (StringRef list : {"exec.inputs", "exec.outputs"})
      for (auto place :
           step->getAttrOfType<ArrayAttr>(list).getAsRange<DictionaryAttr>())
        places[place.getAs<StringAttr>("name").getValue()] =
            place.getAs<IntegerAttr>("offset").getInt();
    for (auto *slots : {&compiled.arguments, &compiled.results})
      for (Slot &slot : *slots) {
        auto &offsets = slot.isState ? stateOffsets : places;
        auto found = offsets.find(slot.name);
        if (found == offsets.end())
          return invalid("no place for '" + slot.name + "'");
        slot.offset = found->second;
      }
  }
  return llvm::Error::success();
}

/// Fails with what the compiler said.
static llvm::Error runPasses(ModuleOp module,
                             llvm::function_ref<void(PassManager &)> build) {
  PassManager passes(module.getContext());
  build(passes);
  if (failed(passes.run(module)))
    return invalid("does not compile");
  return llvm::Error::success();
}

static void buildPlacement(PassManager &passes, unsigned level,
                           Backend backend) {
  OpPassManager &functions = passes.nest<func::FuncOp>();
  functions.addPass(createSimplify());
  DecomposeOptions decomposition;
  decomposition.keepAnchors = level > 0;
  functions.addPass(createDecompose(decomposition));
  functions.addPass(createSimplify());
  FormFusionsOptions fusion;
  fusion.each = level == 0;
  fusion.rows = backend == Backend::Cpu;
  functions.addPass(createFormFusions(fusion));
  PlaceStepsOptions placement;
  placement.noReuse = level == 0;
  passes.addPass(createPlaceSteps(placement));
}

/// The entry points that this process is linked with, and the C library.
static llvm::Error defineSymbols(llvm::orc::LLJIT &jit) {
  llvm::orc::SymbolMap symbols;
  auto define = [&](llvm::StringRef name, auto *entry) {
    symbols[jit.mangleAndIntern(name)] = {
        llvm::orc::ExecutorAddr::fromPtr(entry),
        llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
  };
  define("ingot_launch", &ingot_launch);
  define("ingot_launch_grid", &ingot_launch_grid);
  define("ingot_emulator_check", &ingot_emulator_check);
  define("ingot_emulator_access", &ingot_emulator_access);
  define("ingot_emulator_barrier", &ingot_emulator_barrier);
  define("ingot_emulator_shuffle", &ingot_emulator_shuffle);
  define("ingot_matmul", &ingot_matmul);
  define("ingot_conv", &ingot_conv);
  define("ingot_conv_input_grad", &ingot_conv_input_grad);
  define("ingot_conv_filter_grad", &ingot_conv_filter_grad);
  define("ingot_attention", &ingot_attention);
  define("ingot_attention_grad", &ingot_attention_grad);
  define("ingot_copy", &ingot_copy);
  llvm::orc::JITDylib &library = jit.getMainJITDylib();
  if (llvm::Error error =
          library.define(llvm::orc::absoluteSymbols(std::move(symbols))))
    return error;
  auto process = llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
      jit.getDataLayout().getGlobalPrefix());
  if (!process)
    return process.takeError();
  library.addGenerator(std::move(*process));
  return llvm::Error::success();
}

llvm::Error LoadedModule::load(const std::string &object) {
  llvm::InitializeNativeTarget();
  auto created = llvm::orc::LLJITBuilder().create();
  if (!created)
    return created.takeError();
  jit = std::move(*created);
  if (llvm::Error error = defineSymbols(*jit))
    return error;
  if (llvm::Error error = jit->addObjectFile(
          llvm::MemoryBuffer::getMemBufferCopy(object, "module")))
    return error;
  auto symbol = jit->lookup("ingot_module");
  if (!symbol)
    return symbol.takeError();
  const auto *module = symbol->toPtr<const ingot_module_t *>();
  for (uint32_t i = 0; i < module->function_count; ++i)
    functions[module->functions[i].name].run = module->functions[i].run;
  return llvm::Error::success();
}

llvm::Error LoadedModule::build(ModuleOp module, unsigned level,
                                Backend backend) {
  readSignatures(module);
  if (llvm::Error error = runPasses(module, [&](PassManager &p) {
        buildPlacement(p, level, backend);
      }))
    return error;
  if (llvm::Error error = runPasses(module, [&](PassManager &p) {
        if (backend == Backend::Cpu)
          buildCpuKernelPipeline(p, level);
        else
          buildEmulationPipeline(p);
      }))
    return error;
  if (llvm::Error error = readPlaces(module))
    return error;
  if (llvm::Error error = runPasses(
          module, [](PassManager &p) { p.addPass(createLowerSteps()); }))
    return error;
  CpuTarget target = CpuTarget::host();
  llvm::LLVMContext context;
  auto translated = translateForCpu(module, context, target, level);
  if (!translated)
    return translated.takeError();
  auto object = emitObject(**translated, target, level);
  if (!object)
    return object.takeError();
  return load(*object);
}

llvm::Expected<std::vector<Tensor>>
LoadedModule::run(llvm::StringRef name,
                  llvm::ArrayRef<Tensor> arguments) const {
  auto found = functions.find(name);
  if (found == functions.end() || !found->second.run)
    return invalid("'" + name + "' is not compiled");
  const CompiledFunction &function = found->second;
  if (arguments.size() != function.arguments.size())
    return invalid("'" + name + "' takes another number of arguments");

  runtime::Block state(stateBytes, "states"),
      arena(function.arenaBytes, "arena");
  // All ones is NaN as a float.
  std::memset(arena.getData(), 0xFF, arena.getSize());
  for (const InitialState &initial : states)
    std::memcpy(state.getData() + initial.offset, initial.bytes.data(),
                initial.bytes.size());
  auto at = [&](const Slot &slot) {
    return (slot.isState ? state : arena).getData() + slot.offset;
  };
  std::vector<std::vector<char>> given;
  for (auto [slot, argument] : llvm::zip_equal(function.arguments, arguments)) {
    given.push_back(argument.getRawData());
    std::memcpy(at(slot), given.back().data(), given.back().size());
  }

  ingot_context context;
  function.run(&context, state.getData(), arena.getData());
  if (context.failed)
    return invalid(context.message);

  for (auto [slot, bytes] : llvm::zip_equal(function.arguments, given)) {
    bool isUpdated =
        slot.isState && llvm::any_of(function.results, [&](const Slot &result) {
          return result.isState && result.name == slot.name;
        });
    if (!isUpdated && std::memcmp(at(slot), bytes.data(), bytes.size()) != 0)
      return invalid("the code writes over argument '" + slot.name + "'");
  }
  std::vector<Tensor> results;
  for (const Slot &slot : function.results) {
    auto result = Tensor::fromRawData(
        slot.type, llvm::ArrayRef<char>(at(slot), exec::byteSize(slot.type)));
    if (!result)
      return result.takeError();
    results.push_back(std::move(*result));
  }
  return results;
}

llvm::Expected<std::unique_ptr<CompiledModule>>
CompiledModule::compile(ModuleOp module, unsigned level, Backend backend) {
  auto loaded = std::make_unique<LoadedModule>();
  if (llvm::Error error = loaded->build(module, level, backend))
    return std::move(error);
  return loaded;
}

llvm::Expected<std::vector<Tensor>> ingot::hoistConstants(func::FuncOp function,
                                                          bool keepSplats) {
  std::vector<Tensor> values;
  for (auto constant :
       llvm::make_early_inc_range(function.getBody().getOps<ConstantOp>())) {
    RankedTensorType type = constant.getType();
    if (keepSplats && constant.getValue().isSplat() &&
        type.getNumElements() > 1)
      continue;
    llvm::Expected<Tensor> value = Tensor::fromAttribute(constant.getValue());
    if (!value)
      return value.takeError();
    values.push_back(std::move(*value));
    Value argument = function.getBody().addArgument(type, constant.getLoc());
    constant.replaceAllUsesWith(argument);
    constant.erase();
  }
  function.setType(FunctionType::get(function.getContext(),
                                     function.getBody().getArgumentTypes(),
                                     function.getResultTypes()));
  return values;
}

double ingot::compiledLeeway(func::FuncOp function, Type element) {
  bool roundsOnce = true;
  function.walk([&](Operation *op) {
    roundsOnce &=
        !isa<ExpOp, LogOp, Log1pOp, TanhOp, ErfOp, SinOp, CosOp, PowOp, RsqrtOp,
             LogisticOp, ReduceOp, MatmulOp, ConvOp, ConvInputGradOp,
             ConvFilterGradOp, SumPoolOp, SumPoolGradOp, MaxPoolGradOp,
             ScatterAddOp, DropoutOp>(op) &&
        !isa<Decomposable>(op);
  });
  if (roundsOnce)
    return 0;
  return element.isF64()   ? 1e-12
         : element.isF32() ? 2e-6
         : element.isF16() ? 2e-3
                           : 1.6e-2;
}
