// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Whether data fit a model's inputs.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_DATA_READERS_CHECKS_H
#define INGOT_RUNTIME_DATA_READERS_CHECKS_H

#include "runtime/core/Manifest.h"
#include "runtime/data/readers/Reader.h"

#include <string>

namespace ingot::runtime {

/// Whether the samples of an array have the shape of those of an input.
bool haveSameSamples(const Array &array, const InputSpec &input);

/// Checks the samples of an array against their input: shape, type, range,
/// labels. Throws badInput.
void checkArray(const Array &array, const InputSpec &input,
                const std::string &where);

/// Checks the integers of an array that index classes or tables. `position` is
/// the place of the first element in its sample. Throws badInput.
void checkIndices(const Array &array, const InputSpec &input, int64_t position,
                  const std::string &where);

/// Checks one sample likewise.
void checkValue(const Value &value, const InputSpec &input,
                const std::string &where);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_DATA_READERS_CHECKS_H
