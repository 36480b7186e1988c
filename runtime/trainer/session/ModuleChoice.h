// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The compiled modules that a program is linked with: one, or one for each of
// several processors.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_SESSION_MODULECHOICE_H
#define INGOT_RUNTIME_TRAINER_SESSION_MODULECHOICE_H

#include "runtime/abi/Abi.h"
#include "runtime/core/Manifest.h"

namespace ingot::runtime {

/// A module of the program, with its manifest.
struct LoadedModule {
  const ingot_module_t *module = nullptr;
  Manifest manifest;
};

/// Returns, of `first` and those that follow it, the first that this machine
/// can run; if it can run none, the last, which asks for the least, so that
/// opening it says what is missing. Throws failure.
LoadedModule chooseModule(const ingot_module_t &first);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_SESSION_MODULECHOICE_H
