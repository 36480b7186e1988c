// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Errors about the command line of a trainer.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_OPTIONS_OPTIONERRORS_H
#define INGOT_RUNTIME_TRAINER_OPTIONS_OPTIONERRORS_H

#include "runtime/core/Error.h"
#include "runtime/core/Manifest.h"

#include <CLI/CLI.hpp>
#include <string>

namespace ingot::runtime {

/// Returns the error for an argument that no option of the trainer takes, with
/// the option that is probably meant.
Error explainUnknown(const std::string &argument, const Manifest &manifest,
                     const CLI::App &app);

/// Splits a message of CLI11, "--option: what is wrong", into option and
/// problem.
Error explainParseError(const CLI::ParseError &error);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_OPTIONS_OPTIONERRORS_H
