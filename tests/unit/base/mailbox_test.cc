#include "weir/base/mailbox.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace weir {
namespace {

Mail mail(const char* name) { return {name, [] {}}; }

std::string takeAll(Mailbox& box) {
  std::string order;
  while (auto taken = box.tryTake()) order += taken->description;
  return order;
}

TEST(Mailbox, UrgentMailRunsBeforeNormalMailEachInTheOrderOfPut) {
  Mailbox box;
  box.put(mail("a"));
  box.put(mail("b"));
  box.putUrgent(mail("1"));
  box.putUrgent(mail("2"));
  EXPECT_EQ(takeAll(box), "12ab");
}

TEST(Mailbox, IsAvailableExactlyWhileMailIsQueued) {
  Mailbox box;
  EXPECT_FALSE(box.looksNonEmpty());
  box.put(mail("a"));
  box.putUrgent(mail("b"));
  EXPECT_TRUE(box.looksNonEmpty());
  box.tryTake();
  EXPECT_TRUE(box.looksNonEmpty());
  box.tryTake();
  EXPECT_FALSE(box.looksNonEmpty());
}

TEST(Mailbox, AClosedOneRefusesMailAndHasDestroyedWhatWasQueued) {
  Mailbox box;
  auto owned = std::make_shared<int>(1);
  box.put({"normal", [owned] {}});
  box.putUrgent({"urgent", [owned] {}});
  EXPECT_EQ(owned.use_count(), 3);
  box.close();
  EXPECT_EQ(owned.use_count(), 1);
  EXPECT_FALSE(box.put(mail("late")));
  EXPECT_FALSE(box.putUrgent(mail("late")));
  EXPECT_FALSE(box.tryTake().has_value());
}

}  // namespace
}  // namespace weir
