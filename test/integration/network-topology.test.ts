// The NetworkTopology, generated AppGroups and node bandwidth on a real API server, from measurements.
import { readFileSync } from "node:fs";
import { KINDS, type KubernetesObject } from "@isochrone/kubernetes";
import type { ClusterGraphSnapshot } from "@isochrone/topology";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { OUR_CRDS } from "../harness/appgroups.ts";
import { controlPlaneSupport, startControlPlane, type ControlPlane } from "../harness/control-plane/index.ts";
import { CONTROLLER_RULES, MeasuredAggregator, type Measurements } from "../harness/measured-aggregator.ts";

const support = controlPlaneSupport([]);
if (!support.supported) console.warn(`NetworkTopology on a real API server skipped: ${support.reason}`);

const ACCOUNT = { serviceAccount: { namespace: "isochrone", name: "aggregator" } };
const USER = "system:serviceaccount:isochrone:aggregator";
const NODES = [
  { name: "n1", region: "west", zone: "z1" },
  { name: "n2", region: "west", zone: "z2" },
  { name: "n3", region: "east", zone: "z3" },
];
const USER_DEFINED = {
  name: "UserDefined",
  topologyList: [
    {
      topologyKey: "topology.kubernetes.io/region",
      originList: [
        {
          origin: "west",
          costList: [{ destination: "east", bandwidthCapacity: "10Gi", isAllowed: true, networkCost: 20 }],
        },
      ],
    },
  ],
};
const WITHIN = { timeout: 20_000, interval: 100 };
const SETTINGS = {
  networkTopology: { checkIntervalMs: 200, minWriteIntervalMs: 1000 },
  appGroups: { checkIntervalMs: 500, windowMs: 60_000 },
  bandwidthResource: { checkIntervalMs: 500 },
};

