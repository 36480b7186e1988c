// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// An option of a pipeline that command lines can be made of: MLIR's, with the
// value as users write it, and a check.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_OPTIONS_SETTING_H
#define INGOT_PASSES_OPTIONS_SETTING_H

#include "mlir/Pass/PassOptions.h"
#include "passes/options/OptionValues.h"

#include <functional>
#include <string>
#include <vector>

namespace ingot {

/// An option, whatever its type. Errors are UserErrors about it.
class PipelineOption {
public:
  /// `spelling` is "NAME", or "NAME VALUE" with what stands for its value in
  /// help, whose part `section` is.
  PipelineOption(llvm::StringRef spelling, llvm::StringRef section,
                 std::string help)
      : name(spelling.split(' ').first), valueName(spelling.split(' ').second),
        section(section), help(std::move(help)) {}
  virtual ~PipelineOption() = default;

  llvm::StringRef getName() const { return name; }
  llvm::StringRef getValueName() const { return valueName; }
  llvm::StringRef getSection() const { return section; }
  llvm::StringRef getHelp() const { return help; }
  /// Whether it takes no value.
  virtual bool isFlag() const { return false; }
  /// Whether it may be given several times.
  virtual bool isList() const { return false; }
  /// The value before any is given, as users write it.
  virtual std::string getDefaultText() const { return ""; }
  /// Returns the given value as users write it: several values of a list, the
  /// empty text of a flag.
  virtual std::vector<std::string> getGivenTexts() const = 0;
  /// Takes a value as users write it, one more of a list.
  virtual llvm::Error set(llvm::StringRef text) = 0;
  /// Whether a value that was given is one that the option may have.
  virtual llvm::Error check() const { return llvm::Error::success(); }

private:
  llvm::StringRef name, valueName, section;
  std::string help;
};

/// Begins a section of the options of a struct, whose member `section` has its
/// name from then on.
struct Section {
  template <typename Options> Section(Options &parent, llvm::StringRef name) {
    parent.section = name;
  }
};

llvm::Error parseValue(llvm::StringRef option, llvm::StringRef text,
                       std::string &value);
llvm::Error parseValue(llvm::StringRef option, llvm::StringRef text,
                       bool &value);
llvm::Error parseValue(llvm::StringRef option, llvm::StringRef text,
                       unsigned &value);
llvm::Error parseValue(llvm::StringRef option, llvm::StringRef text,
                       int64_t &value);
llvm::Error parseValue(llvm::StringRef option, llvm::StringRef text,
                       double &value);
template <WrittenValue T>
llvm::Error parseValue(llvm::StringRef option, llvm::StringRef text, T &value) {
  llvm::Expected<T> parsed = T::parse(option, text);
  if (!parsed)
    return parsed.takeError();
  value = std::move(*parsed);
  return llvm::Error::success();
}
std::string printValue(const std::string &value);
std::string printValue(bool value);
std::string printValue(unsigned value);
std::string printValue(int64_t value);
std::string printValue(double value);
template <WrittenValue T> std::string printValue(const T &value) {
  return value.getText();
}

/// Checks a value of the option, and gives it the spelling that passes know.
template <typename T>
using ValueCheck = std::function<llvm::Error(llvm::StringRef, T &)>;

/// One of the choices, in capitals or not.
inline ValueCheck<std::string>
oneOf(llvm::ArrayRef<llvm::StringLiteral> choices) {
  return [choices](llvm::StringRef option, std::string &value) {
    for (llvm::StringRef choice : choices)
      if (choice.equals_insensitive(value))
        value = choice.str();
    return checkChoice(option, value, choices);
  };
}

/// A text that is a size in bytes (MemorySize), for options that stay texts.
inline ValueCheck<std::string> memorySize() {
  return [](llvm::StringRef option, const std::string &value) {
    return MemorySize::parse(option, value, /*allowPercent=*/false).takeError();
  };
}

llvm::Error makeRangeError(llvm::StringRef option, const std::string &value,
                           const std::string &low, const std::string &high);

template <typename T> ValueCheck<T> between(T low, T high) {
  return [low, high](llvm::StringRef option, const T &value) -> llvm::Error {
    if (value >= low && value <= high)
      return llvm::Error::success();
    return makeRangeError(option, printValue(value), printValue(low),
                          printValue(high));
  };
}

/// An option with one value, or a flag. A member of a struct whose member `all`
/// lists them.
template <typename T>
class Setting : public PipelineOption,
                public mlir::detail::PassOptions::Option<T> {
  using Base = mlir::detail::PassOptions::Option<T>;

public:
  template <typename Options>
  Setting(Options &parent, llvm::StringRef spelling, std::string help,
          T initial = T(), ValueCheck<T> valueCheck = {})
      : PipelineOption(spelling, parent.section, std::move(help)),
        Base(parent, getName(), llvm::cl::desc(getHelp()),
             llvm::cl::init(initial)),
        initial(initial), valueCheck(std::move(valueCheck)) {
    parent.all.push_back(this);
  }
  using Base::operator=;

  bool isFlag() const override { return std::is_same_v<T, bool>; }
  std::string getDefaultText() const override {
    // What stands for no value cannot be given.
    T value = initial;
    if (valueCheck)
      if (llvm::Error error = valueCheck(getName(), value)) {
        llvm::consumeError(std::move(error));
        return "";
      }
    return printValue(initial);
  }
  std::vector<std::string> getGivenTexts() const override {
    if (!this->hasValue())
      return {};
    if constexpr (std::is_same_v<T, bool>)
      if (!this->getValue())
        return {};
    return {printValue(this->getValue())};
  }
  llvm::Error set(llvm::StringRef text) override {
    T value = T();
    if (llvm::Error error = parseValue(getName(), text, value))
      return error;
    if (valueCheck)
      if (llvm::Error error = valueCheck(getName(), value))
        return error;
    *this = value;
    return llvm::Error::success();
  }
  llvm::Error check() const override {
    if (!valueCheck || !this->hasValue())
      return llvm::Error::success();
    T value = this->getValue();
    return valueCheck(getName(), value);
  }

private:
  T initial;
  ValueCheck<T> valueCheck;
};

/// An option that may be given several times.
template <typename T>
class ListSetting : public PipelineOption,
                    public mlir::detail::PassOptions::ListOption<T> {
  using Base = mlir::detail::PassOptions::ListOption<T>;

public:
  template <typename Options>
  ListSetting(Options &parent, llvm::StringRef spelling, std::string help)
      : PipelineOption(spelling, parent.section, std::move(help)),
        Base(parent, getName(), llvm::cl::desc(getHelp())) {
    parent.all.push_back(this);
  }

  bool isList() const override { return true; }
  std::vector<std::string> getGivenTexts() const override {
    std::vector<std::string> texts;
    for (const T &value : *this)
      texts.push_back(printValue(value));
    return texts;
  }
  llvm::Error set(llvm::StringRef text) override {
    T value = T();
    if (llvm::Error error = parseValue(getName(), text, value))
      return error;
    std::vector<T> values(this->begin(), this->end());
    values.push_back(std::move(value));
    Base::operator=(values);
    return llvm::Error::success();
  }
};

} // namespace ingot

#endif // INGOT_PASSES_OPTIONS_SETTING_H
