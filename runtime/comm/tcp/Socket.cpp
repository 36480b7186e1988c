// SPDX-License-Identifier: Apache-2.0

#include "runtime/comm/tcp/Socket.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/uio.h>
#include <unistd.h>

using namespace ingot::runtime;

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

/// The first bytes of an address of IPv4 in the form of IPv6.
static constexpr unsigned char kMapped[12] = {0, 0, 0, 0, 0,    0,
                                              0, 0, 0, 0, 0xff, 0xff};

static const sockaddr_in &asIPv4(const sockaddr_storage &storage) {
  return reinterpret_cast<const sockaddr_in &>(storage);
}

static const sockaddr_in6 &asIPv6(const sockaddr_storage &storage) {
  return reinterpret_cast<const sockaddr_in6 &>(storage);
}

Address::Address(const Bytes &bytes, uint16_t port) {
  if (std::equal(std::begin(kMapped), std::end(kMapped), bytes.begin())) {
    auto &address = reinterpret_cast<sockaddr_in &>(storage);
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    std::memcpy(&address.sin_addr, &bytes[sizeof(kMapped)], 4);
    return;
  }
  auto &address = reinterpret_cast<sockaddr_in6 &>(storage);
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(port);
  std::memcpy(&address.sin6_addr, bytes.data(), bytes.size());
}

std::vector<Address> Address::resolve(const std::string &host, uint16_t port,
                                      std::string &problem) {
  addrinfo wanted{}, *found = nullptr;
  wanted.ai_socktype = SOCK_STREAM;
  std::vector<Address> addresses;
  int status =
      getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found);
  if (status != 0) {
    problem = gai_strerror(status);
    return addresses;
  }
  for (addrinfo *each = found; each; each = each->ai_next) {
    sockaddr_storage storage{};
    std::memcpy(&storage, each->ai_addr,
                std::min<size_t>(each->ai_addrlen, sizeof(storage)));
    if (storage.ss_family == AF_INET || storage.ss_family == AF_INET6)
      addresses.emplace_back(storage);
  }
  freeaddrinfo(found);
  return addresses;
}

Address::Bytes Address::getBytes() const {
  Bytes bytes{};
  if (getFamily() == AF_INET6) {
    std::memcpy(bytes.data(), &asIPv6(storage).sin6_addr, bytes.size());
    return bytes;
  }
  std::copy(std::begin(kMapped), std::end(kMapped), bytes.begin());
  std::memcpy(&bytes[sizeof(kMapped)], &asIPv4(storage).sin_addr, 4);
  return bytes;
}

uint16_t Address::getPort() const {
  return ntohs(getFamily() == AF_INET6 ? asIPv6(storage).sin6_port
                                       : asIPv4(storage).sin_port);
}

Address Address::withPort(uint16_t port) const {
  sockaddr_storage changed = storage;
  if (getFamily() == AF_INET6)
    reinterpret_cast<sockaddr_in6 &>(changed).sin6_port = htons(port);
  else
    reinterpret_cast<sockaddr_in &>(changed).sin_port = htons(port);
  return Address(changed);
}

bool Address::isLoopback() const {
  Bytes bytes = getBytes();
  if (std::equal(std::begin(kMapped), std::end(kMapped), bytes.begin()))
    return bytes[sizeof(kMapped)] == 127;
  return IN6_IS_ADDR_LOOPBACK(&asIPv6(storage).sin6_addr);
}

socklen_t Address::getLength() const {
  return getFamily() == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
}

std::string Address::str() const {
  char host[NI_MAXHOST] = "?";
  // Those of IPv4 in their usual form.
  Address plain = storage.ss_family == AF_INET6 && asIPv6(storage).sin6_scope_id
                      ? *this
                      : Address(getBytes(), getPort());
  (void)getnameinfo(plain.get(), plain.getLength(), host, sizeof(host), nullptr,
                    0, NI_NUMERICHOST);
  std::string text = host;
  if (text.find(':') != std::string::npos)
    text = "[" + text + "]";
  return text + ":" + std::to_string(getPort());
}

//===----------------------------------------------------------------------===//
// Sockets
//===----------------------------------------------------------------------===//

static constexpr int kKind = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;

static void set(int descriptor, int level, int option, int value) {
  // What a system lacks costs time or comfort only.
  (void)setsockopt(descriptor, level, option, &value, sizeof(value));
}

