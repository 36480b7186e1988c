// SPDX-License-Identifier: Apache-2.0

#include "runtime/cuda/driver/Library.h"

#include "runtime/core/Error.h"

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <vector>

using namespace ingot::runtime;

Library::Library(const std::string &name, const std::string &hint)
    : Library(std::vector{name}, hint) {}

Library::Library(const std::vector<std::string> &names,
                 const std::string &hint) {
  const char *home = std::getenv("CUDA_HOME");
  for (const std::string &candidate : names) {
    name = candidate;
    std::vector<std::string> places = {name};
    for (std::string root : {home ? home : "", "/usr/local/cuda"})
      if (!root.empty())
        for (const char *folder : {"/lib64/", "/lib/"})
          places.push_back(root + folder + name);
    for (const std::string &place : places)
      // It is never closed, because CUDA's libraries cannot be unloaded.
      if ((handle = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL)))
        return;
  }
  throw failure("CUDA", names.front() + " was not found", hint);
}

Library Library::ofToolkit(const std::string &name, int driver) {
  std::vector<std::string> names;
  for (int major = std::min(driver, kNewestToolkit); major >= kOldestToolkit;
       --major)
    names.push_back(name + ".so." + std::to_string(major));
  return {names, "install the libraries of CUDA " +
                     std::to_string(std::min(driver, kNewestToolkit)) +
                     ", or have LD_LIBRARY_PATH name their folder"};
}

void *Library::findIfThere(const char *symbol) const {
  return dlsym(handle, symbol);
}

void *Library::find(const char *symbol, const char *other) const {
  for (const char *name : {symbol, other})
    if (void *found = name ? findIfThere(name) : nullptr)
      return found;
  throw failure(name, std::string("has no ") + symbol,
                "install a later version of it");
}
