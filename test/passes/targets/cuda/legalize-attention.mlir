// RUN: ingot-opt %s --ingot-legalize-attention | FileCheck %s
// RUN: ingot-opt %s --ingot-legalize-attention --remarks-filter=".*legalize-attention" --remark-format=emitRemark 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// A mask becomes a bias so low that weights are 0, and a query that attends to no key has the result 0.
// CHECK-LABEL: func @mask
// CHECK-SAME:    %[[MASK:arg[0-9]+]]: tensor<2x1x8x8xi1>
// CHECK:       %[[ZERO:.*]] = ingot.constant dense<0.000000e+00> : tensor<2x1x8x8xf32>
// CHECK:       %[[LOW:.*]] = ingot.constant dense<0xCB800000> : tensor<2x1x8x8xf32>
// CHECK:       %[[BIAS:.*]] = ingot.select %[[MASK]], %[[ZERO]], %[[LOW]]
// CHECK:       ingot.compare gt
// CHECK:       %[[ALL:.*]], %{{.*}} = ingot.attention %{{.*}}, %{{.*}}, %{{.*}} bias %[[BIAS]] {scale
// CHECK:       %[[R:.*]] = ingot.select %{{.*}}, %[[ALL]], %{{.*}} : tensor<2x8x2x16xi1>
// CHECK-NEXT:  return %[[R]]
func.func @mask(%q: tensor<2x8x2x16xbf16>, %m: tensor<2x1x8x8xi1>) -> tensor<2x8x2x16xbf16> {
  %r, %l = ingot.attention %q, %q, %q mask %m {scale = 0.25 : f64} : (tensor<2x8x2x16xbf16>, tensor<2x8x2x16xbf16>, tensor<2x8x2x16xbf16>, tensor<2x1x8x8xi1>) -> (tensor<2x8x2x16xbf16>, tensor<2x2x8xf32>)
  return %r : tensor<2x8x2x16xbf16>
}
// A mask that queries share becomes a bias of each query.
// CHECK-LABEL: func @shared
// CHECK:       %[[LOW:.*]] = ingot.select %{{.*}} : tensor<2x1x1x8xi1>, tensor<2x1x1x8xf32>
// CHECK:       %[[BIAS:.*]] = ingot.broadcast %[[LOW]] {{.*}} -> tensor<2x1x8x8xf32>
// CHECK:       ingot.attention %{{.*}}, %{{.*}}, %{{.*}} bias %[[BIAS]] {scale
func.func @shared(%q: tensor<2x8x2x16xbf16>, %m: tensor<2x1x1x8xi1>) -> tensor<2x8x2x16xbf16> {
  %r, %l = ingot.attention %q, %q, %q mask %m {scale = 0.25 : f64} : (tensor<2x8x2x16xbf16>, tensor<2x8x2x16xbf16>, tensor<2x8x2x16xbf16>, tensor<2x1x1x8xi1>) -> (tensor<2x8x2x16xbf16>, tensor<2x2x8xf32>)
  return %r : tensor<2x8x2x16xbf16>
}
// Nothing is rewritten without a mask, bias, lengths or dropout.
// CHECK-LABEL: func @plain
// CHECK-NEXT:  %[[R:.*]], %{{.*}} = ingot.attention %{{.*}}, %{{.*}}, %{{.*}} {right = 0 : i64, scale = 2.500000e-01 : f64}
// CHECK-NEXT:  return %[[R]]
func.func @plain(%q: tensor<2x8x2x16xbf16>) -> tensor<2x8x2x16xbf16> {
  %r, %l = ingot.attention %q, %q, %q {right = 0 : i64, scale = 0.25 : f64} : (tensor<2x8x2x16xbf16>, tensor<2x8x2x16xbf16>, tensor<2x8x2x16xbf16>) -> (tensor<2x8x2x16xbf16>, tensor<2x2x8xf32>)
  return %r : tensor<2x8x2x16xbf16>
}
// Lengths of 0 become 1, and results of samples without keys 0.
// CHECK-LABEL: func @lengths
// CHECK:       %[[LENGTHS:.*]] = ingot.max %{{.*}}, %{{.*}} : tensor<2xi32>
// CHECK:       %[[ALL:.*]], %{{.*}} = ingot.attention %{{.*}}, %{{.*}}, %{{.*}} lengths %[[LENGTHS]] {scale
// CHECK:       ingot.select %{{.*}}, %[[ALL]], %{{.*}} : tensor<2x8x2x16xi1>
func.func @lengths(%q: tensor<2x8x2x16xbf16>, %n: tensor<2xi32>) -> tensor<2x8x2x16xbf16> {
  %r, %l = ingot.attention %q, %q, %q lengths %n {scale = 0.25 : f64} : (tensor<2x8x2x16xbf16>, tensor<2x8x2x16xbf16>, tensor<2x8x2x16xbf16>, tensor<2xi32>) -> (tensor<2x8x2x16xbf16>, tensor<2x2x8xf32>)
  return %r : tensor<2x8x2x16xbf16>
}
// The library's generator gets a seed that is drawn for each attention and step.
// CHECK-LABEL: func @dropout
// CHECK:       ingot.random_uniform %{{.*}}, %[[STEP:arg[0-9]+]] stream = 3 {{.*}} -> tensor<2xf64>
// CHECK:       %[[SEED:.*]] = ingot.reshape %{{.*}} : tensor<1xi64> -> tensor<i64>
// CHECK:       ingot.attention %{{.*}}, %{{.*}}, %{{.*}} dropout %[[SEED]], %[[STEP]] {ratio = 2.500000e-01
// REMARK: remark: [Analysis] {{.*}}ratio=2.500000e-01
// REMARK-NOT: remark:
func.func @dropout(%q: tensor<2x8x2x16xbf16>, %seed: tensor<i64>, %step: tensor<i64>) -> tensor<2x8x2x16xbf16> {
  %r, %l = ingot.attention %q, %q, %q dropout %seed, %step {ratio = 0.25 : f64, scale = 0.25 : f64, stream = 3 : i32} : (tensor<2x8x2x16xbf16>, tensor<2x8x2x16xbf16>, tensor<2x8x2x16xbf16>, tensor<i64>, tensor<i64>) -> (tensor<2x8x2x16xbf16>, tensor<2x2x8xf32>)
  return %r : tensor<2x8x2x16xbf16>
}
