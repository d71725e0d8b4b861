#pragma once

#include <memory>

#include "weir/base/file_system.h"
#include "weir/config/configuration.h"
#include "weir/io/tls.h"

namespace weir {

/// TLS between the processes of a cluster as security.ssl.internal.* says; null where it is off. An error names the key and the file.
/// Flink: SSLUtils.createInternalNettySSLContext.
Result<std::shared_ptr<const TlsContext>> internalTls(const Configuration& configuration, FileSystem& files);
/// The same for data connections, which may be left in the clear.
Result<std::shared_ptr<const TlsContext>> dataTls(const Configuration& configuration, FileSystem& files);

}  // namespace weir
