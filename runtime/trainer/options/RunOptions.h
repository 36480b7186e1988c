// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The options of a run: its length, its learning rates, and its end.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_OPTIONS_RUNOPTIONS_H
#define INGOT_RUNTIME_TRAINER_OPTIONS_RUNOPTIONS_H

#include "runtime/trainer/options/Options.h"

#include <CLI/CLI.hpp>

namespace ingot::runtime {

/// Adds them to the table of options, and examples of them to its help.
void addRunOptions(CLI::App &app, Options &options, const Manifest &manifest);

/// Adds those of the optimizer's hyperparameters.
void addHyperparameters(CLI::App &app, Options &options,
                        const Manifest &manifest);

/// Completes what the texts of these options stand for, and checks them
/// together. Throws usageError.
void finishRunOptions(Options &options, const Manifest &manifest);

/// Whether a hyperparameter is that of a group of parameters, like `lr.head`.
bool isOfGroup(const std::string &hyperparameter);

/// Sets the hyperparameters of groups from words like
/// `head:lr=0.1,decay=0,freeze-until=100`. Throws usageError.
void readGroups(Options &options, const std::vector<std::string> &words,
                const Manifest &manifest);

/// Takes the weight decay from norms and biases, if that was asked for.
void readDecay(Options &options);

/// Whether norms and biases have no weight decay.
bool haveVectorsNoDecay(const std::map<std::string, double> &hyperparameters);

/// Returns the words that set them.
std::vector<std::string>
formatGroups(const std::map<std::string, double> &hyperparameters);

/// Turns off the outputs of a run with --diagnose, except checkpoints, which go
/// to a folder of their own. Throws usageError.
void limitToDiagnosis(Options &options);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_OPTIONS_RUNOPTIONS_H
