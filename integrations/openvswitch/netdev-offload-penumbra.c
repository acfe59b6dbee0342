/* SPDX-License-Identifier: Apache-2.0
 *
 * A flow offload provider of Open vSwitch 3.1 to 3.6 that gives megaflows to Penumbra's function `megaflows`. A port of
 * the bridge is the twin of a port of the router, and has its name. The provider keeps each megaflow, and sends all of
 * them again when the router was restarted. The counts from before are added to those of the new router. Megaflows
 * whose ports have got other numbers are sent again, too. */
#include "netdev-offload-penumbra.h"

#include <config.h>
#include <errno.h>

#include "dpif.h"
#include "hash.h"
#include "megaflow-client.h"
#include "megaflow-encode.h"
#include "megaflow-meters.h"
#include "megaflow-ports.h"
#include "netdev-offload-provider.h"
#include "netdev-offload.h"
#include "netdev-provider.h"
#include "openvswitch/hmap.h"
#include "openvswitch/match.h"
#include "openvswitch/ofpbuf.h"
#include "openvswitch/vlog.h"
#include "timeval.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(netdev_offload_penumbra);

enum { READ_PORTS_MS = 500 };

struct entry {
  struct hmap_node node; /* In `entries`, by `ufid`. */
  ovs_u128 ufid;
  const void* netdev_id;       /* The netdev that the megaflow was put on; compared only. */
  bool is_there;               /* The router has the megaflow. */
  bool is_refused;             /* It got actions that the router cannot carry out. Only its counts are left. */
  bool is_waiting;             /* It is sent when the router's ports have changed. */
  struct dpif_flow_stats last; /* From all routers, as of the last answer. */
  uint64_t packets, bytes;     /* From routers that are gone. */
  void* add;                   /* The request that adds it, with ids of ports, `add_bytes` long. */
  size_t add_bytes;
};

static struct ovs_mutex mutex = OVS_MUTEX_INITIALIZER;
static struct hmap entries OVS_GUARDED_BY(mutex) = HMAP_INITIALIZER(&entries);
static long long int next_reading OVS_GUARDED_BY(mutex); /* Of the router's ports. */

static uint32_t hash_of(const ovs_u128* ufid) {
  return hash_bytes(ufid, sizeof *ufid, 0);
}

static struct entry* find(const ovs_u128* ufid) OVS_REQUIRES(mutex) {
  struct entry* entry;

  HMAP_FOR_EACH_WITH_HASH(entry, node, hash_of(ufid), &entries) {
    if (ovs_u128_equals(entry->ufid, *ufid)) {
      return entry;
    }
  }
  return NULL;
}

/* Keeps the counts of a megaflow that the router does not have any more. */
static void keep_counts(struct entry* entry) OVS_REQUIRES(mutex) {
  entry->packets = entry->last.n_packets;
  entry->bytes = entry->last.n_bytes;
  entry->is_there = false;
}

static int send_add(struct entry* entry) OVS_REQUIRES(mutex) {
  uint64_t message[MEGAFLOWS_MOST_BYTES / 8];
  struct megaflows_reply reply;
  int error;

  memcpy(message, entry->add, entry->add_bytes);
  entry->is_waiting = !megaflow_ports_number((struct megaflows_add*)message);
  if (entry->is_waiting) {
    return EOPNOTSUPP;
  }
  error = megaflow_client_ask(message, entry->add_bytes, &reply, NULL, 0, 0);
  /* If the router refuses other actions of a megaflow, it still has the old ones. */
  entry->is_there = entry->is_there || !error;
  return error;
}

static int ask_about(struct entry* entry, int type) OVS_REQUIRES(mutex) {
  struct megaflows_request request = {
      .header.type = type,
      .ufid = {entry->ufid.u64.hi, entry->ufid.u64.lo},
  };
  struct megaflows_reply reply;
  int error = megaflow_client_ask(&request, sizeof request, &reply, NULL, 0, 0);

  if (!error) {
    entry->last.n_packets = entry->packets + reply.packets;
    entry->last.n_bytes = entry->bytes + reply.bytes;
    entry->last.used = MAX(entry->last.used, (long long int)reply.used_ms);
  }
  return error;
}

