// SPDX-License-Identifier: Apache-2.0

#include "runtime/core/libraries/JsonLibrary.h"

template class nlohmann::basic_json<>;
template class nlohmann::basic_json<nlohmann::ordered_map>;
