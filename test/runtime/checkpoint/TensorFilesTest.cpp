// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Tensors in several files with an index.
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/TensorFiles.h"
#include "test/runtime/TestSupport.h"

#include <filesystem>

using namespace ingot::runtime;
using namespace ingot::runtime::test;

namespace {

SafeTensors makeContent() {
  SafeTensors content;
  content.tensors["a"] = {DType::U8, {3}, "abc"};
  content.tensors["b"] = {DType::F32, {2, 1}, "12345678"};
  content.tensors["c"] = {DType::I64, {}, "23456789"};
  content.tensors["d"] = {DType::U8, {0}, ""};
  return content;
}

void expectSame(const std::string &path, const SafeTensors &wanted) {
  TensorFiles files(path);
  ASSERT_EQ(files.getContent().tensors.size(), wanted.tensors.size());
  for (const auto &[name, tensor] : wanted.tensors) {
    EXPECT_EQ(files.getContent().tensors[name].dtype, tensor.dtype);
    EXPECT_EQ(files.getContent().tensors[name].shape, tensor.shape);
    EXPECT_EQ(files.getContent().tensors[name].data, tensor.data);
  }
}

void write(const std::string &path, const std::string &text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

TEST(TensorFiles, AreOneUpToTheLimit) {
  TemporaryFolder folder;
  std::string path = folder / "m.safetensors";
  writeTensorFiles(path, makeContent(), 19);
  EXPECT_TRUE(std::filesystem::exists(path));
  EXPECT_FALSE(std::filesystem::exists(path + ".index.json"));
  expectSame(path, makeContent());
}

TEST(TensorFiles, AreSeveralAboveIt) {
  TemporaryFolder folder;
  std::string path = folder / "m.safetensors";
  writeTensorFiles(path, makeContent());
  writeTensorFiles(path, makeContent(), 11);
  // The one file that was there would be read instead.
  EXPECT_FALSE(std::filesystem::exists(path));
  std::string first = folder / "m-00001-of-00002.safetensors";
  EXPECT_EQ(TensorFiles(first).getContent().tensors.size(), 2u);
  MappedFile index(path + ".index.json");
  EXPECT_EQ(index.getBytes(), R"({
  "metadata": {
    "total_size": 19
  },
  "weight_map": {
    "a": "m-00001-of-00002.safetensors",
    "b": "m-00001-of-00002.safetensors",
    "c": "m-00002-of-00002.safetensors",
    "d": "m-00002-of-00002.safetensors"
  }
}
)");
  expectSame(path, makeContent());
  expectSame(path + ".index.json", makeContent());
  // And back.
  writeTensorFiles(path, makeContent());
  EXPECT_FALSE(std::filesystem::exists(path + ".index.json"));
}

TEST(TensorFiles, HaveLargeTensorsAlone) {
  TemporaryFolder folder;
  std::string path = folder / "m.safetensors";
  writeTensorFiles(path, makeContent(), 1);
  EXPECT_TRUE(std::filesystem::exists(folder / "m-00003-of-00003.safetensors"));
  expectSame(path, makeContent());
}

TEST(TensorFiles, RefuseDamagedIndexes) {
  TemporaryFolder folder;
  std::string path = folder / "m.safetensors";
  writeTensorFiles(folder / "x.safetensors", makeContent());
  for (auto [text, part] : {
           std::pair("{", "no object 'weight_map'"),
           std::pair("[]", "no object 'weight_map'"),
           std::pair(R"({"weight_map": []})", "no object 'weight_map'"),
           std::pair(R"({"weight_map": {"a": 1}})", "no name of a file"),
           std::pair(R"({"weight_map": {"a": "../x"}})", "no name of a file"),
           std::pair(R"({"weight_map": {"a": "/etc/passwd"}})",
                     "no name of a file"),
           std::pair(R"({"weight_map": {"a": ".."}})", "no name of a file"),
           std::pair(R"({"weight_map": {"a": "none.safetensors"}})",
                     "none.safetensors"),
           std::pair(R"({"weight_map": {"z": "x.safetensors"}})",
                     "'z' is not in x.safetensors"),
       }) {
    write(path + ".index.json", text);
    EXPECT_INGOT_ERROR(ExitCode::BadInput, part, TensorFiles files(path));
  }
}

} // namespace
