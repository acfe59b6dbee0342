/* SPDX-License-Identifier: Apache-2.0
 *
 * An IPv6 address as a column of a shader holds it, in the common subset of penumbra/shader.h. Host byte order, as
 * Ipv6Address (penumbra/ip.h) has it: 2001:db8::1 is {0x20010DB800000000, 1}. Who reads it from a packet turns it round
 * once; every lookup then shifts and compares whole words, and no engine loads single bytes. */
#ifndef PENUMBRA_IPV6_ADDRESS_H
#define PENUMBRA_IPV6_ADDRESS_H

#include "penumbra/shader.h"

struct ipv6_address {
  uint64_t high;
  uint64_t low;
};

#endif
