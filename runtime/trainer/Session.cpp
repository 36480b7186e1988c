//===----------------------------------------------------------------------===//
//
// A loaded module with its memory.
//
//===----------------------------------------------------------------------===//

#include "runtime/trainer/Session.h"

#include "runtime/core/Error.h"
#include "runtime/cpu/Features.h"

#include <cmath>
#include <cstring>
#include <limits>

using namespace ingot::runtime;

static void checkProcessor(const Manifest &manifest) {
  std::string names;
  for (const std::string &name : findMissingFeatures(manifest.features))
    names += (names.empty() ? "" : ", ") + name;
  if (!names.empty())
    throw failure("this processor",
                  "lacks " + names + ", which the trainer was compiled for",
                  "compile the model on this machine, or with an --arch that "
                  "both machines have");
}

Session::Session(const ingot_module_t &module, const Manifest &manifest)
    : module(module), manifest(manifest) {
  if (manifest.targetKind != "cpu")
    throw failure("target",
                  "compiled for '" + manifest.targetKind +
                      "', which this runtime does not have",
                  "compile with --target cpu");
  checkProcessor(manifest);
  state = Block(manifest.stateBytes, "state");
  arena = Block(manifest.arenaBytes, "arena");
  for (size_t i = 0; i < manifest.functions.size(); ++i) {
    Function function;
    function.spec = &manifest.functions[i];
    function.index = static_cast<int32_t>(i);
    for (uint32_t j = 0; j < module.function_count; ++j)
      if (manifest.getSymbol(*function.spec) == module.functions[j].name)
        function.run = module.functions[j].run;
    if (!function.run)
      throw failure("module",
                    "no function '" + manifest.getSymbol(*function.spec) + "'",
                    "compile the model again");
    functions.push_back(function);
  }
}

const Function *Session::findFunction(std::string_view name,
                                      size_t variant) const {
  for (const Function &function : functions)
    if (function.spec->name == name && function.spec->variant == variant)
      return &function;
  return nullptr;
}

void Session::fillBatch(const Function &function, const Dataset &data,
                        const int64_t *samples, int64_t count) {
  data.fill(function.spec->inputs, samples, count, arena.getData());
}

void Session::run(const Function &function,
                  const std::map<std::string, double> &hyperparameters,
                  int64_t validSamples) {
  for (const InputSpec &input : function.spec->inputs) {
    char *place = arena.getData() + input.offset;
    if (input.kind == InputKind::Hyper) {
      double value = hyperparameters.at(input.name);
      std::memcpy(place, &value, sizeof(value));
    } else if (input.kind == InputKind::Valid) {
      std::memcpy(place, &validSamples, sizeof(validSamples));
    }
  }
  context.function = function.index;
  {
    ProfileScope scope(&context, /*kernel=*/-1);
    function.run(&context, state.getData(), arena.getData());
  }
  if (context.failed)
    throw failure(function.spec->name, context.message,
                  "report this with the model, or compile with -O0");
}

double Session::readScalar(const Function &function,
                           std::string_view output) const {
  const TensorSpec *spec = function.spec->findOutput(output);
  if (!spec || spec->getElements() != 1)
    return std::numeric_limits<double>::quiet_NaN();
  return readAsDouble(getOutput(*spec), spec->dtype);
}
