// SPDX-License-Identifier: Apache-2.0

#include "tools/ingotc/options/LibraryName.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"

std::string ingot::makeIdentifier(llvm::StringRef text) {
  std::string name;
  for (char c : text)
    name += llvm::isAlnum(c) ? c : '_';
  return name.empty() || llvm::isDigit(name.front()) ? "_" + name : name;
}

std::string ingot::getLibraryName(llvm::StringRef path) {
  llvm::StringRef stem = llvm::sys::path::stem(path);
  stem.consume_front("lib");
  std::string name = makeIdentifier(stem);
  // Names that begin with an underscore are the compiler's own.
  return name.front() == '_' ? "model" + name : name;
}

bool ingot::isStaticLibrary(llvm::StringRef path) {
  return llvm::sys::path::extension(path) == ".a";
}
