// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/session/ModuleChoice.h"

#include "runtime/core/Device.h"
#include "runtime/core/Error.h"

#include <string>

using namespace ingot::runtime;

static Manifest readManifest(const ingot_module_t &module) {
  if (module.abi_version != INGOT_ABI_VERSION)
    throw failure(
        "module",
        "compiled for ABI version " + std::to_string(module.abi_version) +
            ", this runtime has version " + std::to_string(INGOT_ABI_VERSION),
        "compile the model again with the ingotc of this release");
  return parseManifest({module.manifest, module.manifest_bytes});
}

LoadedModule ingot::runtime::chooseModule(const ingot_module_t &first) {
  LoadedModule loaded{&first, readManifest(first)};
  while (loaded.module->next && !canRun(loaded.manifest)) {
    loaded.module = loaded.module->next;
    loaded.manifest = readManifest(*loaded.module);
  }
  return loaded;
}
