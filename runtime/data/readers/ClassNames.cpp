// SPDX-License-Identifier: Apache-2.0

#include "runtime/data/readers/ClassNames.h"

#include "runtime/core/Error.h"
#include "runtime/core/Text.h"
#include "runtime/data/readers/Readers.h"

#include <algorithm>
#include <filesystem>
#include <map>

using namespace ingot::runtime;
namespace fs = std::filesystem;

std::string ingot::runtime::getClassName(const std::string &folder) {
  return makePrintable(folder);
}

ClassNames ingot::runtime::readClasses(const std::vector<DataFile> &files) {
  // Whether a class has files in one of the folders, and its folder.
  std::map<std::string, std::pair<bool, std::string>> found;
  for (const DataFile &file : files) {
    std::error_code ignored;
    if (!fs::is_directory(file.path, ignored))
      continue;
    for (const std::string &folder : listClassFolders(file.path)) {
      std::string path = file.path + "/" + folder;
      auto [known, isNew] =
          found.try_emplace(getClassName(folder), false, path);
      known->second.first |= hasPictures(path);
    }
  }
  ClassNames classes;
  for (const auto &[name, content] : found) {
    if (!content.first)
      throw badInput(content.second, "the class has no pictures",
                     "labels are the places of classes in sorted order, so "
                     "that an empty folder would count: remove it, or put its "
                     "pictures there");
    classes.push_back(name);
  }
  return classes;
}

std::string ingot::runtime::describeClasses(const ClassNames &classes) {
  constexpr size_t most = 20, shown = 8, last = 2;
  std::string text;
  for (size_t i = 0; i < classes.size(); ++i) {
    if (classes.size() > most && i == shown) {
      text += ", ...";
      i = classes.size() - last;
    }
    text +=
        (i ? ", " : "") + std::to_string(i) + " " + describeName(classes[i]);
  }
  return text;
}

void ingot::runtime::checkClasses(const ClassNames &classes,
                                  const ClassNames &known,
                                  const std::string &where,
                                  const std::string &owner) {
  if (classes == known)
    return;
  auto describe = [](const ClassNames &names) {
    return std::to_string(names.size()) +
           (names.size() == 1 ? " class (" : " classes (") +
           describeClasses(names) + ")";
  };
  throw badInput(
      where, describe(classes) + ", and " + owner + " has " + describe(known),
      "labels are the places of classes in sorted order: give "
      "folders with the same classes");
}
