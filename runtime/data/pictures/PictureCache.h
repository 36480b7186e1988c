// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Decoded pictures on disk, for the next epochs and other runs. Each is a file
// named after the bytes that it was decoded from and the steps that were taken,
// so that pictures may move between files and several trainers share a folder.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_DATA_PICTURES_PICTURECACHE_H
#define INGOT_RUNTIME_DATA_PICTURES_PICTURECACHE_H

#include "runtime/data/pictures/Picture.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace ingot::runtime {

class PictureCache {
public:
  /// Which picture, made how.
  using Key = std::array<uint64_t, 2>;
  static Key makeKey(std::string_view bytes, std::string_view steps);

  /// Uses a folder, which is made if need be, for at most `mostBytes` bytes.
  /// Throws failure.
  PictureCache(const std::string &folder, int64_t mostBytes);

  /// Reads a picture. Returns whether it is there and as it was written; one
  /// that is not is removed. Any number of threads may.
  bool find(const Key &key, Picture &picture) const;
  /// Writes a picture unless the cache is full. A disk without space fills it,
  /// too.
  void add(const Key &key, const Picture &picture);

  /// Returns once why pictures are no longer added.
  std::optional<std::string> takeNote();

private:
  std::string getPath(const Key &key) const;
  int64_t measure() const;
  bool write(const std::string &path, const Key &key, const Picture &picture);

  std::string folder;
  int64_t mostBytes;
  std::mutex mutex;
  /// The bytes in the folder when they were counted, and those written since.
  int64_t counted = 0, added = 0;
  std::atomic<bool> isFull = false;
  std::optional<std::string> note;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_DATA_PICTURES_PICTURECACHE_H
