// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// An option of a table as documents and shells show it.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CORE_COMMANDLINE_OPTIONVIEW_H
#define INGOT_RUNTIME_CORE_COMMANDLINE_OPTIONVIEW_H

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace ingot::runtime {

struct OptionView {
  explicit OptionView(const CLI::Option &option);

  /// With their dashes; none for an argument without a name.
  std::vector<std::string> names;
  /// The name of the value, without the words that it may be; empty for flags.
  std::string value;
  /// The words that the value may be, if they can be listed.
  std::vector<std::string> choices;
  bool takesValue = false, takesFile = false;
  std::string group, description;
};

/// The options of a program or command that users see, in the order of --help.
std::vector<OptionView> listViews(const CLI::App &app);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CORE_COMMANDLINE_OPTIONVIEW_H
