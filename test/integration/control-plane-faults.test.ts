// Faults of the API server and the network under running services: nothing is lost or doubled, no service
// ends, memory stays flat. The services are processes of their own: two aggregators, fed over OTLP, and a
// scheduler-plugin, all behind a proxy that can cut.
//
// | fault                                     | all services at once, as processes      | one part at a time, in more depth                             |
// | ----------------------------------------- | --------------------------------------- | ------------------------------------------------------------- |
// | API server restarts                       | here, with the tokens; killed: with 410 | cluster-store-api-server-faults, network-topology, leadership |
// | etcd compaction, 410                      | here                                    | cluster-store-api-server-faults, rbac                         |
// | watches cut every 5 s                     | here                                    | cluster-store-api-server-faults                               |
// | 429s                                      | here                                    | cluster-store-api-server-faults                               |
// | tokens end, then fresh ones               | here                                    | cluster-store-api-server-reads; access (graph API)            |
// | extender killed while pods are scheduling | control-plane-faults-services           | extender                                                      |
// | graph API gone                            | control-plane-faults-services           | extender                                                      |
// | all telemetry stale                       | control-plane-faults-services           | extender (old annotations too)                                |
// | two replicas that both lead               | control-plane-faults-services           | leadership, appgroup-failover                                 |
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { controlPlaneSupport } from "../harness/control-plane/index.ts";
import { FaultTestbed, SERVICE_ACCOUNTS, userAgentOf } from "../harness/faults/fault-testbed.ts";
import { isOncePerChange } from "../harness/faults/step-account.ts";

/** Without a fault it takes about 4 s: the window and the 1 s intervals. */
const WITHIN_MS = 20_000;
const TURNED_AWAY_MS = 4_000;
/** All three processes together. Leases alone need 2.5 requests per second each. */
const MAX_REQUESTS_PER_SECOND = 30;

const support = controlPlaneSupport(["kwok"]);
if (!support.supported) console.warn(`faults of the API server are not tested: ${support.reason}`);

describe.runIf(support.supported)("when the API server", { timeout: 120_000 }, () => {
  let testbed: FaultTestbed;

  beforeAll(async () => {
    testbed = await FaultTestbed.start([]);
    await testbed.caughtUp(60_000);
  }, 900_000);
  afterAll(() => testbed?.close(), 60_000);

  test("is killed and has then forgotten all versions (410): everything is listed anew", async () => {
    const wrong = await testbed.through("etcd compaction, 410", WITHIN_MS, async () => {
      await testbed.change();
      await testbed.cluster.compact();
    });
    expect(wrong).toEqual([]);
  });

  test("loses every connection every 5 s, changes get through", async () => {
    const wrong = await testbed.through("watches cut every 5 s", WITHIN_MS, async () => {
      testbed.proxy.cutEvery(5_000);
      for (let count = 0; count < 3; count++) {
        await testbed.change();
        await sleep(7_000);
      }
      testbed.proxy.cutEvery(null);
    });
    expect(wrong).toEqual([]);
  });

  test("turns everything away (429), nobody presses it, and what was held up follows", async () => {
    const { cluster } = testbed;
    const wrong = await testbed.through("429s", WITHIN_MS, async () => {
      const ends = await Promise.all(SERVICE_ACCOUNTS.map((account) => cluster.throttle(account)));
      const fromMs = Date.now();
      await testbed.change();
      await sleep(TURNED_AWAY_MS);
      // The harness uses the same users but other user agents.
      const asked = await cluster.auditEvents(
        ({ userAgent, receivedMs }) => userAgent.startsWith("isochrone-") && receivedMs >= fromMs,
      );
      const turnedAway = asked.filter(({ code }) => code === 429).length;
      expect(turnedAway).toBeGreaterThan(0);
      expect(asked.length).toBeLessThan((MAX_REQUESTS_PER_SECOND * TURNED_AWAY_MS) / 1_000);
      await Promise.all(ends.map((end) => end()));
    });
    expect(wrong).toEqual([]);
  });

  test("restarts, and refuses all tokens from then on: nothing is written, and with fresh ones everything is", async () => {
    const wrong = await testbed.through("restart, tokens ended", WITHIN_MS, async () => {
      const fromMs = Date.now();
      await testbed.revokeTokens();
      // Clear its authentication cache of 10 s.
      await testbed.cluster.restartApiServer();
      const refused = async (): Promise<string[]> => {
        const events = await testbed.cluster.auditEvents(
          ({ code, receivedMs }) => code === 401 && receivedMs >= fromMs,
        );
        return [...new Set(events.map(({ userAgent }) => userAgent))].sort();
      };
      await expect
        .poll(refused, { timeout: 30_000, interval: 250 })
        .toEqual(["aggregator-0", "aggregator-1", "plugin-0"].map(userAgentOf));
      const refusedMs = Date.now();
      await testbed.change();
      await sleep(2_000);
      expect(await testbed.writes(refusedMs)).toEqual([]);
      await testbed.renewTokens();
    });
    expect(wrong).toEqual([]);
  });

  test("has done all that, it has accepted each change once, and Events are merged", async () => {
    const account = await testbed.account();
    console.table(account);
    console.table(testbed.memory());
    expect(account.filter((step) => !isOncePerChange(step))).toEqual([]);
    expect(account).toHaveLength(4);
    expect(await testbed.doubled()).toEqual({ said: [], told: [] });
  });
});
