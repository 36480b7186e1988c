// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/options/OptionErrors.h"

#include "runtime/core/commandline/ConfigFile.h"
#include "runtime/core/commandline/Suggestions.h"
#include "runtime/trainer/options/phases/Hyperparameters.h"
#include "runtime/trainer/options/phases/RunOptions.h"

#include <algorithm>
#include <optional>

using namespace ingot::runtime;

Error ingot::runtime::explainUnknown(const std::string &argument,
                                     const Manifest &manifest,
                                     const CLI::App &app) {
  std::string flag = argument.substr(0, argument.find('='));
  for (const KnownHyperparameter &known : getKnownHyperparameters()) {
    if (flag != getFlag(known.name))
      continue;
    if (std::string_view(known.name) == "clip_norm")
      return usageError(flag, "this trainer was compiled without clipping",
                        "compile the model with ingotc --clip");
    std::string has;
    for (const HyperparameterSpec &spec : manifest.hyperparameters)
      if (!isOfGroup(spec.name))
        has += " " + getFlag(spec.name);
    return usageError(flag, manifest.optimizer + " has no such hyperparameter",
                      "it has" + has +
                          "; another optimizer is chosen with "
                          "ingotc --optimizer");
  }
  if (flag == "--clip")
    return usageError(flag, "unknown option",
                      manifest.findHyperparameter("clip_norm")
                          ? "--clip-norm X sets the norm to clip to"
                          : "compile the model with ingotc --clip; --clip-norm "
                            "X then sets the norm to clip to");
  if (flag == "--nesterov")
    return usageError(flag, "unknown option",
                      "compile the model with ingotc --optimizer nesterov");
  std::string plain = flag;
  std::replace(plain.begin(), plain.end(), '_', '-');
  std::string own = findSimilar(plain, listOptions(app));
  std::string other = findSimilar(plain, manifest.compilerOptions);
  if (!own.empty() && other != plain)
    return usageError(flag, "unknown option",
                      "did you mean " + own + "? --help lists the options");
  if (!other.empty())
    return usageError(flag, "unknown option",
                      (other == flag ? "it" : other) +
                          " is an option of ingotc: compile the model with it");
  if (flag.starts_with("-"))
    return usageError(flag, "unknown option", "--help lists the options");
  if (argument.empty())
    return usageError("command line", "an empty argument that no option takes",
                      "a variable of the shell that is not set may be in "
                      "quotes: leave it out");
  return usageError(argument.starts_with("=") ? argument : flag,
                    "an argument that no option takes",
                    "files are given with --data and --eval-data");
}

Error ingot::runtime::explainParseError(const CLI::ParseError &error) {
  if (std::optional<Error> problem = explainConfigError(error))
    return *problem;
  std::string text = error.what();
  size_t colon = text.find(": ");
  if (text.starts_with("--") && colon != std::string::npos)
    return usageError(text.substr(0, colon), text.substr(colon + 2),
                      "--help lists the options");
  size_t space = text.find(' ');
  if (text.ends_with("disallowed flag override"))
    return usageError("--" + text.substr(0, space), "takes no value",
                      "--help lists the options");
  if (text.starts_with("--") && space != std::string::npos)
    return usageError(text.substr(0, space), text.substr(space + 1),
                      "--help lists the options");
  return usageError("command line", text, "--help lists the options");
}
