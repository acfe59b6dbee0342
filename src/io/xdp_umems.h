// SPDX-License-Identifier: Apache-2.0
//
// Deletes UMEMs (packet memory that the kernel pins) of closed devices. The driver net_af_xdp of DPDK 22.11 does not
// delete them. The interface's queue then stays bound to the UMEM, and no port can be opened on that interface again.
#pragma once

#include <vector>

struct xsk_umem;

namespace penumbra::io {

/// The UMEMs of one device. One thread at a time may use it.
class XdpUmems {
 public:
  XdpUmems() = default;
  XdpUmems(const XdpUmems&) = delete;
  XdpUmems& operator=(const XdpUmems&) = delete;
  ~XdpUmems() = default;

  /// Records the driver's calls on this thread for the device of `umems`, from construction to destruction.
  class Recording {
   public:
    explicit Recording(XdpUmems& umems);
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;
    ~Recording();

   private:
    XdpUmems* const before_;
  };

  void add(xsk_umem* umem) { umems_.push_back(umem); }
  void remove(xsk_umem* umem) { std::erase(umems_, umem); }
  /// Deletes the remaining UMEMs. Call after the device is closed.
  void delete_all() noexcept;

 private:
  std::vector<xsk_umem*> umems_;
};

}  // namespace penumbra::io
