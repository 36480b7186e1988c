// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The function that the C++ library calls for an exception that
// nothing catches. Its own one prints the name of the type, and is linked
// with 50 kB that read such names.
//
//===----------------------------------------------------------------------===//

#include <cstdio>
#include <cstdlib>
#include <exception>

namespace __gnu_cxx {

void __verbose_terminate_handler() {
  // An exception of what() would come here again.
  static bool isTerminating = false;
  const char *what = "no exception";
  if (!isTerminating && std::current_exception()) {
    isTerminating = true;
    try {
      throw;
    } catch (const std::exception &exception) {
      what = exception.what();
    } catch (...) {
      what = "an exception of another type";
    }
  }
  fprintf(stderr, "terminate called: %s\n", what);
  std::abort();
}

} // namespace __gnu_cxx
