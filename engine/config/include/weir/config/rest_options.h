#pragma once

#include "weir/config/config_option.h"

// Options of the REST server and of the web page. Flink: RestOptions, WebOptions.
namespace weir {

inline constexpr ConfigOption<int32_t> kRestPort{"rest.port", 8081, complainBelow<0>};
/// One port, a list, a range, or a mix of them. Falls back to rest.port.
inline const ConfigOption<std::string> kRestBindPort{"rest.bind-port", "8081"};
inline constexpr ConfigOption<std::string> kRestAddress{"rest.address"};
inline constexpr ConfigOption<std::string> kRestBindAddress{"rest.bind-address"};
inline constexpr ConfigOption<int32_t> kRestMaxContentLength{"rest.server.max-content-length", 104857600, complainBelow<1>};
inline constexpr ConfigOption<Duration> kRestAsyncStoreDuration{"rest.async.store-duration", Duration(std::chrono::minutes(5))};
inline constexpr ConfigOption<Duration> kWebRefreshInterval{"web.refresh-interval", Duration(std::chrono::seconds(3))};
inline constexpr ConfigOption<Duration> kWebTimeout{"web.timeout", Duration(std::chrono::minutes(10))};
inline constexpr ConfigOption<int32_t> kWebCheckpointsHistory{"web.checkpoints.history", 10, complainBelow<0>};
inline constexpr ConfigOption<int32_t> kWebExceptionHistorySize{"web.exception-history-size", 16, complainBelow<1>};
inline const ConfigOption<std::string> kWebAccessControlAllowOrigin{"web.access-control-allow-origin", "*"};
inline constexpr ConfigOption<bool> kWebCancelEnable{"web.cancel.enable", true};
inline constexpr ConfigOption<bool> kWebSubmitEnable{"web.submit.enable", true};

}  // namespace weir
