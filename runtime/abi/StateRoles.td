// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The roles of states, for the dialect (`ingot.state`) and for the manifest.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_ABI_STATEROLES_TD
#define INGOT_RUNTIME_ABI_STATEROLES_TD

class StateRoleCase<string roleSymbol, string roleName, int roleValue, string roleDescription> {
  string symbol = roleSymbol;
  string name = roleName;
  int value = roleValue;
  string description = roleDescription;
}

defvar stateRoles = [
  StateRoleCase<"Parameter", "parameter", 0, "Trained and exported.">,
  StateRoleCase<"Frozen", "frozen", 1, "A parameter or constant that is not trained.">,
  StateRoleCase<"Running", "running", 2, "Running statistics, updated by the step and exported.">,
  StateRoleCase<"Moment", "moment", 3, "The optimizer's state of a parameter.">,
  StateRoleCase<"Step", "step", 4, "i64, the number of steps taken.">,
  StateRoleCase<"Seed", "seed", 5, "i64; the runtime stores `--seed` here at the start.">,
  StateRoleCase<"LossScale", "loss_scale", 6,
    "Scalars of dynamic loss scaling; reset if a checkpoint lacks it.">,
  StateRoleCase<"LowCopy", "low_copy", 7, "The 16-bit compute copy of a weight; not in checkpoints.">,
  StateRoleCase<"Accumulator", "accumulator", 8, "Sums over micro-batches; not in checkpoints.">,
  StateRoleCase<"Residual", "residual", 9,
    "Error-feedback residual of a rank, zeros at first; reset if a checkpoint lacks it.">,
  StateRoleCase<"Basis", "basis", 10, "The factor of PowerSGD that is reused; reset if a checkpoint lacks it.">,
  StateRoleCase<"LowerHalf", "lower_half", 11, "The lower half of a split master weight; not in checkpoints.">,
  StateRoleCase<"Magnitudes", "magnitudes", 12,
    "The largest magnitudes of tensors in recent steps, for scales of 8-bit floats; reset if a checkpoint lacks it.">,
  StateRoleCase<"Coordinates", "coordinates", 13,
    "i64, the rank's coordinate along each axis; the runtime stores them at the start. Not in checkpoints.">];

#endif // INGOT_RUNTIME_ABI_STATEROLES_TD
