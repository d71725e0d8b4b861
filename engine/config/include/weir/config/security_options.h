#pragma once

#include "weir/config/config_option.h"

// Options of TLS between the processes of a cluster. Flink: SecurityOptions, NettyShuffleEnvironmentOptions.
namespace weir {

inline constexpr ConfigOption<bool> kSslInternalEnabled{"security.ssl.internal.enabled", false};
/// Of the data connections, where the one above is on.
inline constexpr ConfigOption<bool> kDataSslEnabled{"taskmanager.data.ssl.enabled", true};
/// Without one of these, the one without `internal` counts.
inline constexpr ConfigOption<std::string> kSslInternalKeyStore{"security.ssl.internal.keystore"};
inline constexpr ConfigOption<std::string> kSslInternalKeyStorePassword{"security.ssl.internal.keystore-password"};
inline constexpr ConfigOption<std::string> kSslInternalKeyPassword{"security.ssl.internal.key-password"};
inline constexpr ConfigOption<std::string> kSslInternalTrustStore{"security.ssl.internal.truststore"};
inline constexpr ConfigOption<std::string> kSslInternalTrustStorePassword{"security.ssl.internal.truststore-password"};
inline constexpr ConfigOption<std::string> kSslKeyStore{"security.ssl.keystore"};
inline constexpr ConfigOption<std::string> kSslKeyStorePassword{"security.ssl.keystore-password"};
inline constexpr ConfigOption<std::string> kSslKeyPassword{"security.ssl.key-password"};
inline constexpr ConfigOption<std::string> kSslTrustStore{"security.ssl.truststore"};
inline constexpr ConfigOption<std::string> kSslTrustStorePassword{"security.ssl.truststore-password"};
/// `pkcs12`, or `PEM`, which is Weir's own.
inline const ConfigOption<std::string> kSslInternalKeyStoreType{"security.ssl.internal.keystore-type", "pkcs12"};
inline const ConfigOption<std::string> kSslInternalTrustStoreType{"security.ssl.internal.truststore-type", "pkcs12"};
/// SHA-1 of the one certificate that is accepted.
inline constexpr ConfigOption<std::string> kSslInternalFingerprint{"security.ssl.internal.cert.fingerprint"};
/// Milliseconds; -1: 10 seconds.
inline constexpr ConfigOption<int32_t> kSslInternalHandshakeTimeout{"security.ssl.internal.handshake-timeout", -1};
inline const ConfigOption<std::string> kSslProtocol{"security.ssl.protocol", "TLSv1.2"};
/// Standard names, with commas between them.
inline const ConfigOption<std::string> kSslAlgorithms{"security.ssl.algorithms",
                                                      "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"};

}  // namespace weir
