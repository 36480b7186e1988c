// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The machine that is planned for, and the profile that `--machine measured`
// uses.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TOOLS_INGOTC_COMPILE_MEASUREDPROFILE_H
#define INGOT_TOOLS_INGOTC_COMPILE_MEASUREDPROFILE_H

namespace ingot {
struct PipelineOptions;

/// Sets the file of the machine to plan for, none for built-in figures: what
/// --machine says, else what the environment says, else this one, measured, if
/// it is what code is generated for. Measures on the first call, and says so on
/// stderr. Throws Error.
void resolveMachine(PipelineOptions &pipeline);

} // namespace ingot

#endif // INGOT_TOOLS_INGOTC_COMPILE_MEASUREDPROFILE_H
