// RUN: ingot-opt %s -split-input-file -verify-diagnostics
// Attributes of modules: rule F8 of docs/spec/structure.md.

// expected-error @+1 {{F8: ingot.loss must be a string, got 1 : i64}}
module attributes {ingot.loss = 1 : i64} {}

// -----

// expected-error @+1 {{F8: ingot.optimizer must be a string, got unit}}
module attributes {ingot.optimizer} {}

// -----

// expected-error @+1 {{F8: ingot.batch must be a positive integer, got 0 : i64}}
module attributes {ingot.batch = 0 : i64} {}

// -----

// expected-error @+1 {{F8: ingot.grad_accumulation must be a positive integer, got "two"}}
module attributes {ingot.grad_accumulation = "two"} {}

// -----

// expected-error @+1 {{F8: ingot.metrics must be an array of strings, got ["top5", 1]}}
module attributes {ingot.metrics = ["top5", 1 : i64]} {}

// -----

// expected-error @+1 {{F8: ingot.variants must be different names, got "seq=8" twice}}
module attributes {ingot.variants = ["seq=8", "seq=8"]} {}

// -----

// expected-error @+1 {{F8: ingot.batches must be an array of positive integers, got array<i64: 2, 0>}}
module attributes {ingot.variants = ["a", "b"], ingot.batches = array<i64: 2, 0>} {}

// -----

// expected-error @+1 {{F8: ingot.batches must be one number for each of ingot.variants, got array<i64: 2>}}
module attributes {ingot.variants = ["a", "b"], ingot.batches = array<i64: 2>} {}

// -----

// expected-error @+1 {{F8: ingot.hyperparameters must be an array of {name = string, default = float} with different names}}
module attributes {ingot.hyperparameters = [{name = "lr"}]} {}

// -----

// expected-error @+1 {{F8: ingot.hyperparameters must be an array of {name = string, default = float} with different names}}
module attributes {ingot.hyperparameters = [{name = "lr", default = 1.0}, {name = "lr", default = 2.0}]} {}

// -----

// expected-error @+1 {{F8: ingot.loss_terms must be an array of #ingot.loss_term, got []}}
module attributes {ingot.loss_terms = []} {}

// -----

// expected-error @+1 {{a term must have labels, or the output that is the loss of a whole batch}}
module attributes {ingot.loss_terms = [#ingot.loss_term<kind = "mse">]} {}

// -----

// expected-error @+1 {{a term must have labels, or the output that is the loss of a whole batch}}
module attributes {ingot.loss_terms = [#ingot.loss_term<kind = "output", output = "y", labels = "labels", whole_batch = true>]} {}

// -----

// expected-error @+1 {{the axis 0 of classes must be one of labels that are classes, after that of the samples}}
module attributes {ingot.loss_terms = [#ingot.loss_term<kind = "nll", labels = "labels", class_axis = 0>]} {}

// -----

// expected-error @+1 {{'func.func' op F8: ingot.loss belongs to a module}}
func.func @f() attributes {ingot.loss = "mse"} {
  return
}

// -----

// What is right is accepted, and printed as it was read.
module attributes {
    ingot.batch = 4 : i64, ingot.batches = array<i64: 4, 2>,
    ingot.hyperparameters = [{name = "lr", default = 1.0e-3}], ingot.loss = "2*nll:1@y+output:z",
    ingot.loss_terms = [
        #ingot.loss_term<kind = "nll", factor = 2.0 : f64, output = "y", labels = "labels_y", class_axis = 1>,
        #ingot.loss_term<kind = "output", output = "z", whole_batch = true>],
    ingot.metrics = [], ingot.variants = ["a", "b"]} {}
