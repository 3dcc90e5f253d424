import { expect, test } from "vitest";
import { seededRandom } from "../random.ts";
import { addressKey } from "./addresses.ts";
import { Tally } from "./tally.ts";

test("the heaviest key is one with the highest count, after any sequence of changes", () => {
  const tally = new Tally();
  const counts = new Map<string, number>();
  const random = seededRandom(7);
  for (let step = 0; step < 5_000; step++) {
    const key = `k${Math.floor(random.next() * 12)}`;
    const count = counts.get(key) ?? 0;
    if (random.next() < 0.5) {
      tally.increment(key);
      counts.set(key, count + 1);
    } else {
      tally.decrement(key);
      counts.set(key, Math.max(0, count - 1));
    }
    const highest = Math.max(...counts.values());
    expect(tally.of(key)).toBe(counts.get(key));
    expect(tally.heaviest === null ? 0 : counts.get(tally.heaviest)).toBe(highest);
  }
});

test.each([
  ["10.0.0.7", "10.0.0.7"],
  ["::ffff:10.0.0.7", "10.0.0.7"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["2001:db8:1:2::9", "2001:db8:1:2::/64"],
  ["fe80::1%eth0", "fe80:0:0:0::/64"],
  ["::1", "0:0:0:0::/64"],
  [undefined, "unknown"],
])("shares of %s are counted by %s", (address, key) => {
  expect(addressKey(address)).toBe(key);
});
