// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The trained model as a file.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_WEIGHTS_WEIGHTEXPORT_H
#define INGOT_RUNTIME_TRAINER_WEIGHTS_WEIGHTEXPORT_H

#include "runtime/trainer/weights/FiniteWeights.h"

#include <string>
#include <vector>

namespace ingot::runtime {

/// Throws failure if the module holds no model to export to a file of this
/// name.
void checkExportable(const Session &session, const std::string &path);

/// Returns the file beside an exported model that has its weights, of a large
/// one.
std::string getDataPath(const std::string &path);
bool hasDataFile(const Manifest &manifest, const std::string &path);

/// Writes the trained model as ONNX, or, to a file named *.safetensors, its
/// parameters, frozen parameters and running statistics. Large ones are several
/// files: getDataPath(), TensorFiles. Throws Error.
/// No file is written unless all weights are finite, in the types of the file
/// as well.
void exportModel(Session &session, const std::string &path,
                 const std::vector<std::string> &classes);

/// Writes the model of a trainer of adapters as ONNX with slots for these, and
/// the adapters beside it. Returns why the model can have no slots, and writes
/// nothing then; empty if it can. Throws Error.
std::string exportWithSlots(const Session &session, const std::string &path);

/// Throws failure if the weights, or `states` in their types, are not finite:
/// what is made of them at `where` is not written then.
void checkFinite(Session &session, const std::string &where,
                 const std::vector<LeavingState> &states = {});

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_WEIGHTS_WEIGHTEXPORT_H
