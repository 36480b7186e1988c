// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Stream sockets over IPv4 and IPv6, which do not block.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_COMM_TCP_SOCKET_H
#define INGOT_RUNTIME_COMM_TCP_SOCKET_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <sys/socket.h>
#include <utility>
#include <vector>

namespace ingot::runtime {

/// The address of a host, with a port.
class Address {
public:
  /// The form in which ranks tell each other addresses: that of IPv6, in which
  /// those of IPv4 have a place.
  using Bytes = std::array<unsigned char, 16>;

  Address() = default;
  Address(const Bytes &bytes, uint16_t port);
  explicit Address(const sockaddr_storage &storage) : storage(storage) {}

  /// Returns the addresses of a name, or none and what is wrong with it.
  static std::vector<Address> resolve(const std::string &host, uint16_t port,
                                      std::string &problem);

  Bytes getBytes() const;
  uint16_t getPort() const;
  Address withPort(uint16_t port) const;
  /// Whether only the host itself can use it.
  bool isLoopback() const;
  std::string str() const;

  const sockaddr *get() const {
    return reinterpret_cast<const sockaddr *>(&storage);
  }
  socklen_t getLength() const;
  int getFamily() const { return storage.ss_family; }

private:
  sockaddr_storage storage{};
};

/// The outcome of a read or a write.
enum class Flow { Moved, Blocked, Closed };

class Socket {
public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor(descriptor) {}
  Socket(Socket &&other) noexcept
      : descriptor(std::exchange(other.descriptor, -1)) {}
  Socket &operator=(Socket &&other) noexcept {
    std::swap(descriptor, other.descriptor);
    return *this;
  }
  ~Socket() { close(); }

  /// Listens at a port of every address of this host, or at any port for 0.
  /// Returns none and the number of the error if the port is taken.
  static Socket listen(uint16_t port, int &error);
  /// Connects within a time, or returns none and what is wrong.
  static Socket connect(const Address &to, int milliseconds,
                        std::string &problem);
  /// Returns the next who connects; none if nobody does.
  Socket accept() const;

  explicit operator bool() const { return descriptor >= 0; }
  int get() const { return descriptor; }
  void close();
  /// The addresses of both ends.
  Address getOwn() const;
  Address getPeer() const;
  /// Sets what connections between ranks have: small messages are sent at once,
  /// and one whose other end is gone ends.
  void tune() const;

  /// Moves bytes as far as possible at once. `count` becomes how many.
  Flow read(void *to, size_t &count) const;
  /// Reads without taking the bytes.
  Flow peek(void *to, size_t &count) const;
  Flow write(const void *from, size_t &count) const;
  /// Writes two pieces, one after the other.
  Flow write(const void *first, size_t firstBytes, const void *second,
             size_t secondBytes, size_t &count) const;

private:
  int descriptor = -1;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_COMM_TCP_SOCKET_H
