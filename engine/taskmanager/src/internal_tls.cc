#include "weir/taskmanager/internal_tls.h"

#include <fmt/format.h>

#include "weir/config/security_options.h"

namespace weir {
namespace {

using Text = ConfigOption<std::string>;

/// Where it is not set: the same for all kinds of connections.
Result<std::optional<std::string>> textOf(const Configuration& c, const Text& internal, const Text& general) {
  WEIR_ASSIGN(auto text, c.getOptional(internal));
  if (text) return text;
  return c.getOptional(general);
}

Result<std::string> required(const Configuration& c, const Text& internal, const Text& general) {
  WEIR_ASSIGN(auto text, textOf(c, internal, general));
  if (text) return *text;
  return Error{ErrorCode::kInvalidArgument, fmt::format("{} is true, and {} is not set", kSslInternalEnabled.key, internal.key)};
}

Result<TlsStore::Type> typeOf(const Configuration& c, const Text& option) {
  WEIR_ASSIGN(const std::string name, c.get(option));
  if (detail::equalsIgnoringCase(name, "pkcs12")) return TlsStore::Type::kPkcs12;
  if (detail::equalsIgnoringCase(name, "pem")) return TlsStore::Type::kPem;
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("{} is '{}', which only Java reads: pkcs12 and PEM are there (keytool -importkeystore -srckeystore FILE "
                           "-destkeystore FILE.p12 -deststoretype pkcs12 converts it)",
                           option.key, name)};
}

struct StoreKeys {
  const Text &internal, &general, &internalPassword, &generalPassword, &type;
};

Result<TlsStore> readStore(const Configuration& c, FileSystem& files, const StoreKeys& keys) {
  TlsStore store;
  WEIR_ASSIGN(store.name, required(c, keys.internal, keys.general));
  WEIR_ASSIGN(store.type, typeOf(c, keys.type));
  if (store.type == TlsStore::Type::kPkcs12) {
    WEIR_ASSIGN(store.password, required(c, keys.internalPassword, keys.generalPassword));
  }
  const auto bytes = files.readAll(store.name);
  if (bytes.has_error()) return bytes.error().in(std::string(keys.internal.key));
  const auto* const first = reinterpret_cast<const uint8_t*>(bytes->data());
  store.bytes.assign(first, first + bytes->size());
  return store;
}

std::vector<std::string> splitAtCommas(const std::string& text) {
  std::vector<std::string> parts;
  for (size_t from = 0; from <= text.size();) {
    const size_t to = std::min(text.find(',', from), text.size());
    const size_t first = text.find_first_not_of(' ', from), last = text.find_last_not_of(' ', to == 0 ? 0 : to - 1);
    if (first < to) parts.push_back(text.substr(first, last + 1 - first));
    from = to + 1;
  }
  return parts;
}

}  // namespace

Result<std::shared_ptr<const TlsContext>> internalTls(const Configuration& c, FileSystem& files) {
  WEIR_ASSIGN(const bool enabled, c.get(kSslInternalEnabled));
  if (!enabled) return std::shared_ptr<const TlsContext>();
  TlsOptions options;
  WEIR_ASSIGN(options.keys, readStore(c, files, {kSslInternalKeyStore, kSslKeyStore, kSslInternalKeyStorePassword, kSslKeyStorePassword,
                                                 kSslInternalKeyStoreType}));
  WEIR_ASSIGN(const auto keyPassword, textOf(c, kSslInternalKeyPassword, kSslKeyPassword));
  options.keys.keyPassword = keyPassword.value_or(options.keys.password);
  WEIR_ASSIGN(options.trusted, readStore(c, files, {kSslInternalTrustStore, kSslTrustStore, kSslInternalTrustStorePassword,
                                                    kSslTrustStorePassword, kSslInternalTrustStoreType}));
  WEIR_ASSIGN(options.protocol, c.get(kSslProtocol));
  WEIR_ASSIGN(const std::string algorithms, c.get(kSslAlgorithms));
  const bool chosen = c.getOptional(kSslAlgorithms).has_value() && c.getOptional(kSslAlgorithms)->has_value();
  // The default names algorithms of TLS 1.2 alone.
  if (chosen || options.protocol == "TLSv1.2") options.algorithms = splitAtCommas(algorithms);
  WEIR_ASSIGN(options.fingerprint, c.getOptional(kSslInternalFingerprint));
  WEIR_ASSIGN(const int32_t timeout, c.get(kSslInternalHandshakeTimeout));
  if (timeout > 0) options.handshakeTimeout = Millis(timeout);
  return TlsContext::create(options);
}

Result<std::shared_ptr<const TlsContext>> dataTls(const Configuration& c, FileSystem& files) {
  WEIR_ASSIGN(const bool data, c.get(kDataSslEnabled));
  if (!data) return std::shared_ptr<const TlsContext>();
  return internalTls(c, files);
}

}  // namespace weir
