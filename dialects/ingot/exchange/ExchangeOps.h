// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Exchanges of one tensor over axes of the mesh of ranks.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_EXCHANGE_EXCHANGEOPS_H
#define INGOT_DIALECTS_INGOT_EXCHANGE_EXCHANGEOPS_H

#include "dialects/ingot/exchange/Mesh.h"
#include "dialects/ingot/ir/Dialect.h"

#include "dialects/ingot/exchange/ExchangeInterface.h.inc"
#define GET_OP_CLASSES
#include "dialects/ingot/exchange/Exchange.h.inc"

#endif // INGOT_DIALECTS_INGOT_EXCHANGE_EXCHANGEOPS_H