describe.runIf(support.supported)("on a real API server", () => {
  let cluster: ControlPlane;
  let kubeconfig: string;
  let aggregator: MeasuredAggregator | null = null;
  let beganMs: number;

  beforeAll(async () => {
    cluster = await startControlPlane({ audit: true });
    for (const file of OUR_CRDS) await cluster.createYaml(readFileSync(file, "utf8"));
    await cluster.createNamespace("shop");
    kubeconfig = await cluster.kubeconfigOf(ACCOUNT);
    await cluster.grant(ACCOUNT, CONTROLLER_RULES);
    await cluster.addNodes(NODES);
  }, 900_000);
  afterAll(() => cluster?.close());

  beforeEach(() => {
    beganMs = Date.now();
  });
  afterEach(async () => {
    await aggregator?.stop();
    aggregator = null;
    for (const kind of [KINDS.networkTopology, KINDS.appGroup])
      for (const { apiVersion, kind: name, metadata } of await cluster.list(kind))
        await cluster.remove({ apiVersion, kind: name, ...pick(metadata) });
    for (const { metadata } of await cluster.list("pods"))
      await cluster.remove({ ...KINDS.pod, ...pick(metadata) });
    for (const { metadata } of await cluster.list("deployments", { namespace: "shop" }))
      await cluster.remove({ ...KINDS.deployment, ...pick(metadata) });
  });

  const pick = ({ namespace, name }: KubernetesObject["metadata"]) =>
    namespace === undefined ? { name } : { namespace, name };

  async function start(
    measured: Partial<Measurements> = {},
    settings: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {},
  ): Promise<void> {
    const merged = Object.fromEntries(
      Object.entries(SETTINGS).map(([name, values]) => [name, { ...values, ...settings[name] }]),
    );
    aggregator = await MeasuredAggregator.start(kubeconfig, merged, {
      rttMs: { "n1 n2": 4.2, "n1 n3": 38 },
      ...measured,
    });
  }

  const REF = { ...KINDS.networkTopology, namespace: "default", name: "nt-default" };
  const topologyWhere = (is: (object: KubernetesObject) => boolean): Promise<KubernetesObject> =>
    cluster.waitFor(KINDS.networkTopology, ([object]) => object !== undefined && is(object) && object);

  /** Writes tried by the aggregator's account since the start of the test. */
  const writes = (resource: string) =>
    cluster.auditEvents(
      (event) =>
        event.user === USER &&
        event.resource === resource &&
        event.receivedMs >= beganMs &&
        ["create", "update", "patch", "delete"].includes(event.verb),
    );

  test("the NetworkTopology comes of the links, beside the weights of users, in their unit", async () => {
    await cluster.create({
      ...KINDS.networkTopology,
      metadata: {
        namespace: "default",
        name: "nt-default",
        annotations: { "isochrone.dev/network-cost-scale": "0.5" },
      },
      spec: { configmapName: "netperfMetrics", weights: [USER_DEFINED] },
    });
    await start({ bursts: { "n1 n2": 1_234_567_890 } });
    const object = await topologyWhere((one) => costOf(one, "z1", "z2")?.["bandwidthCapacity"] !== undefined);
    expect(weightsOf(object)[0]).toEqual(USER_DEFINED);
    // The histogram's buckets are 1.1 % wide, so 38 ms may read 38.2.
    expect(costOf(object, "west", "east")?.["networkCost"]).toBeGreaterThanOrEqual(76);
    expect(costOf(object, "west", "east")?.["networkCost"]).toBeLessThanOrEqual(77);
    expect(costOf(object, "z1", "z2")).toEqual({
      destination: "z2",
      networkCost: 9,
      bandwidthCapacity: "1234M",
      bandwidthAllocated: "0",
    });
    expect(object.status?.["nodeCount"]).toBe(3);
  });

  test("it is made when there is none, and not written again while nothing changes", async () => {
    await start();
    const object = await topologyWhere((one) => costOf(one, "west", "east") !== undefined);
    await settled(3000);
    expect((await cluster.get(REF))!.metadata.resourceVersion).toBe(object.metadata.resourceVersion);
    const verbs = (await writes("networktopologies")).map(({ verb, code }) => [verb, code]);
    expect(verbs.every(([, code]) => code === 200 || code === 201)).toBe(true);
    expect(verbs.length).toBeLessThanOrEqual(3);
    aggregator!.measured.rttMs["n1 n2"] = 12;
    await topologyWhere((one) => Number(costOf(one, "z1", "z2")?.["networkCost"]) > 9);
  });

  test("upstream's controller is to write it: nothing is written here", async () => {
    await cluster.create({
      ...KINDS.networkTopology,
      metadata: { namespace: "default", name: "nt-default" },
      spec: { configmapName: "netperfMetrics", weights: [USER_DEFINED] },
    });
    await start({}, { networkTopology: { writer: "upstream" } });
    await settled(4000);
    expect(await writes("networktopologies")).toEqual([]);
    expect(weightsOf((await cluster.get(REF))!)).toEqual([USER_DEFINED]);
  });

  test("weights of users are part of the graph when they are asked for, and followed", async () => {
    await cluster.create({
      ...KINDS.networkTopology,
      metadata: { namespace: "default", name: "nt-default" },
      spec: { configmapName: "netperfMetrics", weights: [USER_DEFINED] },
    });
    await start({}, { networkTopology: { writer: "upstream", declaredWeights: "UserDefined" } });
    const declared = async (): Promise<unknown> => {
      const graph = (await aggregator!.graph("/api/v1/graph/cluster")) as ClusterGraphSnapshot;
      return graph.declaredCosts;
    };
    const costs = {
      source: "NetworkTopology default/nt-default, UserDefined",
      unitMs: 1,
      zones: [],
      regions: [{ from: "west", to: "east", cost: 20 }],
    };
    await expect.poll(declared, WITHIN).toEqual(costs);
    const [{ topologyList }] = [structuredClone(USER_DEFINED)];
    topologyList[0]!.originList[0]!.costList[0]!.networkCost = 45;
    await cluster.patch(REF, { spec: { weights: [{ name: "UserDefined", topologyList }] } });
    await expect.poll(declared, WITHIN).toMatchObject({ regions: [{ from: "west", to: "east", cost: 45 }] });
    await cluster.remove(REF);
    await expect.poll(declared, WITHIN).toBeNull();
  });

  test("what another manager changes is reported, and not changed back", async () => {
    await start();
    await topologyWhere((one) => costOf(one, "west", "east") !== undefined);
    const theirs = await cluster.patch(REF, {
      spec: { weights: [USER_DEFINED, { name: "NetperfCosts", topologyList: [] }] },
    });
    const event = await cluster.waitFor(KINDS.event, (events) =>
      events.find(({ reason }) => reason === "NetperfCostsChangedByAnother"),
    );
    expect(event["regarding"]).toMatchObject({ kind: "NetworkTopology", name: "nt-default" });
    await settled(2500);
    expect((await cluster.get(REF))!.metadata.resourceVersion).toBe(theirs.metadata.resourceVersion);
    expect(await aggregator!.metrics()).toContain(
      'isochrone_network_topology_fault{reason="changed_by_another"} 1',
    );
  });

  test("allocated bandwidth is exact while pods come and go, and after an API server and an aggregator anew", async () => {
    await cluster.create(APP_GROUP);
    await start();
    await topologyWhere((one) => costOf(one, "z1", "z2")?.["bandwidthAllocated"] === "0");
    const place = async (name: string, workload: string, node: string): Promise<void> => {
      await cluster.createPods([name], {
        labels: { "appgroup.diktyo.x-k8s.io": "a1", "appgroup.diktyo.x-k8s.io.workload": workload },
      });
      await cluster.bindAndRun({ name }, node);
    };
    const allocated = (zones: string, regions: string): Promise<KubernetesObject> =>
      topologyWhere(
        (one) =>
          costOf(one, "z1", "z2")?.["bandwidthAllocated"] === zones &&
          costOf(one, "west", "east")?.["bandwidthAllocated"] === regions,
      );
    await place("p1-a", "P1", "n1");
    await place("p2-a", "P2", "n2");
    await place("p2-b", "P2", "n3");
    await allocated("100M", "100M");
    await place("p1-b", "P1", "n1");
    await allocated("200M", "200M");
    await cluster.restartApiServer();
    await cluster.remove({ ...KINDS.pod, namespace: "default", name: "p1-a" });
    await allocated("100M", "100M");
    await aggregator!.stop();
    await cluster.remove({ ...KINDS.pod, namespace: "default", name: "p2-b" });
    await start();
    await allocated("100M", "0");
    // Earlier measurements are kept.
    expect(costOf((await cluster.get(REF))!, "west", "east")?.["networkCost"]).toBeGreaterThanOrEqual(38);
  });

  test("an AppGroup is generated for a namespace that asks, and goes when it doesn't any more", async () => {
    for (const name of ["web", "db"])
      await cluster.createWorkload(name, {
        namespace: "shop",
        labels: { "isochrone.dev/workflow": "orders" },
      });
    await cluster.kubectl("annotate", "namespace", "shop", "isochrone.dev/appgroup=observe", "--overwrite");
    await start({ bytesPerSecond: { "web db": 100_000 } });
    const group = await cluster.waitFor(KINDS.appGroup, (all) =>
      all.find((one) => JSON.stringify(one.spec).includes("minBandwidth")),
    );
    expect(group.metadata).toMatchObject({ namespace: "shop", name: "orders" });
    const reference = (name: string) => ({
      kind: "Deployment",
      apiVersion: "apps/v1",
      namespace: "shop",
      name,
      selector: name,
    });
    const { workloads } = group.spec as { workloads: { workload: unknown; dependencies?: unknown[] }[] };
    expect(workloads.map(({ workload }) => workload)).toEqual([reference("db"), reference("web")]);
    // 800 kbit/s plus a quarter, in two digits. Rates from counters vary slightly.
    const [{ minBandwidth }] = workloads[1]!.dependencies as [{ minBandwidth: string }];
    expect(["970k", "980k", "990k", "1M", "1100k"]).toContain(minBandwidth);
    // A second round finds nothing to do: the API server added no foreign fields.
    const before = (await writes("appgroups")).length;
    await settled(1500);
    expect(await writes("appgroups")).toHaveLength(before);
    const theirs = { numMembers: 1, topologySortingAlgorithm: "KahnSort", workloads: [] };
    await cluster.create({ ...KINDS.appGroup, metadata: { namespace: "shop", name: "mine" }, spec: theirs });
    await cluster.kubectl("annotate", "namespace", "shop", "isochrone.dev/appgroup-");
    await cluster.waitFor(KINDS.appGroup, (all) => all.length === 1 && all[0]!.metadata.name === "mine");
  });

  test("nothing that the aggregator asked of the API server was denied", async () => {
    const asked = await cluster.auditEvents(({ user }) => user === USER);
    expect(asked.some(({ decision }) => decision === "allow")).toBe(true);
    const denied = asked.filter(({ decision }) => decision === "forbid");
    expect(denied.map(({ verb, path }) => `${verb} ${path}`)).toEqual([]);
  });
});

