// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Folders of pictures, one folder for each class.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/readers/Readers.h"

#include "runtime/core/Error.h"
#include "runtime/data/readers/ClassNames.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

using namespace ingot::runtime;

namespace fs = std::filesystem;

/// More than any picture has.
static constexpr int64_t kMostBytes = int64_t(1) << 30;

/// Returns the entries of a folder that `select` takes, sorted by name. Hidden
/// ones are left out.
template <typename Select>
static std::vector<std::string> list(const std::string &path, Select select) {
  std::vector<std::string> entries;
  std::error_code error;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error)) {
    std::string name = entry->path().filename().string();
    std::error_code ignored;
    if (!name.starts_with(".") && select(*entry, ignored))
      entries.push_back(std::move(name));
  }
  if (error)
    throw badInput(path, "cannot read the folder: " + error.message(),
                   "check the path and its permissions");
  std::sort(entries.begin(), entries.end());
  return entries;
}

std::vector<std::string>
ingot::runtime::listClassFolders(const std::string &path) {
  return list(path,
              [](const fs::directory_entry &entry, std::error_code &ignored) {
                return entry.is_directory(ignored);
              });
}

bool ingot::runtime::hasPictures(const std::string &path) {
  std::error_code error, ignored;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error))
    if (!entry->path().filename().string().starts_with(".") &&
        entry->is_regular_file(ignored))
      return true;
  return false;
}

namespace {

class FolderReader : public Reader {
public:
  FolderReader(const std::string &folder, const std::vector<std::string> &known)
      : Reader(folder), classes(known) {
    names = {"image", "labels"};
    folders = listClassFolders(path);
    if (classes.empty())
      for (const std::string &name : folders)
        classes.push_back(getClassName(name));
    for (const std::string &name : folders) {
      findLabel(name);
      starts.push_back(static_cast<int64_t>(files.size()));
      for (std::string &file :
           list(path + "/" + name,
                [](const fs::directory_entry &entry, std::error_code &ignored) {
                  return entry.is_regular_file(ignored);
                }))
        files.push_back(std::move(file));
    }
    if (files.empty())
      throw badInput(path, "the folder has no pictures",
                     "pictures are in a folder for each class: "
                     "DIR/CLASS/FILE");
  }

  std::string_view getKind() const override { return "folder of pictures"; }
  int64_t getSamples() const override {
    return static_cast<int64_t>(files.size());
  }

  Value read(size_t field, int64_t sample,
             std::string &storage) const override {
    Value value;
    if (field == 1) {
      int64_t label = labels[static_cast<size_t>(getFolder(sample))];
      storage.assign(reinterpret_cast<const char *>(&label), sizeof(label));
      value.dtype = DType::I64;
    } else {
      readFile(getFile(sample), storage);
      value.kind = Value::Kind::Bytes;
    }
    value.bytes = storage;
    return value;
  }

  std::string describe(size_t field, int64_t sample) const override {
    return getFile(sample);
  }

  std::vector<std::string> getClasses() const override { return classes; }

private:
  /// Finds the label of the files of a folder. One without files may be of a
  /// class that is not known.
  void findLabel(const std::string &folder) {
    auto known =
        std::find(classes.begin(), classes.end(), getClassName(folder));
    if (known == classes.end() && hasPictures(path + "/" + folder))
      throw badInput(path + "/" + folder,
                     "not one of the classes, which are " +
                         describeClasses(classes),
                     "labels are the places of the classes of training: give "
                     "folders of the same names");
    labels.push_back(known - classes.begin());
  }

  int64_t getFolder(int64_t sample) const {
    return std::upper_bound(starts.begin(), starts.end(), sample) -
           starts.begin() - 1;
  }
  std::string getFile(int64_t sample) const {
    return path + "/" + folders[getFolder(sample)] + "/" + files[sample];
  }

  static void readFile(const std::string &name, std::string &content) {
    int descriptor = open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat status;
    bool isFile = descriptor >= 0 && fstat(descriptor, &status) == 0 &&
                  S_ISREG(status.st_mode) && status.st_size <= kMostBytes;
    std::string problem =
        descriptor < 0 ? describeErrno() : std::string("no picture's size");
    if (isFile) {
      content.resize(static_cast<size_t>(status.st_size));
      size_t done = 0;
      while (done < content.size()) {
        ssize_t some =
            ::read(descriptor, content.data() + done, content.size() - done);
        if (some < 0 && errno == EINTR)
          continue;
        if (some <= 0)
          break;
        done += static_cast<size_t>(some);
      }
      isFile = done == content.size();
      problem = "the file is truncated";
    }
    if (descriptor >= 0)
      close(descriptor);
    if (!isFile)
      throw badInput(name, "cannot read: " + problem,
                     "check the file, or leave it out with --skip-bad");
  }

  std::vector<std::string> classes, folders, files;
  /// The first sample of each folder, and its label.
  std::vector<int64_t> starts, labels;
};

} // namespace

std::unique_ptr<Reader>
ingot::runtime::openFolder(const std::string &path,
                           const std::vector<std::string> &classes) {
  return std::make_unique<FolderReader>(path, classes);
}
