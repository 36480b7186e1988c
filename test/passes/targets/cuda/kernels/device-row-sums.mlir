// Tests sums over the rows of row kernels on a device against the interpreter: rows of one warp and of several, rows
// that do not fill the threads, and numbers of rows that blocks do not share equally.
// RUN: %arrays make %t.in.npz arr_0=4096x96 arr_1=4096x96 arr_2=5000x333 arr_3=5000x333 arr_4=4099x520 arr_5=4099x520
// RUN: ingot-eval %s --inputs %t.in.npz --outputs %t.expected.npz
// RUN: ingot-eval %s --inputs %t.in.npz --outputs %t.got.npz --emulate
// RUN: %arrays compare --rtol 2e-5 --atol 1e-3 --count 9 %t.expected.npz %t.got.npz

func.func @sums(%xa: tensor<4096x96xf32> {ingot.name = "arr_0"},
                %ga: tensor<4096x96xf32> {ingot.name = "arr_1"},
                %xb: tensor<5000x333xf32> {ingot.name = "arr_2"},
                %gb: tensor<5000x333xf32> {ingot.name = "arr_3"},
                %xc: tensor<4099x520xf32> {ingot.name = "arr_4"},
                %gc: tensor<4099x520xf32> {ingot.name = "arr_5"})
    -> (tensor<4096x96xf32> {ingot.name = "a_rows"},
        tensor<96xf32> {ingot.name = "a_sums"},
        tensor<96xf32> {ingot.name = "a_largest"},
        tensor<5000x333xf32> {ingot.name = "b_rows"},
        tensor<333xf32> {ingot.name = "b_sums"},
        tensor<333xf32> {ingot.name = "b_largest"},
        tensor<4099x520xf32> {ingot.name = "c_rows"},
        tensor<520xf32> {ingot.name = "c_sums"},
        tensor<520xf32> {ingot.name = "c_largest"}) {
  %a0 = ingot.mul %xa, %ga : tensor<4096x96xf32>
  %a1 = ingot.reduce sum %a0 dims = [1] : (tensor<4096x96xf32>) -> tensor<4096xf32>
  %a2 = ingot.broadcast %a1 dims = [0] : tensor<4096xf32> -> tensor<4096x96xf32>
  %a3 = ingot.sub %ga, %a2 : tensor<4096x96xf32>
  %a4 = ingot.reduce sum %a0 dims = [0] : (tensor<4096x96xf32>) -> tensor<96xf32>
  %a5 = ingot.reduce max %ga dims = [0] : (tensor<4096x96xf32>) -> tensor<96xf32>
  %b0 = ingot.mul %xb, %gb : tensor<5000x333xf32>
  %b1 = ingot.reduce sum %b0 dims = [1] : (tensor<5000x333xf32>) -> tensor<5000xf32>
  %b2 = ingot.broadcast %b1 dims = [0] : tensor<5000xf32> -> tensor<5000x333xf32>
  %b3 = ingot.sub %gb, %b2 : tensor<5000x333xf32>
  %b4 = ingot.reduce sum %b0 dims = [0] : (tensor<5000x333xf32>) -> tensor<333xf32>
  %b5 = ingot.reduce max %gb dims = [0] : (tensor<5000x333xf32>) -> tensor<333xf32>
  %c0 = ingot.mul %xc, %gc : tensor<4099x520xf32>
  %c1 = ingot.reduce sum %c0 dims = [1] : (tensor<4099x520xf32>) -> tensor<4099xf32>
  %c2 = ingot.broadcast %c1 dims = [0] : tensor<4099xf32> -> tensor<4099x520xf32>
  %c3 = ingot.sub %gc, %c2 : tensor<4099x520xf32>
  %c4 = ingot.reduce sum %c0 dims = [0] : (tensor<4099x520xf32>) -> tensor<520xf32>
  %c5 = ingot.reduce max %gc dims = [0] : (tensor<4099x520xf32>) -> tensor<520xf32>
  return %a3, %a4, %a5, %b3, %b4, %b5, %c3, %c4, %c5 : tensor<4096x96xf32>, tensor<96xf32>, tensor<96xf32>, tensor<5000x333xf32>, tensor<333xf32>, tensor<333xf32>, tensor<4099x520xf32>, tensor<520xf32>, tensor<520xf32>
}
