// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The file in which --tune keeps what turned out to be fastest, for later runs
// on the same machine.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CORE_FILES_TUNEDFILE_H
#define INGOT_RUNTIME_CORE_FILES_TUNEDFILE_H

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace ingot::runtime {

/// Whether a file that begins so has kept choices.
bool isTunedFile(std::string_view begin);

class TunedFile {
public:
  /// Reads the choices for `machine` in the file at `path`; in the user's cache
  /// if it is empty. A file that cannot be read, or damaged lines, only cost
  /// measuring again.
  TunedFile(std::string machine, std::string path);

  /// Returns a name, like that of a model, as a word for a key.
  static std::string makeWord(std::string name);

  /// Returns the choice that was kept for `key`. Neither contains tabs or ends
  /// of lines.
  std::optional<std::string> find(const std::string &key) const;
  /// Keeps a choice, in the file as well.
  void keep(const std::string &key, const std::string &choice);
  /// Returns what went wrong with the file since the last call; empty if
  /// nothing did.
  std::string takeProblem() { return std::exchange(problem, ""); }

private:
  void read();

  std::string machine, path, problem;
  /// Whether the file holds something else, which stays there.
  bool isForeign = false;
  /// The lines of the file: a machine with a key, and the choice. And those
  /// that were kept here.
  std::map<std::string, std::string> choices, kept;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CORE_FILES_TUNEDFILE_H
