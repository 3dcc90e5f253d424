// AppGroup status on a real API server, with one replica at a time, across restarts.
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { createEventRecorder, KINDS, type KubernetesObject } from "@isochrone/kubernetes";
import { createApiServerStore } from "@isochrone/kubernetes/api-server";
import { seededRandom, systemClock } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { parse } from "yaml";
import {
  appGroup,
  indicesOf,
  OUR_CRDS,
  startPlugin,
  upstreamText,
  type RunningPlugin,
} from "../harness/appgroups.ts";
import { controlPlaneSupport, startControlPlane, type ControlPlane } from "../harness/control-plane/index.ts";

const A1 = { P1: "P2", P2: "P3", P3: "" };
const REVERSED = { P1: 3, P2: 2, P3: 1 };
/** Resources that the scheduler-plugin requests for AppGroups. */
const USED: ReadonlySet<string> = new Set(["appgroups", "events", "leases", "pods"]);
/** At most one write per second for pods, so that tests are short. */
const SETTINGS = { appGroupIntervalMs: 1_000 };
const FAST_LEASE = { leaseDurationMs: 3_000, leaseRenewDeadlineMs: 2_000, leaseRetryPeriodMs: 500 };

const support = controlPlaneSupport([]);
if (!support.supported) console.warn(`AppGroup status on a real API server skipped: ${support.reason}`);

