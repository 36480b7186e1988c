// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// All families, for code generation; each stands in its own folder.
//===----------------------------------------------------------------------===//

include "dialects/ingot/target/Target.td"
include "dialects/ingot/structure/Structure.td"
include "dialects/ingot/loop/Loop.td"
include "dialects/ingot/elementwise/Elementwise.td"
include "dialects/ingot/shape/Shape.td"
include "dialects/ingot/reduction/Reduction.td"
include "dialects/ingot/contraction/Contraction.td"
include "dialects/ingot/attention/Attention.td"
include "dialects/ingot/convolution/Convolution.td"
include "dialects/ingot/normalization/Normalization.td"
include "dialects/ingot/random/Random.td"
include "dialects/ingot/collective/Collective.td"
