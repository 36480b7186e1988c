// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The library of JSON, compiled once: units that include this take its
// functions from JsonLibrary.cpp rather than each compiling its own.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CORE_LIBRARIES_JSONLIBRARY_H
#define INGOT_RUNTIME_CORE_LIBRARIES_JSONLIBRARY_H

#include <nlohmann/json.hpp>

extern template class nlohmann::basic_json<>;
extern template class nlohmann::basic_json<nlohmann::ordered_map>;

#endif // INGOT_RUNTIME_CORE_LIBRARIES_JSONLIBRARY_H
