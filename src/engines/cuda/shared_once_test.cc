// SPDX-License-Identifier: Apache-2.0
//
// Tests when the driver unregisters memory that several GPUs share, one of which may fail.
#include "cuda/shared_once.h"

#include <gtest/gtest.h>

#include <cstddef>

#include "cuda/device.h"

namespace penumbra::cuda {
namespace {

class CudaSharedOnce : public testing::Test {
 protected:
  void add() { memory_.add(&host_, 1); }

  std::byte host_{};
  int shared_ = 0, unshared_ = 0;
  bool fails_ = false;
  SharedOnce memory_{[this](std::byte*, std::size_t) {
                       if (fails_) throw DeviceError("an injected failure to share", false);
                       ++shared_;
                     },
                     [this](std::byte*) { ++unshared_; }};
};

TEST_F(CudaSharedOnce, GoesBackWithItsLastUser) {
  for (int round = 1; round <= 2; ++round) {
    add();
    add();
    EXPECT_EQ(shared_, round);
    memory_.remove(&host_);
    EXPECT_EQ(unshared_, round - 1);
    memory_.remove(&host_);
    EXPECT_EQ(unshared_, round);
  }
}

TEST_F(CudaSharedOnce, NeverGoesBackIfAGpuIsLostThatHadIt) {
  for (const bool is_lost_first : {true, false}) {
    const int before = shared_;
    add();
    add();
    if (is_lost_first) memory_.forget(&host_);
    memory_.remove(&host_);
    if (!is_lost_first) memory_.forget(&host_);
    EXPECT_EQ(unshared_, 0);
    EXPECT_EQ(shared_, before + 1) << "the driver is asked again, which refuses what lies on the lost GPU's pages";
  }
}

TEST_F(CudaSharedOnce, HasNoUserIfTheDriverRefuses) {
  fails_ = true;
  EXPECT_THROW(add(), DeviceError);
  fails_ = false;
  add();
  memory_.remove(&host_);
  EXPECT_EQ(unshared_, 1);
}

}  // namespace
}  // namespace penumbra::cuda
