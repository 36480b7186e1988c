// SPDX-License-Identifier: Apache-2.0

#include "runtime/data/pictures/PictureCache.h"

#include "runtime/core/Error.h"
#include "runtime/core/File.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

using namespace ingot::runtime;

namespace {

/// The beginning of a file. The pixels follow.
struct Header {
  uint64_t magic = 0x31676e69'63697069;
  PictureCache::Key key{}, content{};
  int64_t width = 0, height = 0, step = 0;
};

} // namespace

/// The bytes of own pixels after which those of other runs are counted again.
static constexpr int64_t kRecountBytes = int64_t(256) << 20;

static uint64_t mix(uint64_t a, uint64_t b) {
  auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

/// Adds bytes to a hash of 128 bits: two chains of multiplications, eight bytes
/// at a time.
static void hash(std::string_view bytes, PictureCache::Key &key) {
  constexpr uint64_t odd[] = {0x9e3779b97f4a7c15, 0xd1b54a32d192ed03};
  key[0] ^= bytes.size();
  size_t at = 0;
  auto take = [&](size_t count) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, count);
    at += count;
    return word;
  };
  while (bytes.size() - at >= 16) {
    key[0] = mix(key[0] ^ take(8), odd[0]);
    key[1] = mix(key[1] ^ take(8), odd[1]) + key[0];
  }
  while (at < bytes.size()) {
    uint64_t word = take(std::min<size_t>(bytes.size() - at, 8));
    key[0] = mix(key[0] ^ word, odd[1]) + key[1];
    key[1] = mix(key[1] ^ ~word, odd[0]);
  }
  key[0] = mix(key[0] ^ key[1], odd[0]);
  key[1] = mix(key[1] + key[0], odd[1]);
}

static std::string_view asBytes(const Picture &picture) {
  return {reinterpret_cast<const char *>(picture.pixels.data()),
          static_cast<size_t>(picture.width * picture.height * picture.step)};
}

PictureCache::Key PictureCache::makeKey(std::string_view bytes,
                                        std::string_view steps) {
  Key key = {0x243f6a8885a308d3, 0x13198a2e03707344};
  hash(steps, key);
  hash(bytes, key);
  return key;
}

PictureCache::PictureCache(const std::string &folder, int64_t mostBytes)
    : folder(folder), mostBytes(mostBytes) {
  makeFolder(folder);
  if (access(folder.c_str(), W_OK) != 0)
    throw failure(folder, "cannot write: " + describeErrno(),
                  "give --cache a folder that can be written");
  counted = measure();
}

std::string PictureCache::getPath(const Key &key) const {
  char name[64];
  std::snprintf(name, sizeof(name), "/%02x/%014llx%016llx.picture",
                static_cast<unsigned>(key[0] >> 56),
                static_cast<unsigned long long>(key[0] << 8 >> 8),
                static_cast<unsigned long long>(key[1]));
  return folder + name;
}

int64_t PictureCache::measure() const {
  int64_t bytes = 0;
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator it(folder, error), end;
       it != end && !error; it.increment(error)) {
    std::error_code gone;
    if (it->path().extension() == ".picture")
      if (auto size = it->file_size(gone); !gone)
        bytes += static_cast<int64_t>(size);
  }
  return bytes;
}

/// Reads `size` bytes. Returns whether they were there.
static bool readAll(int descriptor, void *to, size_t size) {
  auto *at = static_cast<char *>(to);
  while (size != 0) {
    ssize_t some = read(descriptor, at, size);
    if (some < 0 && errno == EINTR)
      continue;
    if (some <= 0)
      return false;
    at += some;
    size -= static_cast<size_t>(some);
  }
  return true;
}

bool PictureCache::find(const Key &key, Picture &picture) const {
  std::string path = getPath(key);
  int descriptor =
      open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (descriptor < 0)
    return false;
  Header header;
  uint64_t magic = header.magic;
  struct stat status;
  bool isGood = fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) &&
                readAll(descriptor, &header, sizeof(header)) &&
                header.magic == magic && header.key == key &&
                header.width > 0 && header.height > 0 &&
                header.width <= kMostPixels / header.height &&
                (header.step == 1 || header.step == 2 || header.step == 4 ||
                 header.step == 8);
  int64_t bytes = isGood ? header.width * header.height * header.step : 0;
  isGood =
      isGood && status.st_size == bytes + static_cast<int64_t>(sizeof(header));
  if (isGood) {
    picture.width = header.width;
    picture.height = header.height;
    picture.step = header.step;
    picture.pixels.resize(static_cast<size_t>(bytes));
    Key content{};
    isGood =
        readAll(descriptor, picture.pixels.data(), static_cast<size_t>(bytes));
    if (isGood)
      hash(asBytes(picture), content);
    isGood = isGood && content == header.content;
  }
  close(descriptor);
  if (!isGood)
    unlink(path.c_str());
  return isGood;
}

bool PictureCache::write(const std::string &path, const Key &key,
                         const Picture &picture) {
  std::error_code ignored;
  std::filesystem::create_directory(std::filesystem::path(path).parent_path(),
                                    ignored);
  // Nobody sees a file before all of it is there. A crash of the machine may
  // leave a damaged one, which is found by its hash.
  std::string temporary = path + "-XXXXXX";
  int descriptor = mkostemp(temporary.data(), O_CLOEXEC);
  if (descriptor < 0)
    return false;
  Header header;
  header.key = key;
  hash(asBytes(picture), header.content);
  header.width = picture.width;
  header.height = picture.height;
  header.step = picture.step;
  std::string all(reinterpret_cast<const char *>(&header), sizeof(header));
  all += asBytes(picture);
  size_t written = 0;
  while (written < all.size()) {
    ssize_t some =
        ::write(descriptor, all.data() + written, all.size() - written);
    if (some < 0 && errno == EINTR)
      continue;
    if (some <= 0)
      break;
    written += static_cast<size_t>(some);
  }
  bool isWhole = written == all.size();
  // Read by whoever shares the folder.
  isWhole &= fchmod(descriptor, 0644) == 0;
  isWhole &= close(descriptor) == 0;
  isWhole = isWhole && rename(temporary.c_str(), path.c_str()) == 0;
  if (!isWhole) {
    int problem = errno;
    unlink(temporary.c_str());
    errno = problem;
  }
  return isWhole;
}

void PictureCache::add(const Key &key, const Picture &picture) {
  if (isFull)
    return;
  auto bytes = static_cast<int64_t>(asBytes(picture).size() + sizeof(Header));
  {
    std::lock_guard lock(mutex);
    if (added >= kRecountBytes) {
      counted = measure();
      added = 0;
    }
    if (counted + added + bytes > mostBytes) {
      isFull = true;
      note = folder + " is full: further pictures are decoded each time";
      return;
    }
    added += bytes;
  }
  if (write(getPath(key), key, picture))
    return;
  std::lock_guard lock(mutex);
  if (!isFull.exchange(true))
    note = folder + ": cannot write: " + describeErrno() +
           ": further pictures are decoded each time";
}

std::optional<std::string> PictureCache::takeNote() {
  std::lock_guard lock(mutex);
  std::optional<std::string> taken;
  taken.swap(note);
  return taken;
}
