// SPDX-License-Identifier: Apache-2.0

#include "tools/ingotc/compile/Linker.h"

#include "runtime/core/Error.h"

#include "lld/Common/Driver.h"
#include "llvm/Support/raw_ostream.h"

LLD_HAS_DRIVER(elf)

using namespace ingot;

void ingot::runLinker(const std::vector<std::string> &arguments) {
  std::vector<const char *> words = {"ld.lld"};
  for (const std::string &argument : arguments)
    words.push_back(argument.c_str());
  std::string output, messages;
  llvm::raw_string_ostream outputStream(output), messageStream(messages);
  lld::Result result = lld::lldMain(words, outputStream, messageStream,
                                    {{lld::Gnu, &lld::elf::link}});
  if (result.retCode == 0)
    return;
  llvm::StringRef first = llvm::StringRef(messages).split('\n').first;
  for (const char *prefix : {"ld.lld: ", "error: "})
    first.consume_front(prefix);
  throw runtime::failure(
      "ld.lld", "linking failed: " + first.str(),
      "check the space left, and that lib/ingot beside bin is whole");
}
