// SPDX-License-Identifier: Apache-2.0

#include "tools/ingot-eval/Slots.h"

#include "dialects/exec/Exec.h"
#include "dialects/ingot/ir/Dialect.h"
#include "dialects/ingot/ir/Signature.h"
#include "dialects/ingot/ir/States.h"
#include "dialects/reference/Tensor.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Pipeline.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace ingot;
using reference::invalid;

void ModuleSlots::readSignatures(ModuleOp module) {
  Builder builder(module.getContext());
  for (auto function : module.getOps<func::FuncOp>()) {
    FunctionSlots &compiled = functions[function.getName()];
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

llvm::Error ModuleSlots::readPlaces(ModuleOp module) {
  llvm::StringMap<int64_t> stateOffsets;
  llvm::StringSet<> shards;
  for (auto state : module.getOps<StateOp>()) {
    // A split master, and what no function reads, has no memory.
    if (!state->hasAttr(exec::kOffsetAttr))
      continue;
    int64_t offset =
        state->getAttrOfType<IntegerAttr>(exec::kOffsetAttr).getInt();
    stateOffsets[state.getSymName()] = offset;
    std::string storage;
    states.push_back({offset, ingot::stateBytes(state, storage).str(),
                      state.getShard().has_value()});
    if (state.getShard())
      shards.insert(state.getSymName());
  }
  stateBytes =
      module->getAttrOfType<IntegerAttr>(exec::kStateBytesAttr).getInt();
  if (auto places = module->getAttrOfType<ArrayAttr>(exec::kMessagesAttr))
    for (auto place : places.getAsRange<exec::MessageAttr>())
      messages.push_back({place.getOffset(), place.getRankBytes()});
  for (auto step : module.getOps<exec::StepOp>()) {
    FunctionSlots &compiled = functions[step.getSymName()];
    compiled.arenaBytes = static_cast<int64_t>(step.getArenaBytes());
    llvm::StringMap<int64_t> places;
    for (ArrayAttr list : {step.getInputs(), step.getOutputs()})
      for (auto value : list.getAsRange<exec::ValueAttr>())
        places[value.getName()] = value.getOffset();
    for (auto *slots : {&compiled.arguments, &compiled.results})
      for (Slot &slot : *slots) {
        auto &offsets = slot.isState ? stateOffsets : places;
        auto found = offsets.find(slot.name);
        if (found == offsets.end())
          return invalid("no memory for '" + slot.name + "'");
        slot.offset = found->second;
        slot.isShard = slot.isState && shards.contains(slot.name);
      }
  }
  return llvm::Error::success();
}

llvm::Error ingot::runPasses(ModuleOp module,
                             llvm::function_ref<void(PassManager &)> build) {
  PassManager passes(module.getContext());
  build(passes);
  if (failed(passes.run(module)))
    return invalid("does not compile");
  return llvm::Error::success();
}

llvm::Error ingot::placeSteps(ModuleOp module, const PipelineOptions &options,
                              const Target &target) {
  return runPasses(module, [&](PassManager &passes) {
    buildTargetPipeline(passes, options);
    buildFusionPipeline(passes, options, target);
    buildPlacementPipeline(passes, options);
  });
}
