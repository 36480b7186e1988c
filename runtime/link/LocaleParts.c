// SPDX-License-Identifier: Apache-2.0
//
// Parts of the C++ library's locales that trainers have no use for, in place of
// those that bring 290 kB with them. The locale "C" holds a facet of each kind
// as soon as there is a stream: of wide characters, which are never written,
// of money and of times to read. Here these have no functions. All is weak, for
// programs that have the library's own ones for another reason; names are those
// of the ABI, as the types cannot be declared.

#include <stdbool.h>
#include <stddef.h>

#define WEAK __attribute__((weak))

//===----------------------------------------------------------------------===//
// What is only pointed to
//===----------------------------------------------------------------------===//

/// A table of virtual functions, or what a type is. Facets of the locale "C"
/// are never destroyed, so that an address past the table's head is all it
/// takes.
#define TABLE(name) WEAK void *const name[2] = {NULL, NULL};
// clang-format off
TABLE(_ZTISt21__ctype_abstract_baseIwE)
TABLE(_ZTISt23__codecvt_abstract_baseIwc11__mbstate_tE)
TABLE(_ZTVNSt7__cxx1110moneypunctIcLb0EEE)
TABLE(_ZTVNSt7__cxx1110moneypunctIcLb1EEE)
TABLE(_ZTVNSt7__cxx1110moneypunctIwLb0EEE)
TABLE(_ZTVNSt7__cxx1110moneypunctIwLb1EEE)
TABLE(_ZTVNSt7__cxx117collateIwEE)
TABLE(_ZTVNSt7__cxx118numpunctIwEE)
TABLE(_ZTVNSt7__cxx118time_getIcSt19istreambuf_iteratorIcSt11char_traitsIcEEEE)
TABLE(_ZTVNSt7__cxx118time_getIwSt19istreambuf_iteratorIwSt11char_traitsIwEEEE)
TABLE(_ZTVNSt7__cxx119money_getIcSt19istreambuf_iteratorIcSt11char_traitsIcEEEE)
TABLE(_ZTVNSt7__cxx119money_getIwSt19istreambuf_iteratorIwSt11char_traitsIwEEEE)
TABLE(_ZTVNSt7__cxx119money_putIcSt19ostreambuf_iteratorIcSt11char_traitsIcEEEE)
TABLE(_ZTVNSt7__cxx119money_putIwSt19ostreambuf_iteratorIwSt11char_traitsIwEEEE)
TABLE(_ZTVSt10moneypunctIcLb0EE)
TABLE(_ZTVSt10moneypunctIcLb1EE)
TABLE(_ZTVSt10moneypunctIwLb0EE)
TABLE(_ZTVSt10moneypunctIwLb1EE)
TABLE(_ZTVSt17__timepunct_cacheIwE)
TABLE(_ZTVSt18__moneypunct_cacheIwLb0EE)
TABLE(_ZTVSt18__moneypunct_cacheIwLb1EE)
TABLE(_ZTVSt21__ctype_abstract_baseIwE)
TABLE(_ZTVSt23__codecvt_abstract_baseIwc11__mbstate_tE)
TABLE(_ZTVSt7collateIwE)
TABLE(_ZTVSt7num_getIwSt19istreambuf_iteratorIwSt11char_traitsIwEEE)
TABLE(_ZTVSt7num_putIwSt19ostreambuf_iteratorIwSt11char_traitsIwEEE)
TABLE(_ZTVSt8numpunctIwE)
TABLE(_ZTVSt8time_getIcSt19istreambuf_iteratorIcSt11char_traitsIcEEE)
TABLE(_ZTVSt8time_getIwSt19istreambuf_iteratorIwSt11char_traitsIwEEE)
TABLE(_ZTVSt8time_putIwSt19ostreambuf_iteratorIwSt11char_traitsIwEEE)
TABLE(_ZTVSt9money_getIcSt19istreambuf_iteratorIcSt11char_traitsIcEEE)
TABLE(_ZTVSt9money_getIwSt19istreambuf_iteratorIwSt11char_traitsIwEEE)
TABLE(_ZTVSt9money_putIcSt19ostreambuf_iteratorIcSt11char_traitsIcEEE)
TABLE(_ZTVSt9money_putIwSt19ostreambuf_iteratorIwSt11char_traitsIwEEE)
// clang-format on