/* Removes a megaflow from the router. Its counts are final then. */
static void stop(struct entry* entry) OVS_REQUIRES(mutex) {
  if (entry->is_there) {
    ask_about(entry, MEGAFLOWS_DELETE);
    keep_counts(entry);
  }
  entry->is_waiting = false;
}

static void send_waiting(void) OVS_REQUIRES(mutex) {
  struct entry* entry;

  HMAP_FOR_EACH(entry, node, &entries) {
    if (entry->is_waiting) {
      send_add(entry);
    }
  }
}

/* Sends megaflows again whose ports have got other numbers. All of them are removed first, because a new match may be
 * an old match of another megaflow. */
static void read_ports(void) OVS_REQUIRES(mutex) {
  struct entry* entry;

  next_reading = time_msec() + READ_PORTS_MS;
  if (!megaflow_ports_read()) {
    return;
  }
  HMAP_FOR_EACH(entry, node, &entries) {
    if (entry->is_there && megaflow_ports_concern(entry->add)) {
      stop(entry);
      entry->is_waiting = true;
    }
  }
  send_waiting();
}

/* Connects if necessary, and then sends all megaflows again. Returns 0 if there is a connection. */
static int connect_again(void) OVS_REQUIRES(mutex) {
  int error;

  if (megaflow_client_connect(&error)) {
    struct entry* entry;

    HMAP_FOR_EACH(entry, node, &entries) {
      keep_counts(entry);
      entry->is_waiting = !entry->is_refused;
    }
    megaflow_meters_send_again(); /* Megaflows may use them. */
    read_ports();
    send_waiting();
  } else if (!error && time_msec() >= next_reading) {
    read_ports();
  }
  return error;
}

/* Returns the id of a port of the bridge. A port that is new here may be new at the router, too. */
static uint32_t id_of(const struct netdev* netdev) OVS_REQUIRES(mutex) {
  uint32_t id = megaflow_ports_id(netdev_get_name(netdev));

  if (!id) {
    read_ports();
    id = megaflow_ports_id(netdev_get_name(netdev));
  }
  return id;
}

static uint32_t port_of(odp_port_t port, const void* dpif_type) OVS_REQUIRES(mutex) {
  struct netdev* netdev = netdev_ports_get(port, dpif_type);
  uint32_t id = 0;

  if (netdev) {
    id = id_of(netdev);
    netdev_close(netdev);
  }
  return id;
}

static void forget(struct entry* entry) OVS_REQUIRES(mutex) {
  stop(entry);
  hmap_remove(&entries, &entry->node);
  free(entry->add);
  free(entry);
}

void netdev_offload_penumbra_stop(const ovs_u128* ufid) {
  struct entry* entry;

  ovs_mutex_lock(&mutex);
  entry = find(ufid);
  if (entry) {
    stop(entry);
  }
  ovs_mutex_unlock(&mutex);
}

/* A new flow with the ufid starts from 0, even if the entry is still there. */
void netdev_offload_penumbra_removed(const ovs_u128* ufid) {
  struct entry* entry;

  ovs_mutex_lock(&mutex);
  entry = find(ufid);
  if (entry) {
    stop(entry);
    memset(&entry->last, 0, sizeof entry->last);
    entry->packets = entry->bytes = 0;
    if (entry->is_refused) {
      forget(entry);
    }
  }
  ovs_mutex_unlock(&mutex);
}

static int penumbra_flow_put(struct netdev* netdev, struct match* match, struct nlattr* actions, size_t actions_len,
                             const ovs_u128* ufid, struct offload_info* info OVS_UNUSED,
                             struct dpif_flow_stats* stats) {
  struct entry* entry;
  bool is_new;
  int error;

  ovs_mutex_lock(&mutex);
  error = connect_again();
  entry = find(ufid);
  is_new = !entry;
  if (!error) {
    struct megaflow_add add;

    error = megaflow_encode(match, actions, actions_len, ufid, port_of, netdev_get_dpif_type(netdev), &add);
    if (!error) {
      if (!entry) {
        entry = xzalloc(sizeof *entry);
        entry->ufid = *ufid;
        entry->netdev_id = netdev;
        hmap_insert(&entries, &entry->node, hash_of(ufid));
      }
      free(entry->add);
      entry->add = xmemdup(add.message, add.bytes);
      entry->add_bytes = add.bytes;
      error = send_add(entry);
    }
  }
  /* Other actions that the router cannot carry out make the old ones void, too. The flow keeps its counts. */
  if (entry && error && is_new) {
    forget(entry);
  } else if (entry) {
    entry->is_refused = error;
  }
  if (!is_new && error) {
    stop(entry);
  } else if (!error && stats) {
    *stats = entry->last;
  }
  ovs_mutex_unlock(&mutex);
  VLOG_DBG("%s: put: %s", netdev_get_name(netdev), error ? ovs_strerror(error) : "done");
  return error;
}

