// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The format of --help, of trainers and of the tools.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CORE_COMMANDLINE_HELPFORMATTER_H
#define INGOT_RUNTIME_CORE_COMMANDLINE_HELPFORMATTER_H

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace ingot::runtime {

/// A variable of the environment that a program reads.
struct EnvironmentVariable {
  const char *name, *description;
};

/// The value's name follows each option, the default follows its description in
/// brackets, and lines fit a terminal. Environment variables come last, before
/// the footer, which has examples.
class HelpFormatter : public CLI::Formatter {
public:
  explicit HelpFormatter(std::vector<EnvironmentVariable> variables = {});

  std::string make_option_name(const CLI::Option *option,
                               bool isPositional) const override;
  std::string make_option_opts(const CLI::Option *option) const override;
  std::string make_option_desc(const CLI::Option *option) const override;
  std::string make_footer(const CLI::App *app) const override;

private:
  std::vector<EnvironmentVariable> variables;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CORE_COMMANDLINE_HELPFORMATTER_H
