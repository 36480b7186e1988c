// RUN: ingot-opt %s --ingot-verify-placed --split-input-file --verify-diagnostics

// Two copies: the input dies with the first, the output is there after both.
module attributes {exec.state_bytes = 64 : i64} {
  ingot.state parameter @w : tensor<4xf32> = dense<0.0> : tensor<4xf32> {exec.offset = 0 : i64}
  exec.step @train_step attributes {arena_bytes = 192 : i64,
      inputs = [#exec.value<name = "x", kind = "data", type = tensor<8xf32>, offset = 0>], outputs = [#exec.value<name = "y", kind = "output", type = tensor<8xf32>, offset = 128>],
      intervals = [#exec.interval<kind = "input", offset = 0, bytes = 32, first = 0, last = 0>,
                   #exec.interval<kind = "activation", offset = 64, bytes = 32, first = 0, last = 1>,
                   #exec.interval<kind = "output", offset = 128, bytes = 32, first = 1, last = 2>],
      memory = #exec.memory<peak = 256, weights = 64, optimizer = 0, gradient = 0, activation = 192, workspace = 0, communication = 0>} {
    %0 = exec.buffer arena 0 : memref<8xf32>
    %1 = exec.buffer arena 64 : memref<8xf32>
    %2 = exec.buffer arena 128 : memref<8xf32>
    exec.call @ingot_copy(from = %0, to = %1) <bytes = 32> : memref<8xf32>, memref<8xf32>
    exec.call @ingot_copy(from = %1, to = %2) <bytes = 32> : memref<8xf32>, memref<8xf32>
  }
}

// -----

// expected-error @below {{has no attribute 'exec.state_bytes'}}
module {
  ingot.state parameter @w : tensor<4xf32> = dense<0.0> : tensor<4xf32> {exec.offset = 0 : i64}
  exec.step @train_step attributes {arena_bytes = 192 : i64,
      inputs = [#exec.value<name = "x", kind = "data", type = tensor<8xf32>, offset = 0>], outputs = [#exec.value<name = "y", kind = "output", type = tensor<8xf32>, offset = 128>],
      intervals = [#exec.interval<kind = "input", offset = 0, bytes = 32, first = 0, last = 0>,
                   #exec.interval<kind = "activation", offset = 64, bytes = 32, first = 0, last = 1>,
                   #exec.interval<kind = "output", offset = 128, bytes = 32, first = 1, last = 2>],
      memory = #exec.memory<peak = 256, weights = 64, optimizer = 0, gradient = 0, activation = 192, workspace = 0, communication = 0>} {
    %0 = exec.buffer arena 0 : memref<8xf32>
    %1 = exec.buffer arena 64 : memref<8xf32>
    %2 = exec.buffer arena 128 : memref<8xf32>
    exec.call @ingot_copy(from = %0, to = %1) <bytes = 32> : memref<8xf32>, memref<8xf32>
    exec.call @ingot_copy(from = %1, to = %2) <bytes = 32> : memref<8xf32>, memref<8xf32>
  }
}

// -----

module attributes {exec.state_bytes = 64 : i64} {
  // expected-error @below {{has no attribute 'exec.offset'}}
  ingot.state parameter @w : tensor<4xf32> = dense<0.0> : tensor<4xf32>
  exec.step @train_step attributes {arena_bytes = 192 : i64,
      inputs = [#exec.value<name = "x", kind = "data", type = tensor<8xf32>, offset = 0>], outputs = [#exec.value<name = "y", kind = "output", type = tensor<8xf32>, offset = 128>],
      intervals = [#exec.interval<kind = "input", offset = 0, bytes = 32, first = 0, last = 0>,
                   #exec.interval<kind = "activation", offset = 64, bytes = 32, first = 0, last = 1>,
                   #exec.interval<kind = "output", offset = 128, bytes = 32, first = 1, last = 2>],
      memory = #exec.memory<peak = 256, weights = 64, optimizer = 0, gradient = 0, activation = 192, workspace = 0, communication = 0>} {
    %0 = exec.buffer arena 0 : memref<8xf32>
    %1 = exec.buffer arena 64 : memref<8xf32>
    %2 = exec.buffer arena 128 : memref<8xf32>
    exec.call @ingot_copy(from = %0, to = %1) <bytes = 32> : memref<8xf32>, memref<8xf32>
    exec.call @ingot_copy(from = %1, to = %2) <bytes = 32> : memref<8xf32>, memref<8xf32>
  }
}

// -----

module attributes {exec.state_bytes = 64 : i64} {
  // expected-error @below {{is at 16, which is not aligned}}
  ingot.state parameter @w : tensor<4xf32> = dense<0.0> : tensor<4xf32> {exec.offset = 16 : i64}
  exec.step @train_step attributes {arena_bytes = 192 : i64,
      inputs = [#exec.value<name = "x", kind = "data", type = tensor<8xf32>, offset = 0>], outputs = [#exec.value<name = "y", kind = "output", type = tensor<8xf32>, offset = 128>],
      intervals = [#exec.interval<kind = "input", offset = 0, bytes = 32, first = 0, last = 0>,
                   #exec.interval<kind = "activation", offset = 64, bytes = 32, first = 0, last = 1>,
                   #exec.interval<kind = "output", offset = 128, bytes = 32, first = 1, last = 2>],
      memory = #exec.memory<peak = 256, weights = 64, optimizer = 0, gradient = 0, activation = 192, workspace = 0, communication = 0>} {
    %0 = exec.buffer arena 0 : memref<8xf32>
    %1 = exec.buffer arena 64 : memref<8xf32>
    %2 = exec.buffer arena 128 : memref<8xf32>
    exec.call @ingot_copy(from = %0, to = %1) <bytes = 32> : memref<8xf32>, memref<8xf32>
    exec.call @ingot_copy(from = %1, to = %2) <bytes = 32> : memref<8xf32>, memref<8xf32>
  }
}

// -----

module attributes {exec.state_bytes = 64 : i64} {
  // expected-error @below {{ends at 80, behind the state block of 64}}
  ingot.state parameter @w : tensor<4xf32> = dense<0.0> : tensor<4xf32> {exec.offset = 64 : i64}
  exec.step @train_step attributes {arena_bytes = 192 : i64,
      inputs = [#exec.value<name = "x", kind = "data", type = tensor<8xf32>, offset = 0>], outputs = [#exec.value<name = "y", kind = "output", type = tensor<8xf32>, offset = 128>],
      intervals = [#exec.interval<kind = "input", offset = 0, bytes = 32, first = 0, last = 0>,
                   #exec.interval<kind = "activation", offset = 64, bytes = 32, first = 0, last = 1>,
                   #exec.interval<kind = "output", offset = 128, bytes = 32, first = 1, last = 2>],
      memory = #exec.memory<peak = 256, weights = 64, optimizer = 0, gradient = 0, activation = 192, workspace = 0, communication = 0>} {
    %0 = exec.buffer arena 0 : memref<8xf32>
    %1 = exec.buffer arena 64 : memref<8xf32>
    %2 = exec.buffer arena 128 : memref<8xf32>
    exec.call @ingot_copy(from = %0, to = %1) <bytes = 32> : memref<8xf32>, memref<8xf32>
    exec.call @ingot_copy(from = %1, to = %2) <bytes = 32> : memref<8xf32>, memref<8xf32>
  }
}

// -----

module attributes {exec.state_bytes = 64 : i64} {
  ingot.state parameter @w : tensor<4xf32> = dense<0.0> : tensor<4xf32> {exec.offset = 0 : i64}
  // expected-error @below {{overlaps another state at 0}}
  ingot.state parameter @v : tensor<4xf32> = dense<0.0> : tensor<4xf32> {exec.offset = 0 : i64}
  exec.step @train_step attributes {arena_bytes = 192 : i64,
      inputs = [#exec.value<name = "x", kind = "data", type = tensor<8xf32>, offset = 0>], outputs = [#exec.value<name = "y", kind = "output", type = tensor<8xf32>, offset = 128>],
      intervals = [#exec.interval<kind = "input", offset = 0, bytes = 32, first = 0, last = 0>,
                   #exec.interval<kind = "activation", offset = 64, bytes = 32, first = 0, last = 1>,
                   #exec.interval<kind = "output", offset = 128, bytes = 32, first = 1, last = 2>],
      memory = #exec.memory<peak = 256, weights = 64, optimizer = 0, gradient = 0, activation = 192, workspace = 0, communication = 0>} {
    %0 = exec.buffer arena 0 : memref<8xf32>
    %1 = exec.buffer arena 64 : memref<8xf32>
    %2 = exec.buffer arena 128 : memref<8xf32>
    exec.call @ingot_copy(from = %0, to = %1) <bytes = 32> : memref<8xf32>, memref<8xf32>
    exec.call @ingot_copy(from = %1, to = %2) <bytes = 32> : memref<8xf32>, memref<8xf32>
  }
}

// -----

module attributes {exec.state_bytes = 64 : i64} {
  ingot.state parameter @w : tensor<4xf32> = dense<0.0> : tensor<4xf32> {exec.offset = 0 : i64}
  // expected-error @below {{has no attribute 'memory'}}
  exec.step @train_step attributes {arena_bytes = 192 : i64,
      inputs = [#exec.value<name = "x", kind = "data", type = tensor<8xf32>, offset = 0>], outputs = [#exec.value<name = "y", kind = "output", type = tensor<8xf32>, offset = 128>],
      intervals = [#exec.interval<kind = "input", offset = 0, bytes = 32, first = 0, last = 0>,
                   #exec.interval<kind = "activation", offset = 64, bytes = 32, first = 0, last = 1>,
                   #exec.interval<kind = "output", offset = 128, bytes = 32, first = 1, last = 2>]} {
    %0 = exec.buffer arena 0 : memref<8xf32>
    %1 = exec.buffer arena 64 : memref<8xf32>
    %2 = exec.buffer arena 128 : memref<8xf32>
    exec.call @ingot_copy(from = %0, to = %1) <bytes = 32> : memref<8xf32>, memref<8xf32>
    exec.call @ingot_copy(from = %1, to = %2) <bytes = 32> : memref<8xf32>, memref<8xf32>
  }
}

// -----

module attributes {exec.state_bytes = 64 : i64} {
  ingot.state parameter @w : tensor<4xf32> = dense<0.0> : tensor<4xf32> {exec.offset = 0 : i64}
  // expected-error @below {{has parts of its memory that add up to 256, not to the peak of 300}}
  exec.step @train_step attributes {arena_bytes = 192 : i64,
      inputs = [#exec.value<name = "x", kind = "data", type = tensor<8xf32>, offset = 0>], outputs = [#exec.value<name = "y", kind = "output", type = tensor<8xf32>, offset = 128>],
      intervals = [#exec.interval<kind = "input", offset = 0, bytes = 32, first = 0, last = 0>,
                   #exec.interval<kind = "activation", offset = 64, bytes = 32, first = 0, last = 1>,
                   #exec.interval<kind = "output", offset = 128, bytes = 32, first = 1, last = 2>],
      memory = #exec.memory<peak = 300, weights = 64, optimizer = 0, gradient = 0, activation = 192, workspace = 0, communication = 0>} {
    %0 = exec.buffer arena 0 : memref<8xf32>
    %1 = exec.buffer arena 64 : memref<8xf32>
    %2 = exec.buffer arena 128 : memref<8xf32>
    exec.call @ingot_copy(from = %0, to = %1) <bytes = 32> : memref<8xf32>, memref<8xf32>
    exec.call @ingot_copy(from = %1, to = %2) <bytes = 32> : memref<8xf32>, memref<8xf32>
  }
}

// -----

module attributes {exec.state_bytes = 64 : i64} {
  ingot.state parameter @w : tensor<4xf32> = dense<0.0> : tensor<4xf32> {exec.offset = 0 : i64}
  // expected-error @below {{has an interval at 80, which is not aligned}}
  exec.step @train_step attributes {arena_bytes = 192 : i64,
      inputs = [#exec.value<name = "x", kind = "data", type = tensor<8xf32>, offset = 0>], outputs = [#exec.value<name = "y", kind = "output", type = tensor<8xf32>, offset = 128>],
      intervals = [#exec.interval<kind = "input", offset = 0, bytes = 32, first = 0, last = 0>,
                   #exec.interval<kind = "activation", offset = 80, bytes = 32, first = 0, last = 1>,
                   #exec.interval<kind = "output", offset = 128, bytes = 32, first = 1, last = 2>],
      memory = #exec.memory<peak = 256, weights = 64, optimizer = 0, gradient = 0, activation = 192, workspace = 0, communication = 0>} {
    %0 = exec.buffer arena 0 : memref<8xf32>
    %1 = exec.buffer arena 64 : memref<8xf32>
    %2 = exec.buffer arena 128 : memref<8xf32>
    exec.call @ingot_copy(from = %0, to = %1) <bytes = 32> : memref<8xf32>, memref<8xf32>
    exec.call @ingot_copy(from = %1, to = %2) <bytes = 32> : memref<8xf32>, memref<8xf32>
  }
}

// -----

// Both are in use at the first call.
module attributes {exec.state_bytes = 64 : i64} {
  ingot.state parameter @w : tensor<4xf32> = dense<0.0> : tensor<4xf32> {exec.offset = 0 : i64}
  // expected-error @below {{has intervals that overlap at 64 in call 0}}
  exec.step @train_step attributes {arena_bytes = 192 : i64,
      inputs = [#exec.value<name = "x", kind = "data", type = tensor<8xf32>, offset = 0>], outputs = [#exec.value<name = "y", kind = "output", type = tensor<8xf32>, offset = 128>],
      intervals = [#exec.interval<kind = "input", offset = 0, bytes = 96, first = 0, last = 0>,
                   #exec.interval<kind = "activation", offset = 64, bytes = 32, first = 0, last = 1>,
                   #exec.interval<kind = "output", offset = 128, bytes = 32, first = 1, last = 2>],
      memory = #exec.memory<peak = 256, weights = 64, optimizer = 0, gradient = 0, activation = 192, workspace = 0, communication = 0>} {
    %0 = exec.buffer arena 0 : memref<8xf32>
    %1 = exec.buffer arena 64 : memref<8xf32>
    %2 = exec.buffer arena 128 : memref<8xf32>
    exec.call @ingot_copy(from = %0, to = %1) <bytes = 32> : memref<8xf32>, memref<8xf32>
    exec.call @ingot_copy(from = %1, to = %2) <bytes = 32> : memref<8xf32>, memref<8xf32>
  }
}

// -----

// The tensor is dead before its last reader.
module attributes {exec.state_bytes = 64 : i64} {
  ingot.state parameter @w : tensor<4xf32> = dense<0.0> : tensor<4xf32> {exec.offset = 0 : i64}
  exec.step @train_step attributes {arena_bytes = 192 : i64,
      inputs = [#exec.value<name = "x", kind = "data", type = tensor<8xf32>, offset = 0>], outputs = [#exec.value<name = "y", kind = "output", type = tensor<8xf32>, offset = 128>],
      intervals = [#exec.interval<kind = "input", offset = 0, bytes = 32, first = 0, last = 0>,
                   #exec.interval<kind = "activation", offset = 64, bytes = 32, first = 0, last = 0>,
                   #exec.interval<kind = "output", offset = 128, bytes = 32, first = 1, last = 2>],
      memory = #exec.memory<peak = 256, weights = 64, optimizer = 0, gradient = 0, activation = 192, workspace = 0, communication = 0>} {
    %0 = exec.buffer arena 0 : memref<8xf32>
    %1 = exec.buffer arena 64 : memref<8xf32>
    %2 = exec.buffer arena 128 : memref<8xf32>
    exec.call @ingot_copy(from = %0, to = %1) <bytes = 32> : memref<8xf32>, memref<8xf32>
    // expected-error @below {{takes bytes 64 to 96 of the arena, which are not planned for call 1}}
    exec.call @ingot_copy(from = %1, to = %2) <bytes = 32> : memref<8xf32>, memref<8xf32>
  }
}

// -----

module attributes {exec.state_bytes = 64 : i64} {
  ingot.state parameter @w : tensor<4xf32> = dense<0.0> : tensor<4xf32> {exec.offset = 0 : i64}
  exec.step @train_step attributes {arena_bytes = 192 : i64,
      inputs = [#exec.value<name = "x", kind = "data", type = tensor<8xf32>, offset = 0>], outputs = [#exec.value<name = "y", kind = "output", type = tensor<8xf32>, offset = 128>],
      intervals = [#exec.interval<kind = "input", offset = 0, bytes = 32, first = 0, last = 0>,
                   #exec.interval<kind = "activation", offset = 64, bytes = 32, first = 0, last = 1>,
                   #exec.interval<kind = "output", offset = 128, bytes = 32, first = 1, last = 2>],
      memory = #exec.memory<peak = 256, weights = 64, optimizer = 0, gradient = 0, activation = 192, workspace = 0, communication = 0>} {
    %0 = exec.buffer arena 0 : memref<8xf32>
    %1 = exec.buffer arena 64 : memref<8xf32>
    %2 = exec.buffer arena 128 : memref<8xf32>
    // expected-error @below {{takes bytes 0 to 64 of the arena, which are not planned for call 0}}
    exec.call @ingot_copy(from = %0, to = %1) <bytes = 32> {scratch = #exec.scratch<64 at 0>} : memref<8xf32>, memref<8xf32>
    exec.call @ingot_copy(from = %1, to = %2) <bytes = 32> : memref<8xf32>, memref<8xf32>
  }
}

// -----

module attributes {exec.state_bytes = 64 : i64} {
  ingot.state parameter @w : tensor<4xf32> = dense<0.0> : tensor<4xf32> {exec.offset = 0 : i64}
  // expected-error @below {{has 'x' in memory that is not planned for it}}
  exec.step @train_step attributes {arena_bytes = 192 : i64,
      inputs = [#exec.value<name = "x", kind = "data", type = tensor<8xf32>, offset = 128>], outputs = [#exec.value<name = "y", kind = "output", type = tensor<8xf32>, offset = 128>],
      intervals = [#exec.interval<kind = "input", offset = 0, bytes = 32, first = 0, last = 0>,
                   #exec.interval<kind = "activation", offset = 64, bytes = 32, first = 0, last = 1>,
                   #exec.interval<kind = "output", offset = 128, bytes = 32, first = 1, last = 2>],
      memory = #exec.memory<peak = 256, weights = 64, optimizer = 0, gradient = 0, activation = 192, workspace = 0, communication = 0>} {
    %0 = exec.buffer arena 0 : memref<8xf32>
    %1 = exec.buffer arena 64 : memref<8xf32>
    %2 = exec.buffer arena 128 : memref<8xf32>
    exec.call @ingot_copy(from = %0, to = %1) <bytes = 32> : memref<8xf32>, memref<8xf32>
    exec.call @ingot_copy(from = %1, to = %2) <bytes = 32> : memref<8xf32>, memref<8xf32>
  }
}

// -----

module attributes {exec.state_bytes = 64 : i64} {
  ingot.state parameter @w : tensor<4xf32> = dense<0.0> : tensor<4xf32> {exec.offset = 0 : i64}
  // expected-error @below {{has 'y' in memory that is not planned for it}}
  exec.step @train_step attributes {arena_bytes = 192 : i64,
      inputs = [#exec.value<name = "x", kind = "data", type = tensor<8xf32>, offset = 0>], outputs = [#exec.value<name = "y", kind = "output", type = tensor<8xf32>, offset = 128>],
      intervals = [#exec.interval<kind = "input", offset = 0, bytes = 32, first = 0, last = 0>,
                   #exec.interval<kind = "activation", offset = 64, bytes = 32, first = 0, last = 1>,
                   #exec.interval<kind = "output", offset = 128, bytes = 32, first = 1, last = 1>],
      memory = #exec.memory<peak = 256, weights = 64, optimizer = 0, gradient = 0, activation = 192, workspace = 0, communication = 0>} {
    %0 = exec.buffer arena 0 : memref<8xf32>
    %1 = exec.buffer arena 64 : memref<8xf32>
    %2 = exec.buffer arena 128 : memref<8xf32>
    exec.call @ingot_copy(from = %0, to = %1) <bytes = 32> : memref<8xf32>, memref<8xf32>
    exec.call @ingot_copy(from = %1, to = %2) <bytes = 32> : memref<8xf32>, memref<8xf32>
  }
}

// -----

module attributes {exec.state_bytes = 64 : i64} {
  ingot.state parameter @w : tensor<4xf32> = dense<0.0> : tensor<4xf32> {exec.offset = 0 : i64}
  exec.step @train_step attributes {arena_bytes = 192 : i64,
      inputs = [#exec.value<name = "x", kind = "data", type = tensor<8xf32>, offset = 0>], outputs = [#exec.value<name = "y", kind = "output", type = tensor<8xf32>, offset = 128>],
      intervals = [#exec.interval<kind = "input", offset = 0, bytes = 32, first = 0, last = 0>,
                   #exec.interval<kind = "activation", offset = 64, bytes = 32, first = 0, last = 1>,
                   #exec.interval<kind = "output", offset = 128, bytes = 32, first = 1, last = 2>],
      memory = #exec.memory<peak = 256, weights = 64, optimizer = 0, gradient = 0, activation = 192, workspace = 0, communication = 0>} {
    // expected-error @below {{ends at 96, behind the state block of 64}}
    %0 = exec.buffer state 64 : memref<8xf32>
    %1 = exec.buffer arena 64 : memref<8xf32>
    %2 = exec.buffer arena 128 : memref<8xf32>
    exec.call @ingot_copy(from = %0, to = %1) <bytes = 32> : memref<8xf32>, memref<8xf32>
    exec.call @ingot_copy(from = %1, to = %2) <bytes = 32> : memref<8xf32>, memref<8xf32>
  }
}

// -----

module attributes {exec.state_bytes = 64 : i64} {
  ingot.state parameter @w : tensor<4xf32> = dense<0.0> : tensor<4xf32> {exec.offset = 0 : i64}
  exec.step @train_step attributes {arena_bytes = 192 : i64,
      inputs = [#exec.value<name = "x", kind = "data", type = tensor<8xf32>, offset = 0>], outputs = [#exec.value<name = "y", kind = "output", type = tensor<8xf32>, offset = 128>],
      intervals = [#exec.interval<kind = "input", offset = 0, bytes = 32, first = 0, last = 0>,
                   #exec.interval<kind = "activation", offset = 64, bytes = 32, first = 0, last = 1>,
                   #exec.interval<kind = "output", offset = 128, bytes = 32, first = 1, last = 2>],
      memory = #exec.memory<peak = 256, weights = 64, optimizer = 0, gradient = 0, activation = 192, workspace = 0, communication = 0>} {
    %0 = exec.buffer arena 0 : memref<8xf32>
    %1 = exec.buffer arena 64 : memref<8xf32>
    %2 = exec.buffer arena 128 : memref<8xf32>
    exec.call @ingot_copy(from = %0, to = %1) <bytes = 32> : memref<8xf32>, memref<8xf32>
    exec.call @ingot_copy(from = %1, to = %2) <bytes = 32> : memref<8xf32>, memref<8xf32>
    // expected-error @below {{is no call of the runtime}}
    %3 = arith.constant 0 : i64
  }
}

// -----

// A copy in a loop is one call; its buffers are planned for all iterations.
module attributes {exec.state_bytes = 0 : i64} {
  exec.step @train_step attributes {arena_bytes = 512 : i64,
      intervals = [#exec.interval<kind = "input", offset = 0, bytes = 256, first = 0, last = 0>,
                   #exec.interval<kind = "output", offset = 256, bytes = 256, first = 0, last = 1>],
      memory = #exec.memory<peak = 512, weights = 0, optimizer = 0, gradient = 0, activation = 512, workspace = 0, communication = 0>} {
    exec.repeat 4 {
      %0 = exec.buffer arena 0 by [64] : memref<8xf32>
      %1 = exec.buffer arena 448 by [-64] : memref<8xf32>
      exec.call @ingot_copy(from = %0, to = %1) <bytes = 32> : memref<8xf32>, memref<8xf32>
    }
  }
}

// -----

// One more iteration than is planned.
module attributes {exec.state_bytes = 0 : i64} {
  exec.step @train_step attributes {arena_bytes = 512 : i64,
      intervals = [#exec.interval<kind = "input", offset = 0, bytes = 256, first = 0, last = 0>,
                   #exec.interval<kind = "output", offset = 256, bytes = 256, first = 0, last = 1>],
      memory = #exec.memory<peak = 512, weights = 0, optimizer = 0, gradient = 0, activation = 512, workspace = 0, communication = 0>} {
    exec.repeat 5 {
      %0 = exec.buffer arena 0 by [64] : memref<8xf32>
      %1 = exec.buffer arena 448 by [-64] : memref<8xf32>
      // expected-error @+1 {{takes bytes 0 to 288 of the arena, which are not planned for call 0}}
      exec.call @ingot_copy(from = %0, to = %1) <bytes = 32> : memref<8xf32>, memref<8xf32>
    }
  }
}

// -----

// The range behind a block of 64 bytes begins at 65536.
module attributes {exec.state_bytes = 64 : i64, exec.mapped_bytes = 64 : i64} {
  ingot.state frozen @w : tensor<4xf32> = dense<0.0> : tensor<4xf32> {exec.home = "mapped", exec.offset = 65536 : i64}
  ingot.state frozen @v : tensor<4xf32> = dense<0.0> : tensor<4xf32> {exec.home = "file"}
}

// -----

module attributes {exec.state_bytes = 64 : i64, exec.mapped_bytes = 64 : i64} {
  // expected-error @below {{is at 0, outside of the mapped range from 65536 to 65600}}
  ingot.state frozen @w : tensor<4xf32> = dense<0.0> : tensor<4xf32> {exec.home = "mapped", exec.offset = 0 : i64}
}

// -----

module attributes {exec.state_bytes = 64 : i64, exec.mapped_bytes = 64 : i64} {
  exec.step @train_step attributes {arena_bytes = 0 : i64,
      memory = #exec.memory<peak = 64, weights = 64, optimizer = 0, gradient = 0, activation = 0, workspace = 0, communication = 0>} {
    %0 = exec.buffer state 65536 : memref<8xf32>
    // expected-error @below {{ends at 65632, behind the state block of 64}}
    %1 = exec.buffer state 65600 : memref<8xf32>
  }
}