static int penumbra_flow_del(struct netdev* netdev OVS_UNUSED, const ovs_u128* ufid, struct dpif_flow_stats* stats) {
  struct entry* entry;

  ovs_mutex_lock(&mutex);
  entry = find(ufid);
  if (entry) {
    stop(entry);
    if (stats) {
      *stats = entry->last;
    }
    /* Open vSwitch deletes a megaflow at once whose new actions are refused. Its flow still has the counts. */
    if (!entry->is_refused) {
      forget(entry);
    }
  }
  ovs_mutex_unlock(&mutex);
  return entry ? 0 : ENOENT;
}

static int penumbra_flow_get(struct netdev* netdev OVS_UNUSED, struct match* match OVS_UNUSED,
                             struct nlattr** actions OVS_UNUSED, const ovs_u128* ufid, struct dpif_flow_stats* stats,
                             struct dpif_flow_attrs* attrs, struct ofpbuf* wbuffer OVS_UNUSED) {
  struct entry* entry;

  ovs_mutex_lock(&mutex);
  connect_again();
  entry = find(ufid);
  if (entry) {
    if (entry->is_there && ask_about(entry, MEGAFLOWS_COUNTS)) {
      keep_counts(entry);
    }
    *stats = entry->last;
    attrs->offloaded = entry->is_there;
    attrs->dp_layer = entry->is_there ? "penumbra" : "ovs";
  }
  ovs_mutex_unlock(&mutex);
  return entry ? 0 : ENOENT;
}

static int penumbra_flow_flush(struct netdev* netdev) {
  struct entry* entry;

  ovs_mutex_lock(&mutex);
  HMAP_FOR_EACH_SAFE(entry, node, &entries) {
    if (entry->netdev_id == netdev) {
      forget(entry);
    }
  }
  ovs_mutex_unlock(&mutex);
  return 0;
}

static int penumbra_flow_get_n_flows(struct netdev* netdev, uint64_t* n_flows) {
  struct entry* entry;

  *n_flows = 0;
  ovs_mutex_lock(&mutex);
  HMAP_FOR_EACH(entry, node, &entries) {
    *n_flows += entry->netdev_id == netdev && entry->is_there;
  }
  ovs_mutex_unlock(&mutex);
  return 0;
}

/* Takes the twins of the router's ports in a datapath in user space. */
static int penumbra_init_flow_api(struct netdev* netdev) {
  const char* type = netdev_get_dpif_type(netdev);
  int error = EOPNOTSUPP;

  if (type && !strcmp(type, "netdev") && !strcmp(netdev_get_type(netdev), "system")) {
    ovs_mutex_lock(&mutex);
    error = connect_again();
    if (error || !id_of(netdev)) {
      error = EOPNOTSUPP;
    }
    ovs_mutex_unlock(&mutex);
  }
  return error;
}

extern const struct netdev_flow_api netdev_offload_penumbra;
const struct netdev_flow_api netdev_offload_penumbra = {
    .type = "penumbra",
    .flow_flush = penumbra_flow_flush,
    .flow_put = penumbra_flow_put,
    .flow_get = penumbra_flow_get,
    .flow_del = penumbra_flow_del,
    .flow_get_n_flows = penumbra_flow_get_n_flows,
    .meter_set = megaflow_meter_set,
    .meter_get = megaflow_meter_get,
    .meter_del = megaflow_meter_del,
    .init_flow_api = penumbra_init_flow_api,
};
