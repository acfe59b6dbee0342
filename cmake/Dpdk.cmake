# SPDX-License-Identifier: Apache-2.0
# Links DPDK statically as the target Penumbra::dpdk: its core and the drivers below. Every program has all drivers, so
# that devargs alone open a port and a bundle needs nothing from the target machine. Drivers of systems on a chip and of
# FPGA buses are left out (dpaa, dpaa2, enetc, enetfec, pfe, cnxk, octeontx, ipn3ke).
find_package(PkgConfig REQUIRED)
pkg_check_modules(DPDK QUIET libdpdk>=22.11)
if(NOT DPDK_FOUND)
  return()
endif()

set(drivers
    bus_auxiliary bus_pci bus_vdev bus_vmbus
    mempool_ring
    common_iavf common_idpf common_mlx5 common_sfc_efx
    net_af_packet net_af_xdp net_bond net_failsafe net_memif net_null net_pcap net_ring net_tap
    net_softnic net_vhost net_virtio net_vmxnet3 net_avp net_ena net_gve net_netvsc net_vdev_netvsc
    net_ark net_atlantic net_axgbe net_bnx2x net_bnxt net_cxgbe net_e1000 net_enic net_fm10k net_hinic net_hns3 net_i40e
    net_iavf net_ice net_idpf net_igc net_ionic net_ixgbe net_liquidio net_mlx4 net_mlx5 net_nfp net_ngbe net_octeon_ep
    net_qede net_sfc net_thunderx net_txgbe)
# The program or the drivers use these libraries of DPDK.
set(libraries
    pipeline port table acl eventdev fib rib lpm hash rcu gso gro ip_frag bpf vhost dmadev sched security cryptodev
    telemetry meter metrics timer ethdev net mbuf mempool ring pci kvargs eal)

set(archives)
foreach(library IN LISTS drivers libraries)
  find_library(DPDK_${library}_ARCHIVE librte_${library}.a HINTS ${DPDK_LIBRARY_DIRS} REQUIRED)
  mark_as_advanced(DPDK_${library}_ARCHIVE)
  list(APPEND archives ${DPDK_${library}_ARCHIVE})
endforeach()
list(JOIN archives "," archives)

set(definitions ${DPDK_CFLAGS})
# The project chooses the instruction set.
list(FILTER definitions EXCLUDE REGEX "^-march=|^-I|^-include$|^rte_config.h$")
# DPDK's headers require this header before them. GCC uses precompiled headers only if nothing was included earlier, so
# the header is the first one in them.
set(config "SHELL:-include rte_config.h")
if(NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
  set(has_headers "$<BOOL:$<TARGET_PROPERTY:PRECOMPILE_HEADERS>>")
  set(reuses_headers "$<BOOL:$<TARGET_PROPERTY:PRECOMPILE_HEADERS_REUSE_FROM>>")
  set(config "$<$<NOT:$<OR:${has_headers},${reuses_headers}>>:${config}>")
endif()

add_library(Penumbra::dpdk INTERFACE IMPORTED)
target_include_directories(Penumbra::dpdk SYSTEM INTERFACE ${DPDK_INCLUDE_DIRS})
target_compile_options(Penumbra::dpdk INTERFACE ${definitions} ${config})
# The rings use C11 atomics, which ThreadSanitizer understands. All files must use the same variant.
target_compile_definitions(Penumbra::dpdk INTERFACE ALLOW_EXPERIMENTAL_API RTE_USE_C11_MEM_MODEL)
# src/io/memif_gate.h and src/io/xdp_umems.h explain why these functions are wrapped.
target_link_libraries(Penumbra::dpdk INTERFACE
    "-Wl,--wrap=memif_free_regions" "-Wl,--wrap=xsk_umem__create" "-Wl,--wrap=xsk_umem__delete" "-Wl,--whole-archive,${archives},--no-whole-archive"
    xdp bpf elf z pcap jansson mlx4 mlx5 ibverbs nl-route-3 nl-3 numa bsd atomic dl m pthread)
