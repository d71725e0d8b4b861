#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <cctype>

#include "openssl_errors.h"
#include "weir/io/tls.h"

namespace weir {
namespace {

template <class T, void (*Free)(T*)>
struct Freed {
  void operator()(T* object) const { Free(object); }
};
using Certificate = std::unique_ptr<X509, Freed<X509, X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY, EVP_PKEY_free>>;
using Pkcs12 = std::unique_ptr<PKCS12, Freed<PKCS12, PKCS12_free>>;
using Context = std::unique_ptr<SSL_CTX, Freed<SSL_CTX, SSL_CTX_free>>;
struct FreeBio {
  void operator()(BIO* bio) const { (void)BIO_free(bio); }
};
using Bio = std::unique_ptr<BIO, FreeBio>;

/// What was found in a store.
struct Contents {
  Key key;
  Certificate certificate;           ///< of the key
  std::vector<Certificate> further;  ///< its chain, or those that are trusted
};

Error wrong(const TlsStore& store, std::string_view what) {
  return Error{ErrorCode::kInvalidArgument, fmt::format("TLS store {}: {}", store.name, what)};
}

Bio open(const TlsStore& store) { return Bio(BIO_new_mem_buf(store.bytes.data(), static_cast<int>(store.bytes.size()))); }

bool isJks(const TlsStore& store) {
  static constexpr uint8_t kMagic[][4] = {{0xfe, 0xed, 0xfe, 0xed}, {0xce, 0xce, 0xce, 0xce}};  // JKS, JCEKS
  return store.bytes.size() >= 4 && std::any_of(std::begin(kMagic), std::end(kMagic),
                                                [&](const auto& magic) { return std::equal(magic, magic + 4, store.bytes.begin()); });
}

Result<Contents> readPkcs12(const TlsStore& store) {
  if (isJks(store))
    return wrong(store, "it is a Java key store (JKS), which only Java reads; convert it with keytool -importkeystore -srckeystore FILE "
                        "-destkeystore FILE.p12 -deststoretype pkcs12");
  const Bio bio = open(store);
  const Pkcs12 parsed(d2i_PKCS12_bio(bio.get(), nullptr));
  if (!parsed) return wrong(store, "it is no PKCS12 file: " + opensslErrors());
  EVP_PKEY* key = nullptr;
  X509* certificate = nullptr;
  STACK_OF(X509)* chain = nullptr;
  if (PKCS12_parse(parsed.get(), store.password.c_str(), &key, &certificate, &chain) != 1)
    return wrong(store, "it cannot be opened with its password: " + opensslErrors());
  Contents contents{Key(key), Certificate(certificate), {}};
  while (X509* const next = sk_X509_shift(chain)) contents.further.emplace_back(next);
  sk_X509_free(chain);
  return contents;
}

int givePassword(char* into, int size, int, void* password) {
  const auto& text = *static_cast<const std::string*>(password);
  const int length = std::min(size, static_cast<int>(text.size()));
  std::copy_n(text.data(), length, into);
  return length;
}

Result<Contents> readPem(const TlsStore& store) {
  Contents contents;
  std::string password = store.keyPassword;
  contents.key.reset(PEM_read_bio_PrivateKey(open(store).get(), nullptr, givePassword, &password));
  const bool hasKey = contents.key != nullptr;
  const std::string_view text(reinterpret_cast<const char*>(store.bytes.data()), store.bytes.size());
  if (!hasKey && text.find("PRIVATE KEY-----") != std::string_view::npos)
    return wrong(store, "its private key cannot be read: " + opensslErrors());
  const Bio bio = open(store);
  while (X509* const next = PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)) {
    if (hasKey && !contents.certificate) contents.certificate.reset(next);
    else contents.further.emplace_back(next);
  }
  ERR_clear_error();
  if (!contents.certificate && contents.further.empty()) return wrong(store, "there is no certificate in it");
  return contents;
}

Result<Contents> read(const TlsStore& store) {
  ERR_clear_error();
  return store.type == TlsStore::Type::kPem ? readPem(store) : readPkcs12(store);
}

Result<int> versionOf(const std::string& protocol) {
  if (protocol == "TLSv1.2") return TLS1_2_VERSION;
  if (protocol == "TLSv1.3") return TLS1_3_VERSION;
  return Error{ErrorCode::kInvalidArgument, fmt::format("security.ssl.protocol is '{}': TLSv1.2 and TLSv1.3 are there", protocol)};
}

/// Standard names as OpenSSL lists them.
Result<void> setAlgorithms(SSL_CTX* context, const std::vector<std::string>& names, int version) {
  if (names.empty()) return {};
  std::string list;
  for (const std::string& name : names) {
    const char* own = OPENSSL_cipher_name(name.c_str());
    if (!own || std::string_view(own) == "(NONE)")
      return Error{ErrorCode::kInvalidArgument, fmt::format("security.ssl.algorithms: there is no '{}' here", name)};
    const bool ofVersion13 = std::string_view(own).starts_with("TLS_");
    if (ofVersion13 == (version == TLS1_3_VERSION)) list += (list.empty() ? "" : ":") + std::string(own);
  }
  const bool set = !list.empty() && (version == TLS1_3_VERSION ? SSL_CTX_set_ciphersuites(context, list.c_str())
                                                               : SSL_CTX_set_cipher_list(context, list.c_str())) == 1;
  if (!set)
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("security.ssl.algorithms: none of '{}' is for the protocol", fmt::join(names, ","))};
  return {};
}

