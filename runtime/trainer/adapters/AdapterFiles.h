// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Adapters in the files of PEFT.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_ADAPTERS_ADAPTERFILES_H
#define INGOT_RUNTIME_TRAINER_ADAPTERS_ADAPTERFILES_H

#include "runtime/trainer/session/Session.h"

#include <map>
#include <set>
#include <string>

namespace ingot::runtime {

/// Returns the modules that PEFT stores as a whole, its `modules_to_save`:
/// those with parameters that are trained beside adapters.
std::set<std::string> findSavedModules(const Manifest &manifest);

/// Returns the states that files of adapters have by their keys: those of
/// adapters, and of the model what is trained and what is in saved modules.
std::map<std::string, const StateSpec *>
listAdapterKeys(const Manifest &manifest);

/// AdapterPart::writeFiles and AdapterPart::readFiles.
void writeAdapterFiles(Session &session, const std::string &folder);
void readAdapterFiles(Session &session, const std::string &folder);
/// AdapterPart::startMagnitudes.
void startMagnitudes(Session &session, const std::string &weights);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_ADAPTERS_ADAPTERFILES_H
