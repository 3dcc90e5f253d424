import { ManualClock } from "@isochrone/runtime/testing";
import { describe, expect, it } from "vitest";

import { resolveOptions } from "./options.ts";
import { TopicCache } from "./topic-cache.ts";

const random = { next: () => 0.5 };

function cache(ask: (topic: string) => Promise<number>): { cache: TopicCache<number>; clock: ManualClock } {
  const clock = new ManualClock();
  const options = resolveOptions({
    client: "platformatic",
    brokers: ["broker:9092"],
    clientId: "test",
    clock,
    random,
    metadataMaxAgeMs: 1_000,
  });
  return { cache: new TopicCache(options, ask), clock };
}

function counting(): () => Promise<number> {
  let asked = 0;
  return async () => (asked += 1);
}

describe("what is known of topics", () => {
  it("is asked for once at a time, and again when it is too old or was forgotten", async () => {
    const { cache: topics, clock } = cache(counting());
    expect(await Promise.all([topics.get("a"), topics.get("a")])).toEqual([1, 1]);
    await clock.advance(999);
    expect(await topics.get("a")).toBe(1);
    await clock.advance(1);
    expect(await topics.get("a")).toBe(2);
    topics.forget("b");
    expect(await topics.get("a")).toBe(2);
    topics.forget("a");
    expect(await topics.get("a")).toBe(3);
    expect(await topics.get("a", 0)).toBe(4);
  });

  it("is asked for again after a failure, which all who waited get", async () => {
    let failures = 1;
    const { cache: topics } = cache(async () => {
      if (failures-- > 0) throw new Error("no broker");
      return 7;
    });
    const both = await Promise.allSettled([topics.get("a"), topics.get("a")]);
    expect(both.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    expect(await topics.get("a")).toBe(7);
  });
});
