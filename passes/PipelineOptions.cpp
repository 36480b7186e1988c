// SPDX-License-Identifier: Apache-2.0

#include "passes/PipelineOptions.h"

#include "dialects/ingot/ir/Diagnostics.h"
#include "passes/TargetRegistration.h"
#include "passes/autodiff/Losses.h"
#include "passes/autodiff/Optimizers.h"
#include "passes/parallel/GradComm.h"

using namespace ingot;
using llvm::StringRef;

llvm::ArrayRef<llvm::StringLiteral> ingot::getOptimizerNames() {
  return Optimizer::getNames();
}

std::string ingot::getLossNames() { return Loss::listNames(); }

std::string PipelineOptions::getComputePrecision() const {
  return precision == "fp8" ? std::string("bf16") : std::string(precision);
}

BaseRule PipelineOptions::getTeacherBase() const {
  const DistillRule &rule = distill;
  return rule.isEncoded()
             ? llvm::cantFail(BaseRule::parse("distill", rule.precision))
             : BaseRule();
}

std::vector<std::unique_ptr<TargetOptions>>
PipelineOptions::bindTargets(OptionTable &table) {
  registerIngotTargets();
  return bindTargetOptions(table);
}

TargetSpec PipelineOptions::getTargetSpec(StringRef architecture) const {
  TargetSpec spec = {target, architecture.str(), MathMode::Exact, {}};
  for (const std::unique_ptr<TargetOptions> &options : ofTargets)
    if (options->belongTo(spec.kind))
      options->select(spec);
  return spec;
}

llvm::Error PipelineOptions::check() const {
  for (const PipelineOption *option : all)
    if (llvm::Error error = option->check())
      return error;
  for (const PipelineOption *option :
       std::initializer_list<const PipelineOption *>{&gradComm, &zero,
                                                     &syncBatchNorm})
    if (!hasRanks() && !option->getGivenTexts().empty())
      return makeOptionError(option->getName(), "requires --data-parallel",
                             "add --data-parallel, or leave it out");
  for (const auto &[name, isGiven] :
       {std::pair(partition.getName(), !partition.empty()),
        std::pair(splitRows.getName(), !splitRows.getGivenTexts().empty())})
    if (isGiven && !hasAxis("tensor"))
      return makeOptionError(name, "requires --mesh tensor=N",
                             "add it, or leave this out");
  if (hasAxis("inner") && zero == 0)
    return makeOptionError(mesh.getName(),
                           "without --zero, ranks along inner have no shards",
                           "add --zero 1, 2 or 3, or leave inner=N out");
  if (adapter.empty() && !adapterTrain.getGivenTexts().empty())
    return makeOptionError(adapterTrain.getName(), "requires --adapter",
                           "add --adapter, or use --trainable");
  for (auto [isUnsupported, what] :
       {std::pair(target != "cpu", "is not on GPUs yet"),
        std::pair(!mesh.empty(), "is not on a mesh yet")})
    if (!base.getGivenTexts().empty() && isUnsupported)
      return makeOptionError(base.getName(), what,
                             "compile for CPUs without --mesh, or leave the "
                             "weights as they are");
  for (auto [isUnsupported, what, hint] :
       {std::tuple(target != "cpu", "is not on GPUs yet", "compile for CPUs"),
        std::tuple(!mesh.empty(), "is not on a mesh yet", "leave out --mesh"),
        std::tuple(zero > 2, "needs whole weights, of which ranks have shards",
                   "compile with --zero 2, 1 or 0"),
        std::tuple(!adapter.empty(), "needs weights that are trained",
                   "prune first, and train adapters of what is exported")})
    if (!prune.empty() && isUnsupported)
      return makeOptionError(prune.getName(), what, hint);
  const DistillRule &teacher = distill;
  if (teacher.isEncoded() && (target != "cpu" || !mesh.empty()))
    return makeOptionError(distill.getName(),
                           "a teacher of encoded weights is not on GPUs and "
                           "meshes yet",
                           "choose precision=bf16, or leave it out");
  if (teacher.isLow() && getComputePrecision() != "fp32" &&
      getComputePrecision() != teacher.precision)
    return makeOptionError(distill.getName(),
                           "a teacher in " + teacher.precision +
                               " beside a student in " + getComputePrecision() +
                               " is not there yet",
                           "choose one of them for both");
  if (!distill.empty() && hasAxis("tensor"))
    return makeOptionError(distill.getName(),
                           "is not with parts of layers (--mesh tensor) yet",
                           "leave out --mesh tensor=N, or train without a "
                           "teacher");
  for (auto [isUnsupported, what, hint] :
       {std::tuple(target != "cpu", "dyn8 is not on GPUs yet",
                   "choose bf16, or compile for CPUs"),
        std::tuple(!mesh.empty(), "dyn8 is not on a mesh yet",
                   "choose bf16, or leave out --mesh"),
        std::tuple(!prune.empty(), "moments in dyn8 are not pruned yet",
                   "choose bf16, or leave out --prune")})
    if (optimizerPrecision == "dyn8" && isUnsupported)
      return makeOptionError(optimizerPrecision.getName(), what, hint);
  auto comm = GradComm::parse(gradComm);
  if (!comm)
    return comm.takeError();
  if (!mesh.empty() && comm->compresses())
    return makeOptionError(gradComm.getName(),
                           "compression is for ranks along data alone",
                           "leave out --mesh, or send bf16");
  if (zero > 0 && comm->compresses())
    return makeOptionError(gradComm.getName(),
                           "compression needs whole gradients",
                           "compile with --zero 0, or send bf16");
  for (const std::unique_ptr<TargetOptions> &options : ofTargets)
    if (llvm::Error error = options->check(target))
      return error;
  if (precision != "fp8" && !fp8Scaling.getGivenTexts().empty())
    return makeOptionError(fp8Scaling.getName(), "requires --precision fp8",
                           "add --precision fp8, or leave it out");
  if (fp8Scaling == "delayed" && gradAccumulation > 1)
    return makeOptionError(fp8Scaling.getName(),
                           "delayed scales would have to agree over "
                           "micro-batches",
                           "choose current, block or mx");
  return RematNames::combine(remat.getName(), llvm::ArrayRef<RematRule>(remat))
      .takeError();
}

