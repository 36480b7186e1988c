// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The paths of a command line.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/files/OutputPaths.h"

#include "runtime/core/Error.h"
#include "runtime/core/File.h"

#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <sys/stat.h>
#include <tuple>
#include <unistd.h>
#include <utility>

using namespace ingot::runtime;
namespace fs = std::filesystem;

namespace {

/// The target of a path: the file, or, if there is none yet, its folder and the
/// name that it would get. Folders that do not exist either are part of the
/// name.
struct Target {
  dev_t device = 0;
  ino_t inode = 0;
  std::string name;

  bool operator==(const Target &other) const = default;
};

} // namespace

/// `isReplaced` if the path is a link that is replaced.
static std::optional<Target> findTarget(const std::string &given,
                                        bool isReplaced = false) {
  fs::path path = isReplaced ? fs::path(given) : followLinks(given), missing;
  struct stat status;
  if (isReplaced) {
    missing = path.filename();
    path = followLinks(path.parent_path());
  }
  while (stat(path.empty() ? "." : path.c_str(), &status) != 0) {
    if (!path.has_relative_path())
      return std::nullopt;
    missing = missing.empty() ? path.filename() : path.filename() / missing;
    path = followLinks(path.parent_path());
  }
  return Target{status.st_dev, status.st_ino,
                missing.lexically_normal().string()};
}

/// Whether `path` is in the folder, under a name that begins with one of
/// `owned`, or below it.
static bool isOwned(const std::string &folder,
                    const std::vector<std::string> &owned,
                    const std::string &given) {
  if (owned.empty())
    return false;
  std::optional<Target> holder = findTarget(folder);
  if (!holder)
    return false;
  std::error_code ignored;
  fs::path path = fs::absolute(followLinks(given), ignored).lexically_normal();
  for (; path.has_relative_path(); path = path.parent_path()) {
    std::string name = path.filename();
    bool isNamed =
        std::any_of(owned.begin(), owned.end(), [&](const std::string &start) {
          return name.starts_with(start);
        });
    if (isNamed && findTarget(path.parent_path()) == holder)
      return true;
  }
  return false;
}

void OutputPaths::addInput(std::string option, std::string path,
                           std::vector<std::string> owned) {
  entries.push_back({std::move(option), std::move(path), false, Kind::File,
                     std::move(owned)});
}

void OutputPaths::addOutput(std::string option, std::string path, Kind kind,
                            std::vector<std::string> owned) {
  entries.push_back(
      {std::move(option), std::move(path), true, kind, std::move(owned)});
}

void OutputPaths::addImplied(std::string option, std::string path,
                             std::function<bool(std::string_view)> isOwn) {
  entries.push_back({std::move(option),
                     std::move(path),
                     true,
                     Kind::File,
                     {},
                     std::move(isOwn),
                     /*isImplied=*/true});
}

void OutputPaths::addKept(std::string option, std::string path,
                          std::function<bool(std::string_view)> isOwn) {
  entries.push_back({std::move(option),
                     std::move(path),
                     true,
                     Kind::Cache,
                     {},
                     std::move(isOwn)});
}

bool OutputPaths::Entry::isReplacedLink() const {
  std::error_code ignored;
  return isImplied && fs::is_symlink(path, ignored);
}

void OutputPaths::Entry::checkKind() const {
  if (path.empty())
    throw usageError(option, "the path is empty",
                     "give a path, or leave the option out; a variable of the "
                     "shell may be unset");
  if (!isOutput || isReplacedLink())
    return;
  struct stat status;
  bool exists = stat(path.c_str(), &status) == 0;
  if (kind == Kind::Folder) {
    if (exists && !S_ISDIR(status.st_mode))
      throw usageError(option, "'" + path + "' is not a directory",
                       "give the path of a folder");
    return;
  }
  if (auto obstacle = describeObstacle(path))
    throw usageError(option,
                     "'" + path + "' is " + *obstacle + ", not a regular file",
                     "give the path of a file");
}

/// Returns the first bytes of a file, as many as tell who wrote it; none if it
/// cannot be read.
static std::string readBegin(const std::string &path) {
  std::string bytes(4096, '\0');
  int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0)
    return "";
  ssize_t size = read(descriptor, bytes.data(), bytes.size());
  close(descriptor);
  bytes.resize(static_cast<size_t>(std::max<ssize_t>(size, 0)));
  return bytes;
}

void OutputPaths::Entry::checkOwner() const {
  struct stat status;
  if (!isOwn || isReplacedLink() || stat(path.c_str(), &status) != 0 ||
      status.st_size == 0 || isOwn(readBegin(path)))
    return;
  throw usageError(option,
                   "'" + path +
                       "' would be replaced, and holds something else than "
                       "what is written there",
                   isImplied ? "choose another name, or move that file away"
                             : "give the path of a new file");
}

void OutputPaths::check() const {
  for (const Entry &entry : entries)
    entry.checkKind();
  // An input may be given twice.
  std::vector<std::pair<std::optional<Target>, const Entry *>> seen;
  for (const Entry &entry : entries)
    if (!entry.isOutput)
      seen.push_back({findTarget(entry.path), &entry});
  for (const Entry &entry : entries) {
    if (!entry.isOutput)
      continue;
    std::optional<Target> target =
        findTarget(entry.path, entry.isReplacedLink());
    for (const auto &[other, owner] : seen) {
      // Checkpoints go on in the folder that they are resumed from.
      bool isSame = target && target == other && entry.kind != Kind::Folder;
      if (isSame && !owner->isOutput)
        throw usageError(entry.option,
                         "'" + entry.path + "' is an input, that of " +
                             owner->option,
                         "write to another file: inputs are not replaced");
      if (target && target == other && owner->isOutput)
        throw usageError(entry.option,
                         "'" + entry.path + "' is what " + owner->option +
                             " writes, too",
                         "give each output a file of its own");
    }
    for (const Entry &folder : entries)
      if (&folder != &entry && isOwned(folder.path, folder.owned, entry.path))
        throw usageError(entry.option,
                         "'" + entry.path + "' is a name that " +
                             folder.option + " uses in its folder",
                         "choose another name or another folder");
    entry.checkOwner();
    seen.push_back({target, &entry});
  }
}

void OutputPaths::prepare() const {
  for (const Entry &entry : entries) {
    if (!entry.isOutput || entry.kind == Kind::Cache)
      continue;
    if (entry.kind == Kind::File) {
      if (fs::path folder = fs::path(followLinks(entry.path)).parent_path();
          !folder.empty() && !entry.isReplacedLink())
        makeFolder(folder.string());
      AtomicFile probe(entry.path,
                       entry.isImplied ? Links::Replace : Links::Follow);
      continue;
    }
    makeFolder(entry.path);
    try {
      AtomicFile probe(entry.path + "/.probe", Links::Replace);
    } catch (const Error &error) {
      throw failure(entry.path, error.getWhat(), error.getHint());
    }
  }
}
