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
#include <vector>

namespace ingot::runtime {

/// Returns the modules that PEFT stores as a whole, its `modules_to_save`:
/// those with parameters that are trained beside adapters.
std::set<std::string> findSavedModules(const Manifest &manifest);

/// Returns the states that files of adapters have by their keys: those of
/// adapters, and of the model what is trained and what is in saved modules.
std::map<std::string, const StateSpec *>
listAdapterKeys(const Manifest &manifest);

/// Returns the factor of each row of W + scale * B * A that gives it its
/// magnitude; nothing without magnitudes.
std::vector<double> readFactors(const Session &session,
                                const AdapterSpec &adapter);

/// AdapterPart::writeFiles and AdapterPart::readFiles.
void writeAdapterFiles(Session &session, const std::string &folder);
void readAdapterFiles(Session &session, const std::string &folder);
/// AdapterPart::addSlots.
void addSlots(const Session &session, const std::string &path);
/// AdapterPart::startMagnitudes.
void startMagnitudes(Session &session, const std::string &weights);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_ADAPTERS_ADAPTERFILES_H
