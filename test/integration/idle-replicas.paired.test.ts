// API requests of idle standby replicas. Concurrent tests are told apart by user agent.
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { MANIFEST_VALUES, type ComponentProcess } from "../harness/components/index.ts";
import { controlPlaneSupport, startControlPlane, type ControlPlane } from "../harness/control-plane/index.ts";
import { WebhookTestbed } from "../harness/webhook.ts";

const { NAMESPACE } = MANIFEST_VALUES;
const LEASES = `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases`;
const LEASE_TIMES = { leaseDurationMs: 15_000, leaseRenewDeadlineMs: 10_000, leaseRetryPeriodMs: 2_000 };
const WEBHOOK = { heartbeatMaxAgeMs: 10_000, heartbeatCheckMs: 1_000, certificateCheckMs: 10_000 };
const COUNTED_MS = 30_000;

const support = controlPlaneSupport([]);
if (!support.supported) console.warn(`idle replicas are not tested: ${support.reason}`);

describe.runIf(support.supported)("a replica that waits", { timeout: 240_000 }, () => {
  let cluster: ControlPlane;
  let testbed: WebhookTestbed;

  beforeAll(async () => {
    cluster = await startControlPlane({ audit: true });
    testbed = new WebhookTestbed(cluster);
    await testbed.prepare();
    await testbed.beat();
  }, 900_000);

  afterAll(async () => {
    await testbed?.close();
    await cluster?.close();
  });

  const holderOf = async (lease: string): Promise<string | null> => {
    const found = await cluster
      .request<{ spec: { holderIdentity?: string } }>("GET", `${LEASES}/${lease}`)
      .catch(() => null);
    return found?.spec.holderIdentity?.split("_")[0] ?? null;
  };

  /** Requests per second of the follower, by verb and resource. An open watch does not count. */
  const idleRates = async (
    replicas: readonly ComponentProcess[],
    lease: string,
  ): Promise<Map<string, number>> => {
    await Promise.all(replicas.map((replica) => replica.start()));
    const leader = await vi.waitFor(
      async () => {
        const holder = await holderOf(lease);
        expect(replicas.map(({ name }) => name)).toContain(holder);
        return holder;
      },
      { timeout: 60_000, interval: 500 },
    );
    // Wait until both know the leader and the initial reads are done.
    await sleep(15_000);
    const idle = replicas.find(({ name }) => name !== leader)!;
    const [fromMs, untilMs] = [Date.now(), Date.now() + COUNTED_MS];
    await sleep(COUNTED_MS + 1_000);
    const events = await cluster.auditEvents(
      ({ userAgent, stage, verb, receivedMs }) =>
        userAgent.startsWith(idle.name) &&
        stage === "ResponseComplete" &&
        verb !== "watch" &&
        receivedMs >= fromMs &&
        receivedMs < untilMs,
    );
    const rates = new Map<string, number>();
    for (const { verb, resource } of events) {
      const what = `${verb} ${resource}`;
      rates.set(what, (rates.get(what) ?? 0) + 1_000 / COUNTED_MS);
    }
    expect(await holderOf(lease)).toBe(leader);
    const text = [...rates].map(([what, rate]) => `${what} ${rate.toFixed(2)}/s`).join(", ");
    console.log(`idle ${idle.name}: ${text === "" ? "nothing" : text}`);
    return rates;
  };
  const sumOf = (rates: ReadonlyMap<string, number>): number =>
    [...rates.values()].reduce((sum, rate) => sum + rate, 0);

  test.concurrent("of the scheduler-plugin with its webhook watches the Leases, and looks at its certificates", async () => {
    const replicas = await Promise.all(
      ["plugin-0", "plugin-1"].map((name) =>
        testbed.plugin(name, WEBHOOK, { scheduler: LEASE_TIMES, kubernetes: { userAgent: name } }),
      ),
    );
    const rates = await idleRates(replicas, "isochrone-scheduler-plugin");
    // Previously 1.3 per second: one for the planner's heartbeat, and one every 2 to 4.4 s for the leader's.
    expect(rates.get("get leases") ?? 0).toBeLessThan(0.2);
    expect(sumOf(rates)).toBeLessThan(0.7);
  });

  test.concurrent("of the aggregator renews its own Lease and asks for no other", async () => {
    const replicas = await Promise.all(
      ["aggregator-0", "aggregator-1"].map((name) =>
        testbed.installation.component("aggregator", name, {
          aggregator: { ...LEASE_TIMES, replicaName: name },
          annotations: { nodes: false },
          networkTopology: { writer: "upstream" },
          kubernetes: { userAgent: name },
        }),
      ),
    );
    const rates = await idleRates(replicas, "isochrone-aggregator");
    expect(rates.get("get leases") ?? 0).toBeLessThan(0.1);
    expect(rates.get("update leases")).toBeGreaterThan(0.2);
    // The rest reads the NetworkTopology, whose declared costs every replica serves.
    expect(sumOf(rates)).toBeLessThan(0.9);
  });
});