const APP_GROUP: KubernetesObject = {
  ...KINDS.appGroup,
  metadata: { namespace: "default", name: "a1" },
  spec: {
    numMembers: 2,
    topologySortingAlgorithm: "KahnSort",
    workloads: [
      {
        workload: { kind: "Deployment", name: "P1-deployment", selector: "P1" },
        dependencies: [
          { workload: { kind: "Deployment", name: "P2-deployment", selector: "P2" }, minBandwidth: "100M" },
        ],
      },
      { workload: { kind: "Deployment", name: "P2-deployment", selector: "P2" } },
    ],
  },
};

interface Weights {
  readonly name: string;
  readonly topologyList: readonly {
    readonly originList: readonly {
      readonly origin: string;
      readonly costList: readonly Record<string, unknown>[];
    }[];
  }[];
}

function weightsOf({ spec }: KubernetesObject): Weights[] {
  return (spec?.["weights"] ?? []) as Weights[];
}

function costOf(
  object: KubernetesObject,
  origin: string,
  destination: string,
): Record<string, unknown> | undefined {
  const { topologyList = [] } = weightsOf(object).find(({ name }) => name === "NetperfCosts") ?? {};
  return topologyList
    .flatMap(({ originList }) => originList)
    .filter((entry) => entry.origin === origin)
    .flatMap(({ costList }) => costList)
    .find((entry) => entry["destination"] === destination);
}

/** Time in which a write would have happened. */
async function settled(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms));
}
