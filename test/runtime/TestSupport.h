// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Helpers that the runtime's tests share: folders that go away, files, and
// arrays.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TEST_RUNTIME_TESTSUPPORT_H
#define INGOT_TEST_RUNTIME_TESTSUPPORT_H

#include "runtime/core/Error.h"
#include "runtime/data/Npy.h"
#include "runtime/data/Zip.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace ingot::runtime::test {

/// A folder for one test.
class TemporaryFolder {
public:
  TemporaryFolder() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "ingot-test-XXXXXX").string();
    path = mkdtemp(pattern.data());
  }
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;
  ~TemporaryFolder() { std::filesystem::remove_all(path); }

  std::string operator/(const std::string &name) const {
    return path + "/" + name;
  }

private:
  std::string path;
};

inline std::string readFile(const std::string &path) {
  std::ifstream stream(path, std::ios::binary);
  std::stringstream content;
  content << stream.rdbuf();
  return content.str();
}

inline void writeFile(const std::string &path, const std::string &bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

/// An .npy file of values of type `dtype`.
template <typename T>
std::string makeNpy(DType dtype, const std::vector<int64_t> &shape,
                    const std::vector<T> &values) {
  std::string bytes = makeNpyHeader(dtype, shape);
  bytes.append(reinterpret_cast<const char *>(values.data()),
               values.size() * sizeof(T));
  return bytes;
}

/// Writes an .npz file of .npy contents.
inline void
writeNpz(const std::string &path,
         const std::vector<std::pair<std::string, std::string>> &arrays) {
  ZipWriter writer(path);
  for (const auto &[name, bytes] : arrays) {
    writer.begin(name + ".npy", bytes.size());
    writer.write(bytes);
    writer.end();
  }
  writer.commit();
}

/// Returns the error that `body` throws, as text, with its exit status; "" if
/// it throws none.
template <typename Body> std::string getError(ExitCode code, Body body) {
  try {
    body();
  } catch (const Error &error) {
    EXPECT_EQ(error.getCode(), code) << error.format();
    EXPECT_FALSE(error.getHint().empty());
    return error.getWhere() + ": " + error.getWhat();
  }
  return "";
}

/// Expects an error of that status whose text contains `part`.
#define EXPECT_INGOT_ERROR(code, part, statement)                              \
  EXPECT_NE(                                                                   \
      ::ingot::runtime::test::getError(code, [&] { statement; }).find(part),   \
      std::string::npos)                                                       \
      << ::ingot::runtime::test::getError(code, [&] { statement; })

} // namespace ingot::runtime::test

#endif // INGOT_TEST_RUNTIME_TESTSUPPORT_H
