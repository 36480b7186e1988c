// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Options that belong to a kind of target, which registers them: command lines
// and pipelines have those of all kinds, and a module keeps the given ones of
// its kind for the target (kTargetOptionsAttr). A new one is declared with the
// others of its target, and read by the target (TargetSpec::getOption).
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_OPTIONS_TARGETOPTIONS_H
#define INGOT_PASSES_OPTIONS_TARGETOPTIONS_H

#include "dialects/ingot/target/Target.h"
#include "passes/options/Setting.h"

#include <memory>

namespace ingot {

/// Options that MLIR parses together.
struct OptionTable : virtual mlir::detail::PassOptions {
  /// All options, in their order, and the section of those that follow.
  std::vector<PipelineOption *> all;
  llvm::StringRef section;
};

/// The options of a kind of target, as members of a subclass.
class TargetOptions {
public:
  virtual ~TargetOptions();

  /// Returns whether targets of this kind have the options.
  virtual bool belongTo(llvm::StringRef kind) const = 0;
  /// Checks what was given for a target of this kind, or of another one.
  virtual llvm::Error check(llvm::StringRef kind) const;
  /// Puts what was given into the parameters of a target that has the options.
  virtual void select(TargetSpec &spec) const;

private:
  friend std::vector<std::unique_ptr<TargetOptions>>
  bindTargetOptions(OptionTable &table);

  std::vector<PipelineOption *> options;
};

/// Adds the options to a table.
using TargetOptionsFactory =
    std::unique_ptr<TargetOptions> (*)(OptionTable &table);

/// Registers options for bindTargetOptions(). Registering them again has no
/// effect.
void registerTargetOptions(TargetOptionsFactory factory);

/// Adds the options of all registered targets to a table.
std::vector<std::unique_ptr<TargetOptions>>
bindTargetOptions(OptionTable &table);

/// Puts options of the target, each as `NAME=VALUE` or the name of a flag, into
/// its parameters. Fails with a UserError if the kind has no such option or the
/// option no such value.
llvm::Error addTargetOptions(TargetSpec &spec,
                             llvm::ArrayRef<std::string> texts);

/// Returns the options of the parameters, as addTargetOptions() takes them.
llvm::SmallVector<std::string> listTargetOptions(const TargetSpec &spec);

} // namespace ingot

#endif // INGOT_PASSES_OPTIONS_TARGETOPTIONS_H
