// SPDX-License-Identifier: Apache-2.0

#include "runtime/data/readers/parquet/Errors.h"

using namespace ingot::runtime;

Error parquet::damaged(const std::string &where, const std::string &what) {
  return badInput(where, what,
                  "write the file again, as Dataset.to_parquet of Hugging Face "
                  "does");
}

Error parquet::unsupported(const std::string &where, const std::string &what) {
  return badInput(where, what,
                  "write the file again with pyarrow.parquet.write_table and "
                  "its defaults");
}
