// SPDX-License-Identifier: Apache-2.0

#include "passes/options/TargetOptions.h"

#include "dialects/ingot/ir/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"

using namespace ingot;
using llvm::StringRef;

/// Returns the factories, which are added at start, before other threads run.
static std::vector<TargetOptionsFactory> &registry() {
  static std::vector<TargetOptionsFactory> factories;
  return factories;
}

void ingot::registerTargetOptions(TargetOptionsFactory factory) {
  if (!llvm::is_contained(registry(), factory))
    registry().push_back(factory);
}

TargetOptions::~TargetOptions() = default;

llvm::Error TargetOptions::check(StringRef) const {
  return llvm::Error::success();
}

void TargetOptions::select(TargetSpec &spec) const {
  for (const PipelineOption *option : options)
    for (const std::string &text : option->getGivenTexts())
      spec.options[option->getName().str()] = text;
}

std::vector<std::unique_ptr<TargetOptions>>
ingot::bindTargetOptions(OptionTable &table) {
  std::vector<std::unique_ptr<TargetOptions>> bound;
  for (TargetOptionsFactory factory : registry()) {
    size_t first = table.all.size();
    bound.push_back(factory(table));
    bound.back()->options = std::vector<PipelineOption *>(
        table.all.begin() + static_cast<ptrdiff_t>(first), table.all.end());
  }
  return bound;
}

namespace {
/// The options of targets without others.
struct TargetTable : OptionTable, mlir::PassPipelineOptions<TargetTable> {
  std::vector<std::unique_ptr<TargetOptions>> ofTargets =
      bindTargetOptions(*this);
};
} // namespace

llvm::Error ingot::addTargetOptions(TargetSpec &spec,
                                    llvm::ArrayRef<std::string> texts) {
  if (texts.empty())
    return llvm::Error::success();
  TargetTable table;
  for (StringRef text : texts) {
    auto [name, value] = text.split('=');
    auto found = llvm::find_if(table.all, [&](const PipelineOption *option) {
      return option->getName() == name;
    });
    if (found == table.all.end())
      return makeOptionError("options", "no target has '" + name + "'",
                             "name options of the target, as ingotc does");
    if (llvm::Error error = (*found)->set(value))
      return error;
  }
  for (const std::unique_ptr<TargetOptions> &options : table.ofTargets) {
    if (llvm::Error error = options->check(spec.kind))
      return error;
    if (options->belongTo(spec.kind))
      options->select(spec);
  }
  return llvm::Error::success();
}

llvm::SmallVector<std::string>
ingot::listTargetOptions(const TargetSpec &spec) {
  llvm::SmallVector<std::string> texts;
  for (const auto &[name, value] : spec.options)
    texts.push_back(value.empty() ? name : name + "=" + value);
  return texts;
}
