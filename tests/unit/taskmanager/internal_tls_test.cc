#include "weir/taskmanager/internal_tls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/test_certificates.h"
#include "weir/base/memory_file_system.h"

// How TLS between the processes of a cluster is configured.
namespace weir {
namespace {

using testing::Identity;
using ::testing::AllOf;
using ::testing::HasSubstr;

struct InternalTls : ::testing::Test {
  MemoryFileSystem files;
  Configuration configuration;

  void SetUp() override {
    static const Identity cluster = Identity::make("cluster");
    ASSERT_TRUE(files.createDirectories("/conf").has_value());
    write("/conf/keys.p12", cluster.pkcs12("secret"));
    write("/conf/trusted.p12", Identity::pkcs12OfTrusted({&cluster}, "other"));
    write("/conf/keys.pem", cluster.pem());
    set("security.ssl.internal.enabled", "true");
    set("security.ssl.internal.keystore", "/conf/keys.p12");
    set("security.ssl.internal.keystore-password", "secret");
    set("security.ssl.internal.key-password", "secret");
    set("security.ssl.internal.truststore", "/conf/trusted.p12");
    set("security.ssl.internal.truststore-password", "other");
  }
  void write(const std::string& path, const std::string& bytes) {
    auto file = files.create(path, FileSystem::Create::kTruncate).value();
    ASSERT_TRUE(file->append(std::as_bytes(std::span(bytes))).has_value());
    ASSERT_TRUE(file->close().has_value());
  }
  void set(const std::string& key, const std::string& value) { configuration.setText(key, value); }
  std::string errorOf() {
    const auto made = internalTls(configuration, files);
    return made.has_error() ? made.error().message : "none";
  }
};

TEST_F(InternalTls, FlinksKeysAndStoresAreEnough) {
  const auto made = internalTls(configuration, files);
  ASSERT_TRUE(made.has_value()) << made.error().message;
  EXPECT_TRUE(*made);
  EXPECT_EQ((*made)->handshakeTimeout(), Millis(10'000));
}

TEST_F(InternalTls, ItIsOffWithoutBeingAskedFor) {
  const auto made = internalTls(Configuration(), files);
  ASSERT_TRUE(made.has_value());
  EXPECT_FALSE(*made);
}

TEST_F(InternalTls, DataConnectionsMayBeLeftInTheClear) {
  EXPECT_TRUE(dataTls(configuration, files).value());
  set("taskmanager.data.ssl.enabled", "false");
  EXPECT_FALSE(dataTls(configuration, files).value());
}

TEST_F(InternalTls, KeysOfAllKindsOfConnectionsCountWhereInternalOnesAreMissing) {
  configuration = Configuration();
  set("security.ssl.internal.enabled", "true");
  set("security.ssl.keystore", "/conf/keys.p12");
  set("security.ssl.keystore-password", "secret");
  set("security.ssl.truststore", "/conf/trusted.p12");
  set("security.ssl.truststore-password", "other");
  EXPECT_EQ(errorOf(), "none");
}

TEST_F(InternalTls, PemIsReadWithoutAPassword) {
  set("security.ssl.internal.keystore", "/conf/keys.pem");
  set("security.ssl.internal.keystore-type", "PEM");
  set("security.ssl.internal.truststore", "/conf/keys.pem");
  set("security.ssl.internal.truststore-type", "pem");
  EXPECT_EQ(errorOf(), "none");
}

TEST_F(InternalTls, WhatIsMissingIsNamed) {
  set("security.ssl.internal.keystore", "/conf/nothing.p12");
  EXPECT_THAT(errorOf(), AllOf(HasSubstr("security.ssl.internal.keystore"), HasSubstr("/conf/nothing.p12")));
  configuration = Configuration();
  set("security.ssl.internal.enabled", "true");
  EXPECT_EQ(errorOf(), "security.ssl.internal.enabled is true, and security.ssl.internal.keystore is not set");
}

TEST_F(InternalTls, AStoreThatOnlyJavaReadsIsRefusedWithWhatToDo) {
  set("security.ssl.internal.truststore-type", "JKS");
  EXPECT_THAT(errorOf(), AllOf(HasSubstr("security.ssl.internal.truststore-type is 'JKS', which only Java reads"), HasSubstr("keytool")));
}

TEST_F(InternalTls, AlgorithmsAreListedWithCommas) {
  set("security.ssl.algorithms", "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256");
  EXPECT_EQ(errorOf(), "none");
  set("security.ssl.algorithms", "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,NONSENSE");
  EXPECT_THAT(errorOf(), HasSubstr("there is no 'NONSENSE' here"));
}

}  // namespace
}  // namespace weir
