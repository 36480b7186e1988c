// SPDX-License-Identifier: Apache-2.0

#include "tools/ingot-eval/Compiled.h"

#include "dialects/exec/Exec.h"
#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/ir/Dialect.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Pipeline.h"
#include "passes/targets/Passes.h"
#include "passes/targets/host/Object.h"
#include "passes/targets/host/Passes.h"
#include "runtime/abi/Abi.h"
#include "runtime/core/Context.h"
#include "runtime/emulator/Emulator.h"
#include "tools/ingot-eval/Slots.h"

#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/TargetSelect.h"

#include <cstring>
#include <map>

using namespace mlir;
using namespace ingot;
using reference::invalid;
using reference::Tensor;

namespace {

class LoadedModule : public CompiledModule {
public:
  llvm::Expected<std::vector<Tensor>>
  run(llvm::StringRef name, llvm::ArrayRef<Tensor> arguments, int64_t rank,
      int64_t ranks, runtime::Communicator *others) const override;

  llvm::Error build(ModuleOp module, const PipelineOptions &options);

private:
  llvm::Error load(const std::string &object);

  ModuleSlots slots;
  llvm::StringMap<ingot_step_fn> functions;
  std::unique_ptr<llvm::orc::LLJIT> jit;
};

} // namespace

/// Defines the entry points that this process is linked with, and the C
/// library.
static llvm::Error defineSymbols(llvm::orc::LLJIT &jit) {
  llvm::orc::SymbolMap symbols;
  auto define = [&](llvm::StringRef name, auto *entry) {
    symbols[jit.mangleAndIntern(name)] = {
        llvm::orc::ExecutorAddr::fromPtr(entry),
        llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
  };
#define INGOT_ABI_ENTRY(NAME) define(#NAME, &NAME);
#include "runtime/abi/Abi.def"
  define("ingot_emulator_check", &ingot_emulator_check);
  define("ingot_emulator_access", &ingot_emulator_access);
  define("ingot_emulator_barrier", &ingot_emulator_barrier);
  define("ingot_emulator_blocks", &ingot_emulator_blocks);
  define("ingot_emulator_shuffle", &ingot_emulator_shuffle);
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
    functions[module->functions[i].name] = module->functions[i].run;
  return llvm::Error::success();
}

llvm::Error LoadedModule::build(ModuleOp module,
                                const PipelineOptions &options) {
  slots.readSignatures(module);
  auto target = chooseTarget(options.getTargetSpec(options.arch));
  if (!target)
    return target.takeError();
  if (llvm::Error error = placeSteps(module, options, **target))
    return error;
  if (llvm::Error error = runPasses(module, [&](PassManager &p) {
        buildKernelPipeline(p, options, **target);
      }))
    return error;
  if (llvm::Error error = slots.readPlaces(module))
    return error;
  if (llvm::Error error =
          runPasses(module, [](PassManager &p) { buildLoweringPipeline(p); }))
    return error;
  llvm::LLVMContext context;
  auto translated =
      translateForHost(module, context, (*target)->getHost(), options.level);
  if (!translated)
    return translated.takeError();
  auto object = emitObject(**translated, (*target)->getHost(), options.level);
  if (!object)
    return object.takeError();
  return load(*object);
}

llvm::Expected<std::vector<Tensor>>
LoadedModule::run(llvm::StringRef name, llvm::ArrayRef<Tensor> arguments,
                  int64_t rank, int64_t ranks,
                  runtime::Communicator *others) const {
  auto found = functions.find(name);
  if (found == functions.end())
    return invalid("'" + name + "' is not compiled");
  const FunctionSlots &function = slots.functions.find(name)->second;
  if (arguments.size() != function.arguments.size())
    return invalid("'" + name + "' takes another number of arguments");

  runtime::Block state(slots.stateBytes, "states"),
      arena(function.arenaBytes, "arena");
  // All bits set is NaN as a float.
  std::memset(arena.getData(), 0xFF, arena.getSize());
  ingot_context context;
  context.rank = rank;
  context.rankCount = ranks;
  context.ranks = others;
  std::map<int64_t, runtime::Block> shards;
  auto addShard = [&](int64_t offset, size_t bytes) {
    auto &shard = shards[offset] = runtime::Block(bytes, "shard");
    size_t number = offset / sizeof(char *);
    context.shards.resize(std::max(context.shards.size(), number + 1));
    return context.shards[number] = shard.getData();
  };
  for (const MessagePlace &message : slots.messages)
    addShard(message.offset, message.rankBytes * ranks);
  for (const InitialState &initial : slots.states) {
    char *place = nullptr;
    if (initial.isShard) {
      place = addShard(initial.offset, initial.bytes.size());
    } else {
      place = state.getData() + initial.offset;
    }
    std::memcpy(place, initial.bytes.data(), initial.bytes.size());
  }
  auto at = [&](const Slot &slot) {
    return slot.isShard
               ? shards.at(slot.offset).getData()
               : (slot.isState ? state : arena).getData() + slot.offset;
  };
  std::vector<std::vector<char>> given;
  for (auto [slot, argument] : llvm::zip_equal(function.arguments, arguments)) {
    given.push_back(argument.getRawData());
    std::memcpy(at(slot), given.back().data(), given.back().size());
  }

  found->second(&context, state.getData(), arena.getData());
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
        slot.type, llvm::ArrayRef<char>(at(slot), byteSize(slot.type)));
    if (!result)
      return result.takeError();
    results.push_back(std::move(*result));
  }
  return results;
}

llvm::Expected<std::unique_ptr<CompiledModule>>
CompiledModule::compile(ModuleOp module, const PipelineOptions &options) {
  auto loaded = std::make_unique<LoadedModule>();
  if (llvm::Error error = loaded->build(module, options))
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
  function.walk([&](CostModel op) { roundsOnce &= op.roundsOnce(); });
  if (roundsOnce)
    return 0;
  return element.isF64()   ? 1e-12
         : element.isF32() ? 2e-6
         : element.isF16() ? 2e-3
                           : 1.6e-2;
}
