// SPDX-License-Identifier: Apache-2.0

#include "test/fuzz/readers/ReadAll.h"

#include "test/fuzz/readers/Fuzzer.h"

#include "runtime/core/Error.h"
#include "runtime/data/readers/Readers.h"

#include <algorithm>
#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>

using namespace ingot::runtime;

void ingot::fuzz::readAll(std::string_view bytes, const char *name) {
  // The file ends in the middle of a page, like any other: what the readers
  // return is touched below and has to lie before its end.
  int descriptor = memfd_create(name, MFD_CLOEXEC);
  if (descriptor < 0 || write(descriptor, bytes.data(), bytes.size()) !=
                            static_cast<ssize_t>(bytes.size()))
    std::abort();
  MappedFile file(descriptor, name);
  close(descriptor);
  std::string_view content = file.getBytes();
  const char *begin = content.data(), *end = begin + content.size();
  std::unique_ptr<Reader> reader;
  if (std::string_view(name).ends_with(".tar"))
    reader = openTar(std::move(file));
  else if (std::string_view(name).ends_with(".arrow"))
    reader = openArrow(std::move(file));
  else if (std::string_view(name).ends_with(".parquet"))
    reader = openParquet(std::move(file));
  else if (isTable(name))
    reader = openTable(std::move(file));
  else
    reader = openJsonLines(std::move(file));
  constexpr int64_t mostSamples = 64;
  for (int64_t s = 0; s < std::min(reader->getSamples(), mostSamples); ++s)
    for (size_t f = 0; f < reader->getNames().size(); ++f)
      try {
        std::string storage;
        Value value = reader->read(f, s, storage);
        // Columns of Parquet are decoded to files of their own.
        bool isStored = value.bytes.data() == storage.data() ||
                        reader->getKind() == "Parquet";
        if (!isStored && !value.bytes.empty() &&
            (value.bytes.data() < begin ||
             value.bytes.data() + value.bytes.size() > end))
          std::abort();
        if (value.kind == Value::Kind::Elements &&
            value.bytes.size() !=
                static_cast<size_t>(value.getElements() * getSize(value.dtype)))
          std::abort();
        touch(value.bytes);
      } catch (const Error &error) {
        if (error.getHint().empty() || error.getCode() != ExitCode::BadInput)
          std::abort();
      }
}
