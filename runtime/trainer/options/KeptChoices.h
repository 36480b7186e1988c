// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The file of choices that all parts of --tune in a trainer share, the
// differences that count, and how measurements read.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_OPTIONS_KEPTCHOICES_H
#define INGOT_RUNTIME_TRAINER_OPTIONS_KEPTCHOICES_H

#include "runtime/core/files/TunedFile.h"

#include <string>

namespace ingot::runtime {

class Console;
struct TuneOptions;

/// The choices of this machine in the file that --tune names.
TunedFile openChoices(const TuneOptions &options);

/// Keeps a choice. A file that cannot be written is a note.
void keepChoice(TunedFile &file, const std::string &key,
                const std::string &choice, Console &console);

/// Whether a step is faster than before by more than two runs differ by.
bool isFaster(double milliseconds, double before);

/// The line of a measurement, and what a choice gains, for the terminal.
std::string formatMeasured(const std::string &name, double milliseconds);
std::string formatGain(double milliseconds, double before);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_OPTIONS_KEPTCHOICES_H
