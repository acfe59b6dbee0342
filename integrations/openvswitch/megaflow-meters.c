/* SPDX-License-Identifier: Apache-2.0 */
#include "megaflow-meters.h"

#include <config.h>
#include <errno.h>
#include <string.h>

#include "hash.h"
#include "megaflow-client.h"
#include "openvswitch/hmap.h"
#include "openvswitch/thread.h"
#include "openvswitch/vlog.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(megaflow_meters);

struct counts {
  uint64_t packets, bytes;
};

/* Counts of a meter. */
struct meter_counts {
  struct counts in, bands[MEGAFLOWS_MOST_BANDS];
};

struct meter {
  struct hmap_node node; /* In `meters`, by number. */
  struct {
    struct megaflows_meter head;
    struct megaflows_band bands[MEGAFLOWS_MOST_BANDS];
  } request;
  struct meter_counts last; /* From all routers, as of the last answer. */
  struct meter_counts gone; /* From routers that are gone. */
};

static struct ovs_mutex mutex = OVS_MUTEX_INITIALIZER;
static struct hmap meters OVS_GUARDED_BY(mutex) = HMAP_INITIALIZER(&meters);

static struct meter* find(uint32_t number) OVS_REQUIRES(mutex) {
  struct meter* meter;

  HMAP_FOR_EACH_WITH_HASH(meter, node, hash_int(number, 0), &meters) {
    if (meter->request.head.meter == number) {
      return meter;
    }
  }
  return NULL;
}

static int send_meter(struct meter* meter) OVS_REQUIRES(mutex) {
  size_t bytes = sizeof meter->request.head + meter->request.head.bands * sizeof meter->request.bands[0];
  struct megaflows_reply reply;

  return megaflow_client_ask(&meter->request, bytes, &reply, NULL, 0, 0);
}

/* Reads the counts of a meter, and removes it with MEGAFLOWS_METER_DELETE. */
static int ask_about(struct meter* meter, int type) OVS_REQUIRES(mutex) {
  struct megaflows_request request = {.header.type = type, .ufid = {meter->request.head.meter, 0}};
  struct megaflows_band_counts bands[MEGAFLOWS_MOST_BANDS];
  struct megaflows_reply reply;
  int error = megaflow_client_ask(&request, sizeof request, &reply, bands, sizeof bands[0], MEGAFLOWS_MOST_BANDS);

  if (!error) {
    meter->last.in.packets = meter->gone.in.packets + reply.packets;
    meter->last.in.bytes = meter->gone.in.bytes + reply.bytes;
    for (uint32_t i = 0; i < reply.ports; i++) {
      meter->last.bands[i].packets = meter->gone.bands[i].packets + bands[i].packets;
      meter->last.bands[i].bytes = meter->gone.bands[i].bytes + bands[i].bytes;
    }
  }
  return error;
}

int megaflow_meter_set(ofproto_meter_id id, struct ofputil_meter_config* config) {
  struct meter* meter;
  int error = EOPNOTSUPP;

  ovs_mutex_lock(&mutex);
  meter = find(id.uint32);
  if (!meter) {
    meter = xzalloc(sizeof *meter);
    meter->request.head.header.type = MEGAFLOWS_METER_SET;
    meter->request.head.meter = id.uint32;
    hmap_insert(&meters, &meter->node, hash_int(id.uint32, 0));
  }
  memset(&meter->last, 0, sizeof meter->last);
  memset(&meter->gone, 0, sizeof meter->gone);
  meter->request.head.unit = config->flags & OFPMF13_PKTPS ? 1 : 0;
  meter->request.head.bands = MIN(config->n_bands, MEGAFLOWS_MOST_BANDS);
  for (size_t i = 0; i < meter->request.head.bands; i++) {
    meter->request.bands[i].rate = config->bands[i].rate;
    meter->request.bands[i].burst = config->bands[i].burst_size;
  }
  error = send_meter(meter);
  ovs_mutex_unlock(&mutex);
  VLOG_DBG("meter %u: %s", id.uint32, error ? ovs_strerror(error) : "set");
  return error;
}

int megaflow_meter_get(ofproto_meter_id id, struct ofputil_meter_stats* stats) {
  struct meter* meter;

  ovs_mutex_lock(&mutex);
  meter = find(id.uint32);
  if (meter) {
    ask_about(meter, MEGAFLOWS_METER_COUNTS);
    stats->packet_in_count += meter->last.in.packets;
    stats->byte_in_count += meter->last.in.bytes;
    for (size_t i = 0; i < MIN(stats->n_bands, meter->request.head.bands); i++) {
      stats->bands[i].packet_count += meter->last.bands[i].packets;
      stats->bands[i].byte_count += meter->last.bands[i].bytes;
    }
  }
  ovs_mutex_unlock(&mutex);
  return meter ? 0 : ENOENT;
}

int megaflow_meter_del(ofproto_meter_id id, struct ofputil_meter_stats* stats OVS_UNUSED) {
  struct meter* meter;

  ovs_mutex_lock(&mutex);
  meter = find(id.uint32);
  if (meter) {
    ask_about(meter, MEGAFLOWS_METER_DELETE);
    hmap_remove(&meters, &meter->node);
    free(meter);
  }
  ovs_mutex_unlock(&mutex);
  return meter ? 0 : ENOENT;
}

void megaflow_meters_send_again(void) {
  struct meter* meter;

  ovs_mutex_lock(&mutex);
  HMAP_FOR_EACH(meter, node, &meters) {
    meter->gone = meter->last;
    send_meter(meter);
  }
  ovs_mutex_unlock(&mutex);
}
