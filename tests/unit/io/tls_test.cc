#include "weir/io/tls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <optional>

#include "support/test_certificates.h"

// TLS with certificates on both sides, over a pair of sockets, without waiting.
namespace weir {
namespace {

using testing::Identity;
using ::testing::AllOf;
using ::testing::HasSubstr;

TlsStore store(TlsStore::Type type, const std::string& bytes, const std::string& password = "", const std::string& name = "a.store") {
  return {name, type, {bytes.begin(), bytes.end()}, password, password};
}

struct Tls : ::testing::Test {
  static const Identity& authority() {
    static const Identity made = Identity::authority("authority");
    return made;
  }
  static const Identity& first() {
    static const Identity made = Identity::make("first", &authority());
    return made;
  }
  static const Identity& second() {
    static const Identity made = Identity::make("second", &authority());
    return made;
  }
  static const Identity& stranger() {
    static const Identity made = Identity::make("stranger");
    return made;
  }
  static TlsOptions optionsOf(const Identity& own, const Identity& trusted) {
    TlsOptions options;
    options.keys = store(TlsStore::Type::kPem, own.pem());
    options.trusted = store(TlsStore::Type::kPem, trusted.certificatePem());
    return options;
  }

  int descriptors[2] = {-1, -1};
  std::optional<TlsStream> client, server;

  void SetUp() override { ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, descriptors), 0); }
  void TearDown() override {
    client.reset();
    server.reset();
    for (const int descriptor : descriptors) ::close(descriptor);
  }

  using Step = TlsStream::Step;
  /// What becomes of the handshake at either end.
  std::pair<Step, Step> handshake(const TlsOptions& ofClient, const TlsOptions& ofServer) {
    client.emplace(TlsContext::create(ofClient).value(), TlsContext::Role::kClient, descriptors[0]);
    server.emplace(TlsContext::create(ofServer).value(), TlsContext::Role::kServer, descriptors[1]);
    Step a = Step::kWantsToRead, b = Step::kWantsToRead;
    const auto waits = [](Step step) { return step == Step::kWantsToRead || step == Step::kWantsToWrite; };
    for (int round = 0; round < 20 && (waits(a) || waits(b)); ++round) {
      if (waits(a)) a = client->handshake();
      if (waits(b)) b = server->handshake();
    }
    return {a, b};
  }
  static std::string errorOf(const TlsOptions& options) {
    const auto made = TlsContext::create(options);
    return made.has_error() ? made.error().message : "none";
  }
};

TEST_F(Tls, EachSideShowsACertificateThatTheOtherTrusts) {
  EXPECT_EQ(handshake(optionsOf(first(), authority()), optionsOf(second(), authority())), std::pair(Step::kDone, Step::kDone));
  const std::string text = "through and through";
  size_t sent = 0, got = 0;
  ASSERT_EQ(client->write({reinterpret_cast<const uint8_t*>(text.data()), text.size()}, sent), Step::kDone);
  EXPECT_EQ(sent, text.size());
  std::vector<uint8_t> into(100);
  ASSERT_EQ(server->read(into, got), Step::kDone);
  EXPECT_EQ(std::string(into.begin(), into.begin() + static_cast<std::ptrdiff_t>(got)), text);
  EXPECT_EQ(server->read(into, got), Step::kWantsToRead) << "there is no more now";
  client->endSending();
  EXPECT_EQ(server->read(into, got), Step::kEnded);
}

TEST_F(Tls, WhatTravelsCannotBeReadOnTheWay) {
  ASSERT_EQ(handshake(optionsOf(first(), authority()), optionsOf(second(), authority())), std::pair(Step::kDone, Step::kDone));
  const std::string text = "a secret that is long enough";
  size_t sent = 0;
  ASSERT_EQ(client->write({reinterpret_cast<const uint8_t*>(text.data()), text.size()}, sent), Step::kDone);
  char raw[1000];
  const ssize_t size = ::recv(descriptors[1], raw, sizeof raw, 0);
  ASSERT_GT(size, static_cast<ssize_t>(text.size()));
  EXPECT_EQ(std::string_view(raw, static_cast<size_t>(size)).find("secret"), std::string_view::npos);
}

TEST_F(Tls, AFullSocketIsWaitedForAndNothingIsLost) {
  ASSERT_EQ(handshake(optionsOf(first(), authority()), optionsOf(second(), authority())), std::pair(Step::kDone, Step::kDone));
  std::vector<uint8_t> bytes(4 << 20), got(16 * 1024);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 7 / 3);
  std::vector<uint8_t> all;
  int full = 0;
  for (size_t at = 0; at < bytes.size() || all.size() < bytes.size();) {
    size_t size = 0;
    if (at < bytes.size()) {
      const Step step = client->write(std::span(bytes).subspan(at), size);
      if (step == Step::kDone) {
        at += size;
        continue;
      }
      ASSERT_EQ(step, Step::kWantsToWrite);
      ++full;
    }
    while (server->read(got, size) == Step::kDone) all.insert(all.end(), got.begin(), got.begin() + static_cast<std::ptrdiff_t>(size));
  }
  EXPECT_GT(full, 0);
  EXPECT_EQ(all, bytes);
}

TEST_F(Tls, AServerRefusesAClientWhomItDoesNotTrust) {
  const auto [ofClient, ofServer] = handshake(optionsOf(stranger(), authority()), optionsOf(second(), authority()));
  EXPECT_EQ(ofServer, Step::kFailed);
  EXPECT_THAT(server->failure(), HasSubstr("certificate verify failed"));
}

