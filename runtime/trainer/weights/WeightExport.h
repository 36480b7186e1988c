// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The trained model as a file.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_WEIGHTS_WEIGHTEXPORT_H
#define INGOT_RUNTIME_TRAINER_WEIGHTS_WEIGHTEXPORT_H

#include "runtime/trainer/loop/Session.h"

#include <string>

namespace ingot::runtime {

/// Throws failure if the module holds no model to export to a file of this
/// name.
void checkExportable(const Session &session, const std::string &path);

/// Writes the trained model as ONNX, or, to a file named *.safetensors, its
/// parameters, frozen parameters and running statistics. Throws Error.
void exportModel(const Session &session, const std::string &path);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_WEIGHTS_WEIGHTEXPORT_H
