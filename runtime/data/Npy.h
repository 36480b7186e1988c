// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// NumPy's .npy and .npz files.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_DATA_NPY_H
#define INGOT_RUNTIME_DATA_NPY_H

#include "runtime/core/DType.h"
#include "runtime/data/Zip.h"

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace ingot::runtime {

/// A dense row-major array, whose bytes are in a mapped file or in `storage`.
struct Array {
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  const char *data = nullptr;
  std::shared_ptr<Block> storage;

  int64_t getElements() const;
};

/// Whether `bytes` begin like an .npy file.
bool isNpy(std::string_view bytes);

/// Reads an .npy file in memory, in place unless it is big-endian or in
/// Fortran order. Throws badInput naming `where`.
Array readNpy(std::string_view bytes, const std::string &where);

/// Returns the header of an .npy file.
std::string makeNpyHeader(DType dtype, const std::vector<int64_t> &shape);

/// An .npz file, or an .npy file as an archive of one array named "".
class ArrayFile {
public:
  /// Throws badInput.
  explicit ArrayFile(const std::string &path) : ArrayFile(MappedFile(path)) {}
  explicit ArrayFile(MappedFile mapped);

  const std::string &getPath() const { return file.getPath(); }
  bool isSingle() const { return entries.empty(); }
  const std::vector<std::string> &getNames() const { return names; }
  bool has(std::string_view name) const;
  /// The array stays valid as long as this file. Throws badInput.
  Array read(std::string_view name) const;

private:
  MappedFile file;
  std::vector<ZipEntry> entries;
  std::vector<std::string> names;
  /// The places of the names.
  std::unordered_map<std::string_view, size_t> places;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_DATA_NPY_H
