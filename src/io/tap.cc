// SPDX-License-Identifier: Apache-2.0
#include "io/tap.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace penumbra::io {
namespace {

constexpr const char* kDevice = "/dev/net/tun";

[[noreturn]] void refuse(const std::string& what, int error) {
  const char* advice = "";
  if (error == EPERM || error == EACCES) advice = "; it takes root or CAP_NET_ADMIN";
  if (error == EBUSY) advice = "; another program has this interface";
  if (error == EINVAL) advice = "; is there an interface of this name that is no TAP?";
  if (error == ENOENT || error == ENODEV || error == ENXIO) advice = "; load the kernel's module: modprobe tun";
  throw std::runtime_error(fmt::format("{}: {}{}", what, std::strerror(error), advice));
}

ifreq request_for(const std::string& name) {
  ifreq request{};
  name.copy(request.ifr_name, IFNAMSIZ - 1);
  return request;
}

FileDescriptor control_socket() {
  FileDescriptor control(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!control) refuse("cannot open a socket", errno);
  return control;
}

void ask(const FileDescriptor& control, unsigned long what, ifreq& request, const char* step) {
  if (ioctl(control.get(), what, &request) != 0) refuse(fmt::format("{}: cannot {}", request.ifr_name, step), errno);
}

}  // namespace

Tap::Tap(const std::string& name, MacAddress mac, std::uint16_t mtu)
    : name_(name), descriptor_(open(kDevice, O_RDWR | O_NONBLOCK | O_CLOEXEC)) {
  if (!descriptor_) refuse(fmt::format("cannot open {}", kDevice), errno);
  take();
  set(mac, mtu);
}

void Tap::take() {
  ifreq request = request_for(name_);
  request.ifr_flags = IFF_TAP | IFF_NO_PI;
  if (ioctl(descriptor_.get(), TUNSETIFF, &request) != 0) refuse(fmt::format("cannot make the TAP '{}'", name_), errno);
}

void Tap::set(MacAddress mac, std::uint16_t mtu) {
  const FileDescriptor control = control_socket();
  ifreq request = request_for(name_);
  ask(control, SIOCGIFHWADDR, request, "ask for its MAC address");
  std::array<char, 6> bytes;
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(mac.value >> (40 - 8 * i));
  // Setting the address would delete the interface's neighbours, including manually added ones.
  if (!std::equal(bytes.begin(), bytes.end(), request.ifr_hwaddr.sa_data)) {
    request.ifr_hwaddr.sa_family = ARPHRD_ETHER;
    std::ranges::copy(bytes, request.ifr_hwaddr.sa_data);
    ask(control, SIOCSIFHWADDR, request, "set its MAC address");
  }
  request = request_for(name_);
  request.ifr_mtu = mtu;
  ask(control, SIOCSIFMTU, request, "set its MTU");
}

void Tap::bring_up() {
  const FileDescriptor control = control_socket();
  ifreq request = request_for(name_);
  ask(control, SIOCGIFFLAGS, request, "ask for its flags");
  request.ifr_flags = static_cast<short>(request.ifr_flags | IFF_UP);
  ask(control, SIOCSIFFLAGS, request, "bring it up");
}

void Tap::set_carrier(bool up) noexcept {
  if (up == carrier_) return;
  int state = up ? 1 : 0;
  if (ioctl(descriptor_.get(), TUNSETCARRIER, &state) == 0) carrier_ = up;
}

bool Tap::write(std::span<const std::uint8_t> frame) noexcept {
  if (::write(descriptor_.get(), frame.data(), frame.size()) == static_cast<ssize_t>(frame.size())) return true;
  if (errno == EBADFD) gone_ = true;
  return false;
}

std::optional<std::size_t> Tap::read(std::span<std::uint8_t> room) noexcept {
  const ssize_t bytes = ::read(descriptor_.get(), room.data(), room.size());
  if (bytes > 0) return static_cast<std::size_t>(bytes);
  if (bytes < 0 && errno == EBADFD) gone_ = true;
  return std::nullopt;
}

}  // namespace penumbra::io