/// A facet's index, which the library gives when it is first asked for.
#define INDEX(name) WEAK size_t name = 0;
// clang-format off
INDEX(_ZNSt10moneypunctIwLb0EE2idE)
INDEX(_ZNSt10moneypunctIwLb1EE2idE)
INDEX(_ZNSt11__timepunctIwE2idE)
INDEX(_ZNSt7__cxx1110moneypunctIwLb0EE2idE)
INDEX(_ZNSt7__cxx1110moneypunctIwLb1EE2idE)
INDEX(_ZNSt7__cxx117collateIwE2idE)
INDEX(_ZNSt7__cxx118messagesIwE2idE)
INDEX(_ZNSt7__cxx118numpunctIwE2idE)
INDEX(_ZNSt7__cxx118time_getIwSt19istreambuf_iteratorIwSt11char_traitsIwEEE2idE)
INDEX(_ZNSt7__cxx119money_getIwSt19istreambuf_iteratorIwSt11char_traitsIwEEE2idE)
INDEX(_ZNSt7__cxx119money_putIwSt19ostreambuf_iteratorIwSt11char_traitsIwEEE2idE)
INDEX(_ZNSt7collateIwE2idE)
INDEX(_ZNSt7num_getIwSt19istreambuf_iteratorIwSt11char_traitsIwEEE2idE)
INDEX(_ZNSt7num_putIwSt19ostreambuf_iteratorIwSt11char_traitsIwEEE2idE)
INDEX(_ZNSt8messagesIwE2idE)
INDEX(_ZNSt8numpunctIwE2idE)
INDEX(_ZNSt8time_getIwSt19istreambuf_iteratorIwSt11char_traitsIwEEE2idE)
INDEX(_ZNSt8time_putIwSt19ostreambuf_iteratorIwSt11char_traitsIwEEE2idE)
INDEX(_ZNSt9money_getIwSt19istreambuf_iteratorIwSt11char_traitsIwEEE2idE)
INDEX(_ZNSt9money_putIwSt19ostreambuf_iteratorIwSt11char_traitsIwEEE2idE)
// clang-format on

//===----------------------------------------------------------------------===//
// What is called for each locale
//===----------------------------------------------------------------------===//

/// Constructors, and what reads how money is written.
#define NOTHING(name)                                                          \
  WEAK void name(void) {}
// clang-format off
NOTHING(_ZNSt10moneypunctIcLb0EE24_M_initialize_moneypunctEP15__locale_structPKc)
NOTHING(_ZNSt10moneypunctIcLb1EE24_M_initialize_moneypunctEP15__locale_structPKc)
NOTHING(_ZNSt10moneypunctIwLb0EE24_M_initialize_moneypunctEP15__locale_structPKc)
NOTHING(_ZNSt10moneypunctIwLb1EE24_M_initialize_moneypunctEP15__locale_structPKc)
NOTHING(_ZNSt11__timepunctIwEC1EPSt17__timepunct_cacheIwEm)
NOTHING(_ZNSt7__cxx1110moneypunctIcLb0EE24_M_initialize_moneypunctEP15__locale_structPKc)
NOTHING(_ZNSt7__cxx1110moneypunctIcLb1EE24_M_initialize_moneypunctEP15__locale_structPKc)
NOTHING(_ZNSt7__cxx1110moneypunctIwLb0EE24_M_initialize_moneypunctEP15__locale_structPKc)
NOTHING(_ZNSt7__cxx1110moneypunctIwLb1EE24_M_initialize_moneypunctEP15__locale_structPKc)
NOTHING(_ZNSt7__cxx118messagesIwEC1Em)
NOTHING(_ZNSt8messagesIwEC1Em)
// clang-format on

/// Streams ask for facets before they use them. Those of wide characters, such
/// as std::wcout, are told that there are none.
#define HAS_NONE(name)                                                         \
  WEAK bool name(const void *locale) {                                         \
    (void)locale;                                                              \
    return false;                                                              \
  }
// clang-format off
HAS_NONE(_ZSt9has_facetISt5ctypeIwEEbRKSt6locale)
HAS_NONE(_ZSt9has_facetISt7num_getIwSt19istreambuf_iteratorIwSt11char_traitsIwEEEEbRKSt6locale)
HAS_NONE(_ZSt9has_facetISt7num_putIwSt19ostreambuf_iteratorIwSt11char_traitsIwEEEEbRKSt6locale)
// clang-format on

//===----------------------------------------------------------------------===//
// What is never called
//===----------------------------------------------------------------------===//

/// Facets of wide characters, and facets that stand for those of other strings.
#define NEVER(name)                                                            \
  WEAK const void *name(void) { __builtin_trap(); }
// clang-format off
NEVER(_ZNKSt6locale5facet11_M_cow_shimEPKNS_2idE)
NEVER(_ZNKSt6locale5facet11_M_sso_shimEPKNS_2idE)
NEVER(_ZSt9use_facetISt5ctypeIwEERKT_RKSt6locale)
NEVER(_ZSt9use_facetISt7num_getIwSt19istreambuf_iteratorIwSt11char_traitsIwEEEERKT_RKSt6locale)
NEVER(_ZSt9use_facetISt7num_putIwSt19ostreambuf_iteratorIwSt11char_traitsIwEEEERKT_RKSt6locale)
// clang-format on