Socket Socket::listen(uint16_t port, int &error) {
  // One socket for both, where the system has IPv6.
  for (int family : {AF_INET6, AF_INET}) {
    Socket socket(::socket(family, kKind, 0));
    if (!socket) {
      error = errno;
      continue;
    }
    // A run that ended just now still has the port in the system's eyes.
    set(socket.get(), SOL_SOCKET, SO_REUSEADDR, 1);
    if (family == AF_INET6)
      set(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
    sockaddr_storage any{};
    any.ss_family = static_cast<sa_family_t>(family);
    Address address = Address(any).withPort(port);
    if (::bind(socket.get(), address.get(), address.getLength()) == 0 &&
        ::listen(socket.get(), SOMAXCONN) == 0)
      return socket;
    error = errno;
    if (error == EADDRINUSE || error == EACCES)
      break;
  }
  return Socket();
}

Socket Socket::connect(const Address &to, int milliseconds,
                       std::string &problem) {
  Socket socket(::socket(to.getFamily(), kKind, 0));
  int error = 0;
  if (!socket) {
    error = errno;
  } else if (::connect(socket.get(), to.get(), to.getLength()) != 0) {
    error = errno;
    if (error == EINPROGRESS) {
      pollfd ready{socket.get(), POLLOUT, 0};
      error = ETIMEDOUT;
      socklen_t length = sizeof(error);
      if (::poll(&ready, 1, milliseconds) > 0)
        (void)getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length);
    }
  }
  // A port that a system picks for a connection to its own host may be the one
  // that is asked for, which connects a socket with itself.
  if (error == 0 && socket.getOwn().getPort() == to.getPort() &&
      socket.getOwn().getBytes() == to.getBytes())
    error = ECONNREFUSED;
  if (error == 0)
    return socket;
  problem = std::strerror(error);
  return Socket();
}

Socket Socket::accept() const {
  return Socket(
      ::accept4(descriptor, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
}

void Socket::close() {
  if (descriptor >= 0)
    (void)::close(descriptor);
  descriptor = -1;
}

Address Socket::getOwn() const {
  sockaddr_storage storage{};
  socklen_t length = sizeof(storage);
  (void)getsockname(descriptor, reinterpret_cast<sockaddr *>(&storage),
                    &length);
  return Address(storage);
}

Address Socket::getPeer() const {
  sockaddr_storage storage{};
  socklen_t length = sizeof(storage);
  (void)getpeername(descriptor, reinterpret_cast<sockaddr *>(&storage),
                    &length);
  return Address(storage);
}

void Socket::tune() const {
  set(descriptor, IPPROTO_TCP, TCP_NODELAY, 1);
  // Hosts that are gone answer nothing for 30 seconds. A process that is late
  // does: its system answers.
  set(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, 10);
  set(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set(descriptor, IPPROTO_TCP, TCP_KEEPCNT, 4);
}

/// Says what a call that returned `result` bytes did.
static Flow judge(ssize_t result, size_t &count) {
  count = result > 0 ? static_cast<size_t>(result) : 0;
  if (result > 0)
    return Flow::Moved;
  bool isBusy = errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ||
                errno == ENOBUFS || errno == ENOMEM;
  return result < 0 && isBusy ? Flow::Blocked : Flow::Closed;
}

Flow Socket::read(void *to, size_t &count) const {
  return judge(::recv(descriptor, to, count, MSG_DONTWAIT), count);
}

Flow Socket::peek(void *to, size_t &count) const {
  return judge(::recv(descriptor, to, count, MSG_DONTWAIT | MSG_PEEK), count);
}

Flow Socket::write(const void *from, size_t &count) const {
  return judge(::send(descriptor, from, count, MSG_DONTWAIT | MSG_NOSIGNAL),
               count);
}

Flow Socket::write(const void *first, size_t firstBytes, const void *second,
                   size_t secondBytes, size_t &count) const {
  iovec pieces[] = {{const_cast<void *>(first), firstBytes},
                    {const_cast<void *>(second), secondBytes}};
  msghdr message{};
  message.msg_iov = pieces;
  message.msg_iovlen = 2;
  return judge(::sendmsg(descriptor, &message, MSG_DONTWAIT | MSG_NOSIGNAL),
               count);
}