TEST_F(Tls, AServerRefusesAClientWithoutACertificate) {
  const std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  const std::unique_ptr<SSL, void (*)(SSL*)> anonymous(SSL_new(context.get()), SSL_free);
  ASSERT_EQ(SSL_set_fd(anonymous.get(), descriptors[0]), 1);
  server.emplace(TlsContext::create(optionsOf(second(), authority())).value(), TlsContext::Role::kServer, descriptors[1]);
  Step ofServer = Step::kWantsToRead;
  for (int round = 0; round < 20 && ofServer != Step::kDone && ofServer != Step::kFailed; ++round) {
    (void)SSL_connect(anonymous.get());
    ofServer = server->handshake();
  }
  EXPECT_EQ(ofServer, Step::kFailed);
  EXPECT_THAT(server->failure(), HasSubstr("peer did not return a certificate"));
}

TEST_F(Tls, AClientRefusesAServerWhomItDoesNotTrust) {
  const auto [ofClient, ofServer] = handshake(optionsOf(first(), authority()), optionsOf(stranger(), authority()));
  EXPECT_EQ(ofClient, Step::kFailed);
  EXPECT_THAT(client->failure(), AllOf(HasSubstr("certificate verify failed"), HasSubstr("self-signed certificate")));
}

TEST_F(Tls, ACertificateThatIsTrustedByItselfNeedsNoAuthority) {
  EXPECT_EQ(handshake(optionsOf(first(), second()), optionsOf(second(), first())), std::pair(Step::kDone, Step::kDone));
}

TEST_F(Tls, AFingerprintAcceptsOneCertificateOfAllThatAreTrusted) {
  TlsOptions pinned = optionsOf(first(), authority());
  pinned.fingerprint = second().fingerprint();
  EXPECT_EQ(handshake(pinned, optionsOf(second(), authority())).first, Step::kDone);
  TearDown();
  SetUp();
  const Identity third = Identity::make("third", &authority());
  EXPECT_EQ(handshake(pinned, optionsOf(third, authority())).first, Step::kFailed);
  EXPECT_THAT(client->failure(), HasSubstr("the peer's certificate has the fingerprint "));
}

TEST_F(Tls, StoresOfJavaAreReadAsPkcs12) {
  TlsOptions options;
  options.keys = store(TlsStore::Type::kPkcs12, first().pkcs12("secret"), "secret");
  options.trusted = store(TlsStore::Type::kPkcs12, Identity::pkcs12OfTrusted({&stranger(), &authority()}, "other"), "other");
  EXPECT_EQ(handshake(options, optionsOf(second(), authority())), std::pair(Step::kDone, Step::kDone));
}

TEST_F(Tls, AKeyMayHaveAPasswordOfItsOwn) {
  TlsOptions options = optionsOf(first(), authority());
  options.keys = store(TlsStore::Type::kPem, first().pem("secret"), "secret");
  EXPECT_EQ(handshake(options, optionsOf(second(), authority())), std::pair(Step::kDone, Step::kDone));
  options.keys.keyPassword = "wrong";
  EXPECT_THAT(errorOf(options), HasSubstr("TLS store a.store: its private key cannot be read"));
}

TEST_F(Tls, Version13WorksAsWell) {
  TlsOptions options = optionsOf(first(), authority());
  options.protocol = "TLSv1.3";
  EXPECT_EQ(handshake(options, options), std::pair(Step::kDone, Step::kDone));
}

TEST_F(Tls, WhatIsWrongWithAStoreIsSaid) {
  TlsOptions options = optionsOf(first(), authority());
  options.keys = store(TlsStore::Type::kPkcs12, first().pkcs12("secret"), "wrong", "/conf/keys.p12");
  EXPECT_THAT(errorOf(options), HasSubstr("TLS store /conf/keys.p12: it cannot be opened with its password"));
  options.keys = store(TlsStore::Type::kPkcs12, "garbage");
  EXPECT_THAT(errorOf(options), HasSubstr("it is no PKCS12 file"));
  options.keys = store(TlsStore::Type::kPkcs12, "\xfe\xed\xfe\xed java");
  EXPECT_THAT(errorOf(options),
              AllOf(HasSubstr("it is a Java key store (JKS), which only Java reads"), HasSubstr("-deststoretype pkcs12")));
  options.keys = store(TlsStore::Type::kPem, authority().certificatePem());
  EXPECT_THAT(errorOf(options), HasSubstr("there is no private key with its certificate in it"));
  options = optionsOf(first(), authority());
  options.trusted = store(TlsStore::Type::kPem, "nothing");
  EXPECT_THAT(errorOf(options), HasSubstr("there is no certificate in it"));
}

TEST_F(Tls, AProtocolOrAnAlgorithmThatIsNotThereIsRefused) {
  TlsOptions options = optionsOf(first(), authority());
  options.protocol = "TLSv1.1";
  EXPECT_THAT(errorOf(options), HasSubstr("security.ssl.protocol is 'TLSv1.1'"));
  options = optionsOf(first(), authority());
  options.algorithms = {"TLS_ROT_13"};
  EXPECT_THAT(errorOf(options), HasSubstr("security.ssl.algorithms: there is no 'TLS_ROT_13' here"));
  options.algorithms = {"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"};
  EXPECT_EQ(errorOf(options), "none");
}

}  // namespace
}  // namespace weir
