/* SPDX-License-Identifier: Apache-2.0 */
#include "megaflow-client.h"

#include <config.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "openvswitch/thread.h"
#include "openvswitch/vlog.h"
#include "timeval.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(megaflow_client);

enum { RETRY_MS = 1000, PATIENCE_S = 5 };

static struct ovs_mutex client_mutex = OVS_MUTEX_INITIALIZER;
static int client_socket OVS_GUARDED_BY(client_mutex) = -1;
static uint32_t last_id OVS_GUARDED_BY(client_mutex);
static long long int next_try OVS_GUARDED_BY(client_mutex);

const char* megaflow_client_path(void) {
  const char* path = getenv("PENUMBRA_MEGAFLOWS");

  return path ? path : "/run/penumbra/megaflows.sock";
}

static void lose(const char* why) OVS_REQUIRES(client_mutex) {
  VLOG_WARN("%s: %s", megaflow_client_path(), why);
  close(client_socket);
  client_socket = -1;
}

bool megaflow_client_connect(int* error) {
  struct timeval patience = {.tv_sec = PATIENCE_S, .tv_usec = 0};
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  bool is_new = false;

  ovs_strlcpy(address.sun_path, megaflow_client_path(), sizeof address.sun_path);
  ovs_mutex_lock(&client_mutex);
  if (client_socket < 0 && time_msec() >= next_try) {
    client_socket = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    setsockopt(client_socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(client_socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (connect(client_socket, (struct sockaddr*)&address, sizeof address)) {
      VLOG_DBG("%s: %s", address.sun_path, ovs_strerror(errno));
      close(client_socket);
      client_socket = -1;
      next_try = time_msec() + RETRY_MS;
    } else {
      VLOG_INFO("%s: connected", address.sun_path);
      is_new = true;
    }
  }
  *error = client_socket < 0 ? ENOTCONN : 0;
  ovs_mutex_unlock(&client_mutex);
  return is_new;
}

int megaflow_client_ask(void* request, size_t bytes, struct megaflows_reply* reply, void* items, size_t item_bytes,
                        size_t n_items) {
  struct megaflows_header* header = request;
  struct iovec parts[2] = {
      {.iov_base = reply, .iov_len = sizeof *reply},
      {.iov_base = items, .iov_len = n_items * item_bytes},
  };
  struct msghdr message = {.msg_iov = parts, .msg_iovlen = items ? 2 : 1};
  int error = ENOTCONN;

  ovs_mutex_lock(&client_mutex);
  if (client_socket >= 0) {
    header->version = MEGAFLOWS_VERSION;
    header->bytes = bytes;
    header->id = ++last_id;
    if (send(client_socket, request, bytes, MSG_NOSIGNAL) != (ssize_t)bytes) {
      lose("cannot send a request");
    } else {
      ssize_t got = recvmsg(client_socket, &message, 0);

      if (got < (ssize_t)sizeof *reply || reply->header.id != last_id || reply->header.version != MEGAFLOWS_VERSION ||
          reply->header.type != (header->type | MEGAFLOWS_REPLY)) {
        lose(got ? "no right reply" : "the router closed the connection");
      } else {
        reply->ports = items ? MIN(reply->ports, (got - sizeof *reply) / item_bytes) : 0;
        error = reply->error;
      }
    }
  }
  ovs_mutex_unlock(&client_mutex);
  return error;
}
