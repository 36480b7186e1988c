// SPDX-License-Identifier: Apache-2.0

#include "tools/ingotc/compile/StaticLibrary.h"

#include "runtime/core/Error.h"

#include "llvm/ObjCopy/ConfigManager.h"
#include "llvm/ObjCopy/ObjCopy.h"
#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Object/Binary.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

static void check(Error error) {
  if (error)
    throw ingot::runtime::failure(
        "-o", "cannot write the library: " + toString(std::move(error)),
        "check the space left and the directory's permissions");
}

template <typename T> static T check(Expected<T> value) {
  check(value.takeError());
  return std::move(*value);
}

void ingot::writeStaticLibrary(const std::string &object,
                               const std::string &model,
                               ArrayRef<std::string> calls,
                               const std::string &archive) {
  objcopy::ConfigManager config;
  objcopy::CommonConfig &common = config.Common;
  auto add = [](objcopy::NameMatcher &names, StringRef name) {
    check(names.addMatcher(
        objcopy::NameOrPattern::create(name, objcopy::MatchStyle::Literal,
                                       [](Error error) { return error; })));
  };
  add(common.SymbolsToKeepGlobal, model);
  for (const std::string &call : calls) {
    add(common.SymbolsToKeepGlobal, call);
    add(common.SymbolsToWeaken, call);
  }
  // Names of local symbols are of no use, and those of compilers neither.
  common.StripUnneeded = true;
  add(common.ToRemove, ".comment");

  object::OwningBinary<object::Binary> linked =
      check(object::createBinary(object));
  SmallString<0> bytes;
  raw_svector_ostream stream(bytes);
  check(objcopy::executeObjcopyOnBinary(config, *linked.getBinary(), stream));
  NewArchiveMember member(MemoryBufferRef(bytes, model + ".o"));
  check(writeArchive(archive, member, SymtabWritingMode::NormalSymtab,
                     object::Archive::K_GNU, /*Deterministic=*/true,
                     /*Thin=*/false));
}
