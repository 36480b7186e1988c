// SPDX-License-Identifier: Apache-2.0

#include "dialects/ingot/ir/Diagnostics.h"

using namespace mlir;
using namespace ingot;

static constexpr llvm::StringLiteral kHintPrefix = "hint: ";

/// A text that a name from a model or a command line made longer than this is
/// shortened in the middle.
static constexpr size_t kMaxText = 2000;

/// Returns whether a terminal takes the byte at `i` as a command: the control
/// characters of ASCII, and those that UTF-8 writes as C2 80 to C2 9F.
static bool isControl(StringRef text, size_t i) {
  auto c = static_cast<unsigned char>(text[i]);
  if (c < 0x20 || c == 0x7f)
    return true;
  return c >= 0x80 && c < 0xa0 && i > 0 &&
         static_cast<unsigned char>(text[i - 1]) == 0xc2;
}

/// Whether a character begins here, not goes on.
static bool startsCharacter(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
}

std::string ingot::printableLine(const llvm::Twine &text) {
  std::string line = text.str();
  if (line.size() > kMaxText) {
    size_t begin = kMaxText / 2, end = line.size() - kMaxText / 2;
    while (begin > 0 && !startsCharacter(line[begin]))
      --begin;
    while (end < line.size() && !startsCharacter(line[end]))
      ++end;
    line = line.substr(0, begin) + " [" + std::to_string(end - begin) +
           " bytes] " + line.substr(end);
  }
  std::string printable = line;
  for (size_t i = 0; i < line.size(); ++i)
    if (isControl(line, i))
      printable[i] = line[i] == '\n' || line[i] == '\r' ? ' ' : '?';
  // A mark that continues no character would show as one.
  for (size_t i = 1; i < line.size(); ++i)
    if (printable[i] == '?' && line[i] != '?' && line[i - 1] == '\xc2')
      printable[i - 1] = '?';
  return printable;
}

/// One line, whatever a library put into its message.
static std::string oneLine(const llvm::Twine &text) {
  std::string line = text.str();
  for (char &c : line)
    if (c == '\n' || c == '\r')
      c = ' ';
  return line;
}

static llvm::LogicalResult emit(ErrorKind kind, Location where,
                                const llvm::Twine &what,
                                const llvm::Twine &hint) {
  InFlightDiagnostic diagnostic = emitError(where) << oneLine(what);
  diagnostic.attachNote(where) << kHintPrefix << oneLine(hint);
  diagnostic.getUnderlyingDiagnostic()->getMetadata().push_back(
      DiagnosticArgument(static_cast<unsigned>(kind)));
  return diagnostic;
}

llvm::LogicalResult ingot::emitUserError(Location where,
                                         const llvm::Twine &what,
                                         const llvm::Twine &hint) {
  return emit(ErrorKind::BadInput, where, what, hint);
}

static std::string spellOption(StringRef option) {
  return ("--" + option).str();
}

static Location nameLoc(MLIRContext *context, StringRef name) {
  return NameLoc::get(StringAttr::get(context, name));
}

llvm::LogicalResult ingot::emitOptionError(MLIRContext *context,
                                           StringRef option,
                                           const llvm::Twine &what,
                                           const llvm::Twine &hint) {
  return emit(ErrorKind::Usage, nameLoc(context, spellOption(option)), what,
              hint);
}

std::optional<ErrorKind> ingot::getErrorKind(Diagnostic &diagnostic) {
  if (diagnostic.getSeverity() != DiagnosticSeverity::Error ||
      diagnostic.getMetadata().empty())
    return std::nullopt;
  return static_cast<ErrorKind>(diagnostic.getMetadata()[0].getAsUnsigned());
}

char UserError::ID = 0;

void UserError::log(llvm::raw_ostream &os) const {
  os << where << ": " << what << "\n" << kHintPrefix << hint;
}

std::error_code UserError::convertToErrorCode() const {
  return llvm::inconvertibleErrorCode();
}

llvm::Error ingot::makeOptionError(StringRef option, const llvm::Twine &what,
                                   const llvm::Twine &hint) {
  return llvm::make_error<UserError>(ErrorKind::Usage, spellOption(option),
                                     what.str(), hint.str());
}

UserError ingot::takeUserError(llvm::Error error) {
  std::optional<UserError> taken;
  llvm::handleAllErrors(std::move(error),
                        [&](const UserError &user) { taken.emplace(user); });
  return *taken;
}

llvm::LogicalResult ingot::emitUserError(MLIRContext *context,
                                         llvm::Error error) {
  UserError user = takeUserError(std::move(error));
  return emit(user.kind, nameLoc(context, user.where), user.what, user.hint);
}

void ingot::emitUserWarning(Location where, const llvm::Twine &what,
                            const llvm::Twine &hint) {
  InFlightDiagnostic diagnostic = emitWarning(where) << oneLine(what);
  diagnostic.attachNote(where) << kHintPrefix << oneLine(hint);
}

std::string ingot::describeLocation(Location location) {
  if (auto name = dyn_cast<NameLoc>(location))
    return name.getName().str();
  if (auto file = dyn_cast<FileLineColLoc>(location)) {
    std::string text = file.getFilename().str();
    if (file.getLine())
      text += ":" + std::to_string(file.getLine());
    return text;
  }
  if (auto call = dyn_cast<CallSiteLoc>(location))
    return describeLocation(call.getCallee());
  if (auto opaque = dyn_cast<OpaqueLoc>(location))
    return describeLocation(opaque.getFallbackLocation());
  if (auto fused = dyn_cast<FusedLoc>(location))
    for (Location part : fused.getLocations())
      if (std::string text = describeLocation(part); !text.empty())
        return text;
  return "";
}

void ingot::printUserDiagnostic(llvm::raw_ostream &os, Diagnostic &diagnostic) {
  switch (diagnostic.getSeverity()) {
  case DiagnosticSeverity::Error:
    os << "error: ";
    break;
  case DiagnosticSeverity::Warning:
    os << "warning: ";
    break;
  case DiagnosticSeverity::Remark:
    os << "remark: ";
    break;
  case DiagnosticSeverity::Note:
    os << "note: ";
    break;
  }
  if (std::string where = describeLocation(diagnostic.getLocation());
      !where.empty())
    os << printableLine(where) << ": ";
  os << printableLine(diagnostic.str()) << "\n";
  for (Diagnostic &note : diagnostic.getNotes()) {
    std::string text = printableLine(note.str());
    if (!llvm::StringRef(text).starts_with(kHintPrefix))
      os << "note: ";
    os << text << "\n";
  }
}

SmallVector<std::string> ingot::nodeNames(Location location, size_t most) {
  llvm::SmallSetVector<StringAttr, 8> names;
  location->walk([&](Location part) {
    if (names.size() == most)
      return WalkResult::interrupt();
    auto name = dyn_cast<NameLoc>(part);
    if (!name)
      return WalkResult::advance();
    names.insert(name.getName());
    return WalkResult::skip();
  });
  SmallVector<std::string> texts;
  for (StringAttr name : names)
    texts.push_back(name.str());
  return texts;
}
