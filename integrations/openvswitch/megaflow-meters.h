/* SPDX-License-Identifier: Apache-2.0
 *
 * The meters of the bridges, which the router gets too. Any thread may call the functions. They return 0 or a positive
 * errno. */
#ifndef PENUMBRA_MEGAFLOW_METERS_H
#define PENUMBRA_MEGAFLOW_METERS_H 1

#include "openvswitch/ofp-meter.h"

/* The callbacks of a flow offload provider. */
int megaflow_meter_set(ofproto_meter_id, struct ofputil_meter_config*);
int megaflow_meter_get(ofproto_meter_id, struct ofputil_meter_stats*);
int megaflow_meter_del(ofproto_meter_id, struct ofputil_meter_stats*);

/* Gives all meters to a router that has none. */
void megaflow_meters_send_again(void);

#endif