describe.runIf(support.supported)("AppGroup status on a real API server", () => {
  let cluster: ControlPlane;
  let namespace: string;
  const plugins: RunningPlugin[] = [];

  beforeAll(async () => {
    cluster = await startControlPlane({ audit: true });
    for (const file of OUR_CRDS) await cluster.createYaml(readFileSync(file, "utf8"));
    await cluster.addNodes(1);
  }, 900_000);
  afterAll(() => cluster?.close());

  beforeEach(async () => {
    namespace = `shop-${randomUUID().slice(0, 8)}`;
    await cluster.createNamespace(namespace);
  });
  afterEach(async () => {
    await Promise.all(plugins.splice(0).map((plugin) => plugin.stop()));
    // The API server returns 429 for a moment after a CRD change.
    await vi.waitFor(async () => {
      for (const { metadata } of await cluster.list(KINDS.appGroup, { namespace }))
        await cluster.remove({ ...KINDS.appGroup, namespace, name: metadata.name });
    }, 20_000);
  });

  async function start(
    name = "scheduler-plugin",
    settings: Readonly<Record<string, unknown>> = {},
  ): Promise<RunningPlugin> {
    const plugin = await startPlugin(cluster, `${name}-${namespace}`, { ...SETTINGS, ...settings });
    plugins.push(plugin);
    return plugin;
  }

  const ref = (name: string) => ({ ...KINDS.appGroup, namespace, name });
  const create = async (text: string): Promise<KubernetesObject> => {
    const object = parse(text) as KubernetesObject;
    const [created] = await cluster.create({ ...object, metadata: { ...object.metadata, namespace } });
    return created!;
  };
  const orderOf = async (name: string, expected: Record<string, number>): Promise<KubernetesObject> =>
    await cluster.waitFor(
      KINDS.appGroup,
      (groups) => {
        const group = groups.find(({ metadata }) => metadata.name === name);
        expect(group && indicesOf(group)).toEqual(expected);
        return group;
      },
      { namespace },
    );
  const runningOf = async (name: string, count: number): Promise<KubernetesObject> =>
    await cluster.waitFor(
      KINDS.appGroup,
      (groups) =>
        groups.find(
          ({ metadata, status }) => metadata.name === name && status?.["runningWorkloads"] === count,
        ),
      { namespace },
    );
  const eventsOf = async (reasons: readonly string[]): Promise<readonly KubernetesObject[]> =>
    await cluster.waitFor(
      KINDS.event,
      (events) => {
        expect(events.map(({ reason }) => String(reason)).sort()).toEqual([...reasons].sort());
        return events;
      },
      { namespace },
    );

  test("upstream's samples get a status, and of the rest of the object nothing changes", async () => {
    await start();
    const a1 = await create(upstreamText("a1.yaml"));
    await create(upstreamText("redis.yaml"));
    const after = await orderOf("a1", { P1: 1, P2: 2, P3: 3 });
    expect(after.spec).toEqual(a1.spec);
    expect(after.metadata.annotations).toBe(undefined);
    expect(after.status).toMatchObject({
      topologyCalculationTime: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
      topologyOrder: [
        {
          index: 1,
          workload: { kind: "Deployment", name: "P1-deployment", selector: "P1", namespace: "default" },
        },
        { index: 2 },
        { index: 3 },
      ],
    });
    expect(await ownFields("a1")).toEqual(["isochrone-appgroup-status"]);
    await orderOf("redis-cluster", { "redis-leader": 1, "redis-follower": 2 });
    expect(await eventsOf(["TopologyOrderCalculated", "TopologyOrderCalculated"])).toMatchObject([
      { type: "Normal", reportingController: "isochrone.dev/scheduler-plugin" },
      {},
    ]);
  });

  test("the A1 example of 004 gets all six orders", async () => {
    await start();
    const expected: Readonly<Record<string, Record<string, number>>> = {
      KahnSort: { P1: 1, P2: 2, P3: 3 },
      TarjanSort: { P1: 1, P2: 2, P3: 3 },
      ReverseKahn: REVERSED,
      ReverseTarjan: REVERSED,
      AlternateKahn: { P1: 1, P2: 3, P3: 2 },
      AlternateTarjan: { P1: 1, P2: 3, P3: 2 },
    };
    for (const algorithm of Object.keys(expected))
      await cluster.create(appGroup(namespace, algorithm.toLowerCase(), A1, algorithm));
    for (const [algorithm, order] of Object.entries(expected)) {
      const group = await orderOf(algorithm.toLowerCase(), order);
      expect(group.spec?.["topologySortingAlgorithm"]).toBe(algorithm);
    }
  });

  test("upstream's Online Boutique is a cycle: the order of its spec stands there, and its Events name the cycle", async () => {
    await start();
    const sample = await create(upstreamText("online-boutique.yaml"));
    const workloads = sample.spec?.["workloads"] as { workload: { selector: string } }[];
    const inSpec = Object.fromEntries(workloads.map(({ workload }, at) => [workload.selector, at + 1]));
    const { metadata } = await orderOf("online-boutique", inSpec);
    expect(metadata.annotations?.["isochrone.dev/appgroup-faults"]).toContain(
      'DependencyCycle: spec.workloads[1] must not depend on itself (all workloads stand in the order of the spec), got "cartservice -> frontend -> cartservice"',
    );
    const cycles = metadata.annotations!["isochrone.dev/appgroup-faults"]!.split("\n").length;
    const events = await eventsOf([
      ...Array<string>(cycles).fill("DependencyCycle"),
      "TopologyOrderCalculated",
    ]);
    expect(events.find(({ type }) => type === "Warning")).toMatchObject({
      regarding: { kind: "AppGroup", namespace, name: "online-boutique", uid: metadata.uid },
    });
    expect(await cluster.kubectl("describe", "ag", "online-boutique", "-n", namespace)).toContain(
      "DependencyCycle",
    );
  });

  test("a changed spec is calculated again at once, also after the API server was away", async () => {
    const plugin = await start();
    await cluster.create(appGroup(namespace, "a1", A1));
    await orderOf("a1", { P1: 1, P2: 2, P3: 3 });
    await cluster.patch(ref("a1"), { spec: { topologySortingAlgorithm: "AlternateTarjan" } });
    await orderOf("a1", { P1: 1, P2: 3, P3: 2 });

    await cluster.restartApiServer();
    await cluster.patch(ref("a1"), { spec: { topologySortingAlgorithm: "ReverseKahn" } });
    await orderOf("a1", REVERSED);
    expect(plugin.logger.lines.filter(({ level }) => level === "error")).toEqual([]);
  });

  test("its pods are counted as they run and go, with few writes", async () => {
    const plugin = await start();
    await cluster.create(appGroup(namespace, "a1", A1));
    await orderOf("a1", { P1: 1, P2: 2, P3: 3 });
    const before = await writesOf([plugin]);
    const labels = { "appgroup.diktyo.x-k8s.io": "a1", "appgroup.diktyo.x-k8s.io.workload": "P1" };
    const pods = await cluster.createPods(30, { namespace, labels });
    for (const { metadata } of pods) await cluster.bindAndRun({ namespace, name: metadata.name }, "node-0");
    const oldest = pods.map(({ metadata }) => metadata.creationTimestamp!).sort()[0];
    const counted = await runningOf("a1", 30);
    expect(counted.status?.["scheduleStartTime"]).toBe(oldest);
    for (const { metadata } of pods) await cluster.remove({ ...KINDS.pod, namespace, name: metadata.name });
    const after = await runningOf("a1", 0);
    expect(after.status).not.toHaveProperty("scheduleStartTime");
    // 90 changes of pods cause fewer than 15 writes.
    expect((await writesOf([plugin])) - before).toBeLessThan(15);
  });

  test("an Event that comes again becomes a series", async () => {
    const [group] = await cluster.create(appGroup(namespace, "a1", A1));
    const clock = systemClock;
    const logger = new MemoryLogger({ clock });
    const credentials = { kubeconfig: cluster.kubeconfig };
    const store = createApiServerStore({ credentials, clock, random: seededRandom(1), logger });
    const recorder = createEventRecorder({ store, component: "test", clock, logger });
    const event = { type: "Warning", reason: "Again", action: "Test", note: "n".repeat(2_000) } as const;
    recorder.event(group!, event);
    await eventsOf(["Again"]);
    recorder.event(group!, event);
    await recorder.stop();
    store.close();
    expect(recorder.counts()).toEqual({ reported: 2, writes: 2, dropped: 0 });
    expect(await eventsOf(["Again"])).toMatchObject([{ series: { count: 2 } }]);
  });

  test("of two replicas one writes, and the other goes on when it is gone", async () => {
    const first = await start("first", { replicaName: "first", ...FAST_LEASE });
    await expect.poll(() => first.metrics(), { timeout: 10_000 }).toContain("isochrone_appgroup_leading 1");
    const second = await start("second", { replicaName: "second", ...FAST_LEASE });
    for (let index = 0; index < 5; index++) await cluster.create(appGroup(namespace, `g${index}`, A1));
    for (let index = 0; index < 5; index++) await orderOf(`g${index}`, { P1: 1, P2: 2, P3: 3 });
    expect(await second.metrics()).toContain("isochrone_appgroup_leading 0");
    expect(await writesOf([second])).toBe(0);
    expect(await writesOf([first])).toBeLessThanOrEqual(10);

    await first.stop();
    await cluster.patch(ref("g0"), { spec: { topologySortingAlgorithm: "ReverseKahn" } });
    await orderOf("g0", REVERSED);
    expect(await writesOf([second])).toBe(1);
    const users = new Set([first.user, second.user]);
    const denied = await cluster.auditEvents(
      ({ decision, resource, user }) => decision === "forbid" && USED.has(resource) && users.has(user),
    );
    expect(denied).toEqual([]);
  });

  test("where the CRD has a status subresource, the status is written through it", async () => {
    const crd = { ...KINDS.customResourceDefinition, name: "appgroups.appgroup.diktyo.x-k8s.io" };
    const { spec } = (await cluster.get(crd))!;
    const versions = spec?.["versions"] as object[];
    await cluster.patch(crd, {
      spec: { versions: versions.map((each) => ({ ...each, subresources: { status: {} } })) },
    });
    try {
      await start();
      const served = "/apis/appgroup.diktyo.x-k8s.io/v1alpha1";
      await expect
        .poll(() => cluster.request<{ resources: { name: string }[] }>("GET", served), { timeout: 20_000 })
        .toMatchObject({
          resources: expect.arrayContaining([expect.objectContaining({ name: "appgroups/status" })]),
        });
      await cluster.create(appGroup(namespace, "a1", { a: "b", b: "a" }));
      const { metadata } = await orderOf("a1", { a: 1, b: 2 });
      expect(metadata.annotations).toHaveProperty(["isochrone.dev/appgroup-faults"]);
    } finally {
      await cluster.patch(crd, { spec: { versions } });
    }
  });

  async function writesOf(of: readonly RunningPlugin[]): Promise<number> {
    const users = new Set(of.map(({ user }) => user));
    const events = await cluster.auditEvents(
      ({ user, verb, path }) => users.has(user) && verb === "patch" && path.includes("/appgroups/"),
    );
    return events.length;
  }

  async function ownFields(name: string): Promise<string[]> {
    const path = `/apis/appgroup.diktyo.x-k8s.io/v1alpha1/namespaces/${namespace}/appgroups/${name}`;
    const { metadata } = await cluster.request<{
      metadata: { managedFields: { manager: string; fieldsV1: object }[] };
    }>("GET", path);
    return metadata.managedFields
      .filter(({ fieldsV1 }) => "f:status" in fieldsV1)
      .map(({ manager }) => manager);
  }
});
