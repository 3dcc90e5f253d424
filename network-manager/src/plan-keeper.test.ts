import { GraphClientError } from "@isochrone/topology/client";
import { SnapshotError, type FlowPlan } from "@isochrone/topology";
import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import { describe, expect, test } from "vitest";
import { PlanKeeper } from "./plan-keeper.ts";
import { plan } from "./testing/plans.ts";
import { MemoryCache, SettablePlans } from "./testing/settable-plans.ts";

const HOLD_MS = 60_000;
const NEVER = new AbortController().signal;

function keeperOf(first: FlowPlan | Error, cache = new MemoryCache()) {
  const clock = new ManualClock();
  const source = new SettablePlans(first);
  const refused: string[] = [];
  let unreachable = 0;
  const keeper = new PlanKeeper({
    node: "a",
    holdMs: HOLD_MS,
    source,
    standing: () => null,
    cache,
    clock,
    logger: new MemoryLogger(),
    onRefused: (reason) => refused.push(reason),
    onUnreachable: () => unreachable++,
  });
  const refresh = async (answer: FlowPlan | Error): Promise<number> => {
    source.answer = answer;
    return keeper.refresh(NEVER);
  };
  return { keeper, clock, cache, refused, refresh, unreachable: () => unreachable };
}

const away = new GraphClientError("http_status", "http://x", "answered 503", {
  status: 503,
  retryAfterMs: 7_000,
});

describe("the plan in force", () => {
  test("is the newest that the source has, and what is kept on disk", async () => {
    const { keeper, cache, refresh } = keeperOf(plan());
    expect(keeper.wanted()).toBe("wait");
    for (const generation of [1, 2]) {
      expect(await refresh(plan({ generation }))).toBe(0);
      expect(keeper.wanted()).toEqual(plan({ generation }));
      expect(cache.kept).toEqual(plan({ generation }));
    }
  });

  test("is never replaced by an older one, which confirms nothing either", async () => {
    const { keeper, clock, refused, refresh } = keeperOf(plan());
    await refresh(plan({ generation: 5 }));
    await clock.advance(HOLD_MS);
    await refresh(plan({ generation: 4 }));
    expect(keeper.wanted()).toEqual(plan({ generation: 5 }));
    expect(refused).toEqual(["older"]);
    await clock.advance(1);
    expect(keeper.wanted()).toBeNull();
  });

  test("gives way to another epoch, which doesn't come back once it is over", async () => {
    const { keeper, refused, refresh } = keeperOf(plan());
    await refresh(plan({ epoch: "one", generation: 9 }));
    await refresh(plan({ epoch: "two", generation: 0 }));
    expect(keeper.wanted()).toMatchObject({ epoch: "two", generation: 0 });
    await refresh(plan({ epoch: "one", generation: 10 }));
    expect(keeper.wanted()).toMatchObject({ epoch: "two" });
    expect(refused).toEqual(["older"]);
  });

  test("isn't another node's, nor one that breaks a rule", async () => {
    const { keeper, refused, refresh } = keeperOf(plan());
    await refresh(plan());
    await refresh(plan({ node: "b", generation: 2 }));
    await refresh(new SnapshotError("flow plan", "flows[0]", "must be good", "bad"));
    expect(keeper.wanted()).toEqual(plan());
    expect(refused).toEqual(["other_node", "invalid"]);
  });

  test("is taken back when nobody has confirmed it for holdMs, and comes again with the next answer", async () => {
    const { keeper, clock, refresh, unreachable } = keeperOf(plan());
    await refresh(plan());
    await clock.advance(HOLD_MS);
    expect(await refresh(away)).toBe(7_000);
    expect(unreachable()).toBe(1);
    expect(keeper.wanted()).toEqual(plan());
    expect(keeper.ageSeconds).toBe(60);
    await clock.advance(1);
    expect(keeper.wanted()).toBeNull();
    await refresh(plan());
    expect(keeper.wanted()).toEqual(plan());
  });
});

describe("after a restart", () => {
  test("the cached plan holds as long as one that was just confirmed, and is said to be unconfirmed", async () => {
    const cache = new MemoryCache();
    cache.kept = plan({ generation: 7 });
    const { keeper, clock, refresh, refused } = keeperOf(plan(), cache);
    await keeper.restore();
    expect(keeper.wanted()).toEqual(plan({ generation: 7 }));
    expect(keeper.ageSeconds).toBeNull();
    await refresh(plan({ generation: 6 }));
    expect(refused).toEqual(["older"]);
    await clock.advance(HOLD_MS + 1);
    expect(keeper.wanted()).toBeNull();
  });

  test.each([[{ flows: 7 }], ["text"], [plan({ node: "b" })]])(
    "a cached plan like %j isn't taken",
    async (kept) => {
      const cache = new MemoryCache();
      cache.kept = kept;
      const { keeper, clock } = keeperOf(away, cache);
      await keeper.restore();
      expect(keeper.wanted()).toBe("wait");
      await clock.advance(HOLD_MS + 1);
      expect(keeper.wanted()).toBeNull();
    },
  );
});
