// RUN: ingot-opt %s --ingot-verify-placed --split-input-file --verify-diagnostics

// A region reads %0 and writes %1; what is beside it reads %0 and writes %2.
module attributes {exec.state_bytes = 0 : i64} {
  exec.step @train_step attributes {arena_bytes = 192 : i64, inputs = [], outputs = [],
      intervals = [#exec.interval<kind = "activation", offset = 0, bytes = 192, first = 0, last = 5>],
      memory = #exec.memory<peak = 192, weights = 0, optimizer = 0, gradient = 0, activation = 192, workspace = 0, communication = 0>} {
    %0 = exec.buffer arena 0 : memref<8xf32>
    %1 = exec.buffer arena 64 : memref<8xf32>
    %2 = exec.buffer arena 128 : memref<8xf32>
    exec.call @ingot_side_start() <>
    exec.call @ingot_copy(from = %0, to = %1) <bytes = 32> : memref<8xf32>, memref<8xf32>
    exec.call @ingot_side_end() <>
    exec.call @ingot_copy(from = %0, to = %2) <bytes = 32> : memref<8xf32>, memref<8xf32>
    exec.call @ingot_side_wait() <>
    exec.call @ingot_copy(from = %1, to = %0) <bytes = 32> : memref<8xf32>, memref<8xf32>
  }
}

// -----

module attributes {exec.state_bytes = 0 : i64} {
  exec.step @train_step attributes {arena_bytes = 192 : i64, inputs = [], outputs = [],
      intervals = [#exec.interval<kind = "activation", offset = 0, bytes = 192, first = 0, last = 4>],
      memory = #exec.memory<peak = 192, weights = 0, optimizer = 0, gradient = 0, activation = 192, workspace = 0, communication = 0>} {
    %0 = exec.buffer arena 0 : memref<8xf32>
    %1 = exec.buffer arena 64 : memref<8xf32>
    exec.call @ingot_side_start() <>
    // expected-note @below {{the call in region 0}}
    exec.call @ingot_copy(from = %0, to = %1) <bytes = 32> : memref<8xf32>, memref<8xf32>
    exec.call @ingot_side_end() <>
    // expected-error @below {{touches bytes 0 to 32 of the arena, which a call beside it uses}}
    exec.call @ingot_copy(from = %1, to = %0) <bytes = 32> : memref<8xf32>, memref<8xf32>
    exec.call @ingot_side_wait() <>
  }
}

// -----

module attributes {exec.state_bytes = 0 : i64} {
  // expected-error @below {{does not wait for region 0}}
  exec.step @train_step attributes {arena_bytes = 192 : i64, inputs = [], outputs = [],
      intervals = [#exec.interval<kind = "activation", offset = 0, bytes = 192, first = 0, last = 2>],
      memory = #exec.memory<peak = 192, weights = 0, optimizer = 0, gradient = 0, activation = 192, workspace = 0, communication = 0>} {
    %0 = exec.buffer arena 0 : memref<8xf32>
    %1 = exec.buffer arena 64 : memref<8xf32>
    exec.call @ingot_side_start() <>
    exec.call @ingot_copy(from = %0, to = %1) <bytes = 32> : memref<8xf32>, memref<8xf32>
    exec.call @ingot_side_end() <>
  }
}

// -----

module attributes {exec.state_bytes = 0 : i64} {
  exec.step @train_step attributes {arena_bytes = 192 : i64, inputs = [], outputs = [], intervals = [],
      memory = #exec.memory<peak = 192, weights = 0, optimizer = 0, gradient = 0, activation = 192, workspace = 0, communication = 0>} {
    // expected-error @below {{ends a region that has not started}}
    exec.call @ingot_side_end() <>
  }
}
