# SPDX-License-Identifier: Apache-2.0
# Installs the files and builds the Debian package (make deb). Libraries of Debian are dependencies; DPDK is included.
include(GNUInstallDirs)
install(TARGETS penumbra_cli RUNTIME)
install(TARGETS penumbra_xfrm_preload LIBRARY DESTINATION lib/penumbra)
# OpenSSL looks for providers in this folder.
install(TARGETS penumbra_openssl LIBRARY DESTINATION lib/${CMAKE_LIBRARY_ARCHITECTURE}/ossl-modules)
install(DIRECTORY ${PROJECT_BINARY_DIR}/share/ DESTINATION ${CMAKE_INSTALL_DATADIR})
install(FILES README.md LICENSE examples/router.yaml examples/live-router.yaml DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs packaging/grafana DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY python/penumbra DESTINATION lib/python3/dist-packages PATTERN __pycache__ EXCLUDE)
install(FILES packaging/penumbra.service packaging/penumbra-tls-engine.service packaging/penumbra-xfrm.service
        DESTINATION lib/systemd/system)
install(FILES packaging/penumbra.sysusers DESTINATION lib/sysusers.d RENAME penumbra.conf)
install(FILES packaging/router.yaml packaging/xfrm-daemon.conf packaging/xfrm-kernel.conf DESTINATION ${CMAKE_INSTALL_DATADIR}/penumbra)
install(DIRECTORY DESTINATION /etc/penumbra)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME penumbra)
set(CPACK_PACKAGE_CONTACT "The Penumbra authors <penumbra@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Software data plane whose functions run on CPU and GPU")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_SOURCE_DIR}/build/deb)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "systemd | adduser")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS iproute2)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "python3 (>= 3.11), libhyperscan5")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/packaging/postinst
                                       ${PROJECT_SOURCE_DIR}/packaging/prerm ${PROJECT_SOURCE_DIR}/packaging/postrm)
include(CPack)
