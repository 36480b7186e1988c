// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/state/AdapterStates.h"

using namespace ingot::runtime;

const AdapterSpec *ingot::runtime::findAdapter(const Manifest &manifest,
                                               const std::string &state) {
  for (const AdapterSpec &adapter : manifest.adapters)
    if (adapter.weight == state)
      return &adapter;
  return nullptr;
}

std::string ingot::runtime::getSquaresName(const AdapterSpec &adapter) {
  return adapter.magnitude + "/squares";
}

bool ingot::runtime::isOfAdapter(const Manifest &manifest,
                                 const std::string &state) {
  for (const AdapterSpec &adapter : manifest.adapters)
    if (adapter.a == state || adapter.b == state ||
        adapter.magnitude == state || getSquaresName(adapter) == state)
      return true;
  return false;
}
