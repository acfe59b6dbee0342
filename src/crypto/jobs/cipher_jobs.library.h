// SPDX-License-Identifier: Apache-2.0
//
// The library form of cipher_jobs.shader.h: libipsec-mb, called directly.
#pragma once

#include <cstdint>

#include "crypto/jobs/cipher_jobs.shader.h"

namespace penumbra {

/// Does what cipher_jobs() does. Each thread has a manager of the library, made by its first call. If the operating
/// system refuses the locked memory for it, the calls run cipher_jobs().
void cipher_jobs_by_library(cipher_jobs_view view, const cipher_job* job, penumbra_source source,
                            penumbra_destination destination, std::uint8_t* status, std::uint32_t n);

}  // namespace penumbra
