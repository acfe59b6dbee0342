/* SPDX-License-Identifier: Apache-2.0
 *
 * Echo (G-Opt, NSDI 2015, section 4): the egress port is an integer of the payload modulo the number of ports. */
#ifndef PENUMBRA_SHADERS_ECHO_H
#define PENUMBRA_SHADERS_ECHO_H

#include "penumbra/shader.h"

struct echo_view {
  uint32_t ports; /* at least 1 */
};

PENUMBRA_SHADER void echo_port(struct echo_view view, const uint32_t* integer, uint16_t* port, uint32_t n) {
  foreach (i, n) {
    port[i] = (uint16_t)(integer[i] % view.ports);
  }
}

#endif
