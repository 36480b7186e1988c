// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Tensors in one safetensors file, or in several with an index, as Hugging Face
// divides large models: NAME-00001-of-00002.safetensors and so on, and
// NAME.safetensors.index.json, which says which file has which tensor.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CHECKPOINT_TENSORFILES_H
#define INGOT_RUNTIME_CHECKPOINT_TENSORFILES_H

#include "runtime/checkpoint/SafeTensors.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ingot::runtime {

/// The most bytes of tensors in a file before there are several.
inline constexpr int64_t kMostTensorBytes = 5'000'000'000;

/// Writes tensors to NAME.safetensors, or, above `most` bytes, to several files
/// and an index; what the other form left under the name is removed. A file has
/// a tensor that is larger alone. Throws failure.
void writeTensorFiles(const std::string &path, const SafeTensors &content,
                      int64_t most = kMostTensorBytes);

/// Returns the path of the index that writeTensorFiles writes or removes beside
/// NAME.safetensors.
std::string getTensorIndexPath(const std::string &path);

/// Files of tensors, mapped.
class TensorFiles {
public:
  /// Reads a file of tensors, an index, or, where only NAME.safetensors.index
  /// .json is there for NAME.safetensors, that. Throws badInput naming the file
  /// that is missing or damaged.
  explicit TensorFiles(const std::string &path);

  /// The tensors of all files, whose views are valid as long as this is.
  SafeTensors &getContent() { return content; }

  /// Returns what is read for a path: the file itself, or its index and the
  /// files that the index names. Throws badInput if the index is damaged.
  static std::vector<std::string> list(const std::string &path);

private:
  void readIndex(const std::string &path);

  std::vector<MappedFile> files;
  SafeTensors content;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CHECKPOINT_TENSORFILES_H