Result<void> trust(SSL_CTX* context, const TlsStore& store, const Contents& contents) {
  X509_STORE* const trusted = SSL_CTX_get_cert_store(context);
  bool any = false;
  const auto add = [&](X509* certificate) { any |= certificate && X509_STORE_add_cert(trusted, certificate) == 1; };
  add(contents.certificate.get());
  for (const Certificate& certificate : contents.further) add(certificate.get());
  if (!any) return wrong(store, "it trusts nobody: there is no certificate in it");
  // Java trusts any certificate in its store, not only one that has signed itself.
  X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(context), X509_V_FLAG_PARTIAL_CHAIN);
  return {};
}

Result<void> show(SSL_CTX* context, const TlsStore& store, const Contents& contents) {
  if (!contents.key || !contents.certificate) return wrong(store, "there is no private key with its certificate in it");
  if (SSL_CTX_use_certificate(context, contents.certificate.get()) != 1 || SSL_CTX_use_PrivateKey(context, contents.key.get()) != 1 ||
      SSL_CTX_check_private_key(context) != 1)
    return wrong(store, "its key and its certificate do not fit: " + opensslErrors());
  for (const Certificate& certificate : contents.further)
    if (SSL_CTX_add1_chain_cert(context, certificate.get()) != 1) return wrong(store, "its chain cannot be used: " + opensslErrors());
  return {};
}

Result<Context> make(const SSL_METHOD* method, const TlsOptions& options, const Contents& keys, const Contents& trusted) {
  Context context(SSL_CTX_new(method));
  if (!context) return Error{ErrorCode::kIo, "OpenSSL cannot be used: " + opensslErrors()};
  WEIR_ASSIGN(const int version, versionOf(options.protocol));
  (void)SSL_CTX_set_min_proto_version(context.get(), version);
  (void)SSL_CTX_set_max_proto_version(context.get(), version);
  WEIR_TRY(setAlgorithms(context.get(), options.algorithms, version));
  WEIR_TRY(show(context.get(), options.keys, keys));
  WEIR_TRY(trust(context.get(), options.trusted, trusted));
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
  // A peer whose process has ended is as good as one that says so first: frames tell where they end.
  (void)SSL_CTX_set_options(context.get(), SSL_OP_IGNORE_UNEXPECTED_EOF | SSL_OP_NO_RENEGOTIATION);
  (void)SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  (void)SSL_CTX_set_num_tickets(context.get(), 0);
  return context;
}

std::string withoutColons(std::string text) {
  std::erase(text, ':');
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

}  // namespace

TlsContext::TlsContext(ssl_ctx_st* client, ssl_ctx_st* server, const TlsOptions& options)
    : client_(client), server_(server), handshakeTimeout_(options.handshakeTimeout),
      fingerprint_(withoutColons(options.fingerprint.value_or(""))) {}

TlsContext::~TlsContext() {
  SSL_CTX_free(client_);
  SSL_CTX_free(server_);
}

Result<std::shared_ptr<const TlsContext>> TlsContext::create(const TlsOptions& options) {
  WEIR_ASSIGN(const Contents keys, read(options.keys));
  WEIR_ASSIGN(const Contents trusted, read(options.trusted));
  WEIR_ASSIGN(Context client, make(TLS_client_method(), options, keys, trusted));
  WEIR_ASSIGN(Context server, make(TLS_server_method(), options, keys, trusted));
  return std::shared_ptr<const TlsContext>(new TlsContext(client.release(), server.release(), options));
}

}  // namespace weir
