// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The format of a trainer's --help.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_OPTIONS_HELPFORMATTER_H
#define INGOT_RUNTIME_TRAINER_OPTIONS_HELPFORMATTER_H

#include <CLI/CLI.hpp>
#include <string>

namespace ingot::runtime {

/// The value's name follows each option, the default follows its description in
/// brackets, and lines fit a terminal. Environment variables come last.
class HelpFormatter : public CLI::Formatter {
public:
  HelpFormatter();

  std::string make_option_name(const CLI::Option *option,
                               bool isPositional) const override;
  std::string make_option_opts(const CLI::Option *option) const override;
  std::string make_option_desc(const CLI::Option *option) const override;
  std::string make_footer(const CLI::App *app) const override;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_OPTIONS_HELPFORMATTER_H
