// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Threads beside the one that trains.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CORE_MACHINE_THREADS_H
#define INGOT_RUNTIME_CORE_MACHINE_THREADS_H

#include <functional>
#include <thread>

namespace ingot::runtime {

class Error;

/// Starts a thread, which signals are not for. Returns false if the system has
/// no more threads: the caller then does the work itself, or without it.
bool startThread(std::thread &thread, std::function<void()> body);

/// The error of a program that needs a thread which the system does not have.
Error lackOfThreads();

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CORE_MACHINE_THREADS_H
