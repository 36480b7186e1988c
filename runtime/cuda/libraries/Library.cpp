// SPDX-License-Identifier: Apache-2.0

#include "runtime/cuda/libraries/Library.h"

#include "runtime/core/Error.h"

#include <cstdlib>
#include <dlfcn.h>
#include <vector>

using namespace ingot::runtime;

Library::Library(const std::string &name, const std::string &hint)
    : name(name) {
  std::vector<std::string> places = {name};
  const char *home = std::getenv("CUDA_HOME");
  for (std::string root : {home ? home : "", "/usr/local/cuda"})
    if (!root.empty())
      for (const char *folder : {"/lib64/", "/lib/"})
        places.push_back(root + folder + name);
  for (const std::string &place : places)
    // It is never closed, because CUDA's libraries cannot be unloaded.
    if ((handle = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL)))
      return;
  throw failure(name, "not found", hint);
}

void *Library::find(const char *symbol) const {
  if (void *found = dlsym(handle, symbol))
    return found;
  throw failure(name, std::string("has no ") + symbol,
                "install a later version of it");
}
