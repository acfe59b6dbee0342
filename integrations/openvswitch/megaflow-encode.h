/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PENUMBRA_MEGAFLOW_ENCODE_H
#define PENUMBRA_MEGAFLOW_ENCODE_H 1

#include <stddef.h>

#include "functions/megaflows/wire.h"
#include "openvswitch/types.h"

struct match;
struct nlattr;

/* A request MEGAFLOWS_ADD. */
struct megaflow_add {
  size_t bytes;
  uint64_t message[MEGAFLOWS_MOST_BYTES / 8];
};

/* Maps the number of a port of the datapath to its id (megaflow-ports.h), 0 if the router does not have the port. */
typedef uint32_t megaflow_port_of(odp_port_t, const void* aux);

/* Writes the request for a megaflow, with ids of ports. Returns EOPNOTSUPP if the router cannot express the match or
 * the actions. */
int megaflow_encode(const struct match*, const struct nlattr* actions, size_t actions_len, const ovs_u128* ufid,
                    megaflow_port_of*, const void* aux, struct megaflow_add*);

#endif
