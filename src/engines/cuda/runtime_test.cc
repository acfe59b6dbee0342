// SPDX-License-Identifier: Apache-2.0
//
// Tests the text for CUDA errors, and the decision if a retry is useful. Needs no GPU.
#include "cuda/runtime.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace penumbra::cuda {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(CudaRuntime, SaysWhyThereIsNoGpu) {
  EXPECT_THAT(why_there_is_none(cudaErrorInsufficientDriver, 0), HasSubstr("no NVIDIA driver, or one too old"));
  EXPECT_THAT(why_there_is_none(cudaErrorNoDevice, 0), HasSubstr("shows no GPU to this process"));
  EXPECT_THAT(why_there_is_none(cudaSuccess, 0), HasSubstr("shows no GPU to this process"));
  EXPECT_THAT(why_there_is_none(cudaErrorSystemDriverMismatch, 0), HasSubstr("the NVIDIA driver says: "));
  EXPECT_EQ(why_there_is_none(cudaSuccess, 1), "");
}

TEST(CudaRuntime, SaysWhatAnOlderGpuLacks) {
  cudaDeviceProp gpu{};
  std::strcpy(gpu.name, "T4");
  gpu.major = 7;
  gpu.minor = 5;
  EXPECT_FALSE(serves(gpu));
  EXPECT_EQ(description_of(gpu), "T4, compute capability 7.5; 8.0 or newer is needed");
  gpu.major = 8;
  gpu.minor = 0;
  EXPECT_TRUE(serves(gpu));
  EXPECT_EQ(description_of(gpu), "T4, compute capability 8.0");
}

TEST(CudaRuntime, TellsABrokenContextFromWhatMayPass) {
  const auto failure = [](cudaError_t error) {
    try {
      check(error, "launching");
    } catch (const DeviceError& failed) {
      return failed;
    }
    return DeviceError("nothing failed", false);
  };
  for (const cudaError_t error :
       {cudaErrorIllegalAddress, cudaErrorLaunchTimeout, cudaErrorLaunchFailure, cudaErrorECCUncorrectable,
        cudaErrorIllegalInstruction, cudaErrorContextIsDestroyed, cudaErrorAssert, cudaErrorContained,
        cudaErrorTensorMemoryLeak, cudaErrorExternalDevice}) {
    EXPECT_TRUE(failure(error).is_final()) << cudaGetErrorName(error);
    EXPECT_THAT(failure(error).what(), HasSubstr(cudaGetErrorName(error)));
    EXPECT_THAT(failure(error).what(), HasSubstr("launching: "));
    EXPECT_THAT(failure(error).what(), HasSubstr("has to be restarted"));
  }
  for (const cudaError_t error : {cudaErrorMemoryAllocation, cudaErrorLaunchOutOfResources, cudaErrorNoDevice}) {
    EXPECT_FALSE(failure(error).is_final()) << cudaGetErrorName(error);
    EXPECT_THAT(failure(error).what(), Not(HasSubstr("restarted")));
  }
  EXPECT_STREQ(failure(cudaSuccess).what(), "nothing failed");
}

}  // namespace
}  // namespace penumbra::cuda
