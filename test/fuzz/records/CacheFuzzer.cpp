// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Any bytes as what trainers keep for later runs: choices of --tune, and
// decoded pictures.
//
//===----------------------------------------------------------------------===//

#include "test/fuzz/readers/Fuzzer.h"
#include "test/fuzz/records/Folder.h"

#include "runtime/core/files/TunedFile.h"
#include "runtime/data/pictures/PictureCache.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>

using namespace ingot;
using namespace ingot::runtime;

static void readTuned(std::string_view bytes) {
  fuzz::writeFile("tuned.txt", bytes);
  TunedFile before("machine", "tuned.txt");
  (void)before.find("key");
  before.keep("key", "choice");
  std::string problem = before.takeProblem();
  // Something else that lies there stays.
  bool isOurs = bytes.empty() || isTunedFile(bytes);
  if (isOurs != problem.empty())
    std::abort();
  TunedFile after("machine", "tuned.txt");
  if (isOurs && after.find("key") != "choice")
    std::abort();
}

static void readPicture(std::string_view bytes) {
  PictureCache::Key key = PictureCache::makeKey("picture", "steps");
  static const std::string path = [&] {
    PictureCache cache("pictures", 1 << 20);
    Picture one;
    one.width = one.height = one.step = 1;
    one.pixels.resize(1);
    cache.add(key, one);
    for (const auto &entry :
         std::filesystem::recursive_directory_iterator("pictures"))
      if (entry.is_regular_file())
        return entry.path().string();
    std::abort();
  }();
  // The file's name, and the key in its header, are those of the picture.
  std::string content(bytes);
  if (content.size() >= sizeof(uint64_t) + sizeof(key))
    std::memcpy(content.data() + sizeof(uint64_t), key.data(), sizeof(key));
  fuzz::writeFile(path, content);
  PictureCache cache("pictures", 1 << 20);
  Picture picture;
  if (cache.find(key, picture))
    fuzz::touch({reinterpret_cast<const char *>(picture.pixels.data()),
                 picture.pixels.size()});
  else if (std::filesystem::exists(path))
    std::abort();
}

void ingot::fuzz::read(std::string_view bytes) {
  enterFolder();
  readTuned(bytes);
  readPicture(bytes);
}
