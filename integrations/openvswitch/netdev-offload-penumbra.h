/* SPDX-License-Identifier: Apache-2.0
 *
 * What dpif-netdev.c of Open vSwitch calls besides the flow offload API. The script `build` inserts the calls. Any
 * thread may call the functions. */
#ifndef PENUMBRA_NETDEV_OFFLOAD_H
#define PENUMBRA_NETDEV_OFFLOAD_H 1

#include "openvswitch/types.h"

/* Removes a megaflow from the router. Its packets go to the switch from then on, and flow_get() returns its final
 * counts. Must be called before the counts of a flow are read for its deletion. */
void netdev_offload_penumbra_stop(const ovs_u128* ufid);

/* Must be called when a flow is removed from the datapath, after its counts were read. */
void netdev_offload_penumbra_removed(const ovs_u128* ufid);

#endif
