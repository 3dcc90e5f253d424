// None of a tenant's attempts may change what Isochrone reports and does about the victim.
import { KINDS } from "@isochrone/kubernetes";
import type { WorkflowGraphSnapshot } from "@isochrone/topology";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { controlPlaneSupport } from "../harness/control-plane/index.ts";
import { helmSupport } from "../harness/helm/index.ts";
import { ATTEMPTS } from "../harness/hostile-tenant/attempts.ts";
import { COMPONENTS, HostileTestbed, TENANT, VICTIM, WORKFLOW } from "../harness/hostile-tenant/testbed.ts";
import { HonestSpeakers } from "../harness/hostile-tenant/honest.ts";
import { Observer, type Picture } from "../harness/hostile-tenant/picture.ts";
import { Tenant } from "../harness/hostile-tenant/tenant.ts";

/** Memory limit of the chart's aggregator at size small. */
const MAX_RSS_BYTES = 768 * 2 ** 20;
const supports = [helmSupport(), controlPlaneSupport(COMPONENTS)];
const missing = supports.flatMap((support) => (support.supported ? [] : [support.reason]));
if (missing.length > 0) console.warn(`a hostile tenant is not tested: ${missing.join("; ")}`);

function changesOf(before: Picture, after: Picture): string[] {
  const [was, is] = [before, after].map((picture) => new Map(Object.entries(picture)));
  return [...new Set([...was!.keys(), ...is!.keys()])].flatMap((name) => {
    const [old, now] = [was!.get(name), is!.get(name)].map((value) => JSON.stringify(value));
    return old === now ? [] : [`${name}: ${now}, was ${old}`];
  });
}

describe.runIf(missing.length === 0)("a tenant that may do everything in its own namespace", () => {
  let testbed: HostileTestbed;
  let honest: HonestSpeakers;
  let observer: Observer;
  let tenant: Tenant;
  let before: Picture;
  let places: string[];

  beforeAll(async () => {
    testbed = await HostileTestbed.start();
    honest = await HonestSpeakers.start(testbed);
    await testbed.planned("worker");
    observer = await Observer.open(testbed);
    tenant = await Tenant.open(testbed);
    await observer.steady({ isPlanned: false });
    places = await testbed.plannedAnew("worker");
    before = await observer.steady({ isPlanned: true });
    observer.watch();
  }, 300_000);

  afterAll(async () => {
    await observer?.stop();
    await tenant?.close();
    await honest?.stop();
    await testbed?.close();
  }, 60_000);

  test.each(ATTEMPTS.map((attempt) => [attempt.name, attempt] as const))(
    "changes nothing of another namespace's by %s",
    async (_, { act, gets }) => {
      expect(await act(tenant)).toEqual(gets);
      await observer.settled(await tenant.mark(), TENANT);
      expect(observer.faults).toEqual([]);
      expect(observer.pictures.flatMap((picture) => changesOf(before, picture))).toEqual([]);
    },
    240_000,
  );

  test("says what it likes of its own pods, in its own graph alone", async () => {
    const path = `/api/v1/graph/workflows/${TENANT}/${WORKFLOW}`;
    const { channels } = await observer.graph<WorkflowGraphSnapshot>(path);
    const forged = channels.filter(({ bytesPerSecond }) => (bytesPerSecond ?? 0) > 1e9);
    expect(forged.length).toBeGreaterThan(0);
    for (const { source, target } of forged) expect(`${source} ${target}`).toContain("sidecar");
  });

  test("does not decide where pods of another namespace are planned and bound", async () => {
    await observer.stop();
    expect(await testbed.plannedAnew("worker")).toEqual(places);
  }, 90_000);

  test("leaves the aggregator alive, well and within its memory", async () => {
    expect((await testbed.aggregator.get("/readyz")).status).toBe(200);
    expect(observer.largestRssBytes).toBeGreaterThan(0);
    expect(observer.largestRssBytes).toBeLessThan(MAX_RSS_BYTES);
  });

  test("would be seen: what the victim itself declares changes the picture", async () => {
    const annotations = { "isochrone.dev/dependencies": JSON.stringify([{ name: "db", maxNetworkCost: 0 }]) };
    const api = { ...KINDS.deployment, namespace: VICTIM, name: "api" };
    await testbed.cluster.patch(api, { metadata: { annotations } });
    await observer.settled(await tenant.mark(), TENANT);
    const rejected = async () => Object.keys((await observer.picture()).filter as object);
    expect(Object.keys(before.filter as object)).toEqual(["node-0"]);
    await expect.poll(rejected, { timeout: 20_000 }).toEqual(["node-0", "node-1"]);
    expect((await observer.picture()).workflow).not.toEqual(before.workflow);
  }, 90_000);
});