/// Quotes a text, where MLIR has to have quotes to parse it as the value of an
/// option.
static std::string quote(StringRef text) {
  if (text.find_first_of(" '\"{}") == StringRef::npos)
    return text.str();
  StringRef mark = text.contains('\'') ? "\"" : "'";
  return (mark + text + mark).str();
}

/// Keeps MLIR from taking the value of a list for several: what is in braces is
/// one, within the braces of the option.
static std::string quoteElement(StringRef text) {
  return text.contains(',') ? ("{{" + text + "}}").str() : quote(text);
}

/// Whether MLIR parses the written option as this value.
static bool isReadAs(const std::string &written, size_t option,
                     const std::string &text) {
  PipelineOptions read;
  return succeeded(read.parseFromString(written, llvm::nulls())) &&
         read.all[option]->getGivenTexts() == std::vector{text};
}

llvm::Expected<std::string> PipelineOptions::print() const {
  std::string printed;
  for (auto [i, option] : llvm::enumerate(all))
    for (const std::string &text : option->getGivenTexts()) {
      if (text.empty() && !option->isFlag())
        continue;
      std::string written = option->getName().str();
      if (!option->isFlag())
        written += "=" + (option->isList() ? quoteElement(text) : quote(text));
      bool isQuotable =
          !StringRef(text).contains('\'') || !StringRef(text).contains('"');
      if (!isQuotable || !isReadAs(written, i, text))
        return makeOptionError(option->getName(),
                               "'" + text + "' cannot be written in a pipeline",
                               "use one kind of quotation marks, and no spaces "
                               "at the ends");
      printed += (printed.empty() ? "" : " ") + written;
    }
  return printed;
}
