// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The names of classes: labels of folders of pictures are their places.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_DATA_READERS_CLASSNAMES_H
#define INGOT_RUNTIME_DATA_READERS_CLASSNAMES_H

#include "runtime/data/files/Sources.h"

#include <string>
#include <vector>

namespace ingot::runtime {

/// In the order of their labels.
using ClassNames = std::vector<std::string>;

/// Returns the name of a class as it is shown, logged and compared.
std::string getClassName(const std::string &folder);

/// Returns the classes of the folders of pictures among the files, sorted by
/// name; none if there are no such folders. Throws badInput for a class without
/// files.
ClassNames readClasses(const std::vector<DataFile> &files);

/// Describes classes in a line, as `0 circle, 1 square`; of many some.
std::string describeClasses(const ClassNames &classes);

/// Throws badInput naming `where` unless the classes are those of `known`,
/// which `owner` has.
void checkClasses(const ClassNames &classes, const ClassNames &known,
                  const std::string &where, const std::string &owner);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_DATA_READERS_CLASSNAMES_H
