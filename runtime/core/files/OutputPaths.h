// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The paths of a command line: no output may replace an input, another output,
// or anything that is not a regular file. All of it is checked before the first
// byte is written.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CORE_FILES_OUTPUTPATHS_H
#define INGOT_RUNTIME_CORE_FILES_OUTPUTPATHS_H

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::runtime {

/// Collects the paths that a program reads and writes, with the options that
/// name them, and then checks them together. Paths are equal if they lead to
/// the same file, through links or in other words.
class OutputPaths {
public:
  /// The kind of an output: a file that is replaced, a folder that files are
  /// written into, or a file that a run can do without, which is not prepared.
  enum class Kind { File, Folder, Cache };

  /// Adds a path that the program reads. `option` names it in errors, as in
  /// `--data`. If it is a folder, no output may lie in it under a name that
  /// begins with one of `owned`.
  void addInput(std::string option, std::string path,
                std::vector<std::string> owned = {});

  /// Adds a path that the program writes. The names in a folder that begin with
  /// one of `owned` are for no other output.
  void addOutput(std::string option, std::string path, Kind kind = Kind::File,
                 std::vector<std::string> owned = {});

  /// Adds a file that the program writes under a name that nobody gave, because
  /// of `option`. A link of that name is replaced. A file is only if `isOwn`
  /// returns true for how it begins: it is one that the program wrote.
  void addImplied(std::string option, std::string path,
                  std::function<bool(std::string_view)> isOwn);

  /// Adds a file that the program reads and writes again, as far as `isOwn`
  /// tells that it is one that the program wrote.
  void addKept(std::string option, std::string path,
               std::function<bool(std::string_view)> isOwn);

  /// Throws usageError on the first option whose path is empty, or whose output
  /// is an input, another output, a file of somebody else, or exists and is not
  /// of its kind. Changes nothing.
  void check() const;

  /// Makes the folders and shows that every output can be created, without
  /// changing a file that exists. Throws failure.
  void prepare() const;

private:
  struct Entry {
    std::string option, path;
    bool isOutput;
    Kind kind;
    std::vector<std::string> owned;
    /// Tells own files by how they begin; empty if any file is replaced.
    std::function<bool(std::string_view)> isOwn = {};
    /// Whether the program made up the name.
    bool isImplied = false;

    bool isReplacedLink() const;
    void checkKind() const;
    void checkOwner() const;
  };
  std::vector<Entry> entries;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CORE_FILES_OUTPUTPATHS_H
