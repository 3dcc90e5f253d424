// Our CRDs accept exactly what upstream's accept. Installing them over another copy removes nothing.
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { KINDS, type KubernetesObject } from "@isochrone/kubernetes";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { parse } from "yaml";
import { OUR_CRDS, upstreamFile, upstreamText } from "../harness/appgroups.ts";
import {
  ApiError,
  controlPlaneSupport,
  startControlPlane,
  type ControlPlane,
} from "../harness/control-plane/index.ts";

type Json = Readonly<Record<string, unknown>>;

const UPSTREAM = ["appgroup-api.crd.yaml", "networktopology-api.crd.yaml"];
const OLDER = ["scheduler-plugins-appgroup.crd.yaml", "scheduler-plugins-networktopology.crd.yaml"];

function undescribed(value: unknown, areProperties = false): unknown {
  if (Array.isArray(value)) return value.map((item) => undescribed(item));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => areProperties || key !== "description")
      .map(([key, member]) => [key, undescribed(member, key === "properties")]),
  );
}

describe("our CRDs", () => {
  test.each([
    [OUR_CRDS[0]!, UPSTREAM[0]!],
    [OUR_CRDS[1]!, UPSTREAM[1]!],
  ])("%s is upstream's but for descriptions", (ours, upstream) => {
    const { metadata, spec } = parse(readFileSync(ours, "utf8")) as { metadata: Json; spec: Json };
    const theirs = parse(upstreamText(upstream)) as { metadata: Json; spec: Json };
    expect(undescribed(spec)).toEqual(undescribed(theirs.spec));
    expect(metadata["name"]).toBe(theirs.metadata["name"]);
    expect((metadata["annotations"] as Json)["api-approved.kubernetes.io"]).toBe(
      (theirs.metadata["annotations"] as Json)["api-approved.kubernetes.io"],
    );
  });
});

const workload = { kind: "Deployment", name: "p-1", selector: "p1" };
const dependency = (fields: Json): Json => ({
  workloads: [{ workload, dependencies: [{ workload, ...fields }] }],
});
const cost = (fields: Json): Json => ({
  weights: [
    {
      name: "UserDefined",
      topologyList: [
        {
          topologyKey: "topology.kubernetes.io/zone",
          originList: [{ origin: "z1", costList: [{ destination: "z2", ...fields }] }],
        },
      ],
    },
  ],
});

/** Each case: subject, its spec next to a valid one's, its status. */
const APP_GROUPS: readonly [string, Json, Json?][] = [
  ["valid", {}],
  ["no members", { numMembers: 0 }],
  ["members as text", { numMembers: "3" }],
  ["no numMembers", { numMembers: undefined }],
  ["no algorithm", { topologySortingAlgorithm: undefined }],
  ["an unknown algorithm", { topologySortingAlgorithm: "BogoSort" }],
  ["no workloads", { workloads: undefined }],
  ["an empty list of workloads", { workloads: [] }],
  ["no selector", { workloads: [{ workload: { kind: "Deployment", name: "p1" } }] }],
  ["repeated selectors", { workloads: [{ workload }, { workload }] }],
  ["a dependency on itself", dependency({})],
  ["cost 10000", dependency({ maxNetworkCost: 10_000 })],
  ["cost 10001", dependency({ maxNetworkCost: 10_001 })],
  ["cost -1", dependency({ maxNetworkCost: -1 })],
  ["cost 1.5", dependency({ maxNetworkCost: 1.5 })],
  ["bandwidth 100Mi", dependency({ minBandwidth: "100Mi" })],
  ["bandwidth as number", dependency({ minBandwidth: 1_000_000 })],
  ["bandwidth fast", dependency({ minBandwidth: "fast" })],
  [
    "status",
    {},
    {
      runningWorkloads: 1,
      scheduleStartTime: "2026-01-01T00:00:00Z",
      topologyOrder: [{ workload, index: 1 }],
    },
  ],
  ["negative running workloads", {}, { runningWorkloads: -1 }],
  ["no time", {}, { topologyCalculationTime: "yesterday" }],
  [
    "an order without selector",
    {},
    { topologyOrder: [{ workload: { kind: "Deployment", name: "p1" }, index: 1 }] },
  ],
  [
    "an order with statistics",
    {},
    { topologyOrder: [{ workload, index: 1, workloadStatistics: { minCost: 10_000 } }] },
  ],
];

const NETWORK_TOPOLOGIES: readonly [string, Json, Json?][] = [
  ["valid", {}],
  ["no ConfigMap", { configmapName: undefined }],
  ["no weights", { weights: undefined }],
  ["fields of the older text", { weights: [{ name: "UserDefined", costList: [] }] }],
  ["cost 0", cost({ networkCost: 0 })],
  ["no cost", cost({})],
  ["cost -1", cost({ networkCost: -1 })],
  ["cost 1000000", cost({ networkCost: 1_000_000 })],
  ["isAllowed", cost({ networkCost: 1, isAllowed: true })],
  ["isAllowed as text", cost({ networkCost: 1, isAllowed: "yes" })],
  ["bandwidths", cost({ networkCost: 1, bandwidthCapacity: "1Gi", bandwidthAllocated: 5 })],
  ["status", {}, { nodeCount: 3, weightCalculationTime: "2026-01-01T00:00:00Z" }],
  ["-1 nodes", {}, { nodeCount: -1 }],
];

const DOCUMENTATION = readFileSync(join(import.meta.dirname, "../../docs/appgroup.md"), "utf8");

const REFUSED = [
  "AppGroup: no members",
  "AppGroup: members as text",
  "AppGroup: no numMembers",
  "AppGroup: no algorithm",
  "AppGroup: no workloads",
  "AppGroup: no selector",
  "AppGroup: cost 10001",
  "AppGroup: cost -1",
  "AppGroup: cost 1.5",
  "AppGroup: bandwidth fast",
  "AppGroup: negative running workloads",
  "AppGroup: no time",
  "AppGroup: an order without selector",
  "NetworkTopology: no ConfigMap",
  "NetworkTopology: no weights",
  "NetworkTopology: fields of the older text",
  "NetworkTopology: cost -1",
  "NetworkTopology: isAllowed as text",
  "NetworkTopology: -1 nodes",
];

function objectsOf(): [string, KubernetesObject][] {
  const groups = APP_GROUPS.map(([name, spec, status]): [string, KubernetesObject] => [
    `AppGroup: ${name}`,
    {
      ...KINDS.appGroup,
      metadata: { namespace: "default", name: "verdict" },
      spec: { numMembers: 1, topologySortingAlgorithm: "KahnSort", workloads: [{ workload }], ...spec },
      ...(status === undefined ? {} : { status }),
    },
  ]);
  const topologies = NETWORK_TOPOLOGIES.map(([name, spec, status]): [string, KubernetesObject] => [
    `NetworkTopology: ${name}`,
    {
      ...KINDS.networkTopology,
      metadata: { namespace: "default", name: "verdict" },
      spec: { configmapName: "netperf", ...cost({ networkCost: 1 }), ...spec },
      ...(status === undefined ? {} : { status }),
    },
  ]);
  return [...groups, ...topologies];
}

const support = controlPlaneSupport([]);
if (!support.supported) console.warn(`CRDs on a real API server skipped: ${support.reason}`);

describe.runIf(support.supported)("on a real API server", () => {
  let cluster: ControlPlane;

  beforeAll(async () => {
    cluster = await startControlPlane();
  }, 900_000);
  afterAll(() => cluster?.close());

  const apply = async (files: readonly string[]): Promise<void> => {
    for (const file of files) await cluster.kubectl("apply", "-f", file);
    await cluster.kubectl("wait", "--for=condition=Established", "--timeout=20s", ...NAMES);
  };
  const NAMES = [
    "crd/appgroups.appgroup.diktyo.x-k8s.io",
    "crd/networktopologies.networktopology.diktyo.x-k8s.io",
  ];

  /** Returns which objects are accepted, and their stored content. */
  async function verdicts(): Promise<Record<string, unknown>> {
    const all: Record<string, unknown> = {};
    for (const [name, object] of objectsOf()) {
      const plural = object.kind === "AppGroup" ? "appgroups" : "networktopologies";
      const path = `/apis/${object.apiVersion}/namespaces/default/${plural}?dryRun=All`;
      all[name] = await cluster.request("POST", path, object).then(
        ({ spec, status }) => ({ spec, status }),
        (error: unknown) => (error instanceof ApiError ? error.code : error),
      );
    }
    return all;
  }

  test("the samples of our documentation are accepted as they stand", async () => {
    await apply(OUR_CRDS);
    const blocks = [...DOCUMENTATION.matchAll(/```yaml\n(.*?)```/gs)].map(([, text]) => text!);
    expect(blocks.length).toBeGreaterThan(1);
    const namespace = `docs-${randomUUID().slice(0, 8)}`;
    await cluster.createNamespace(namespace);
    for (const block of blocks) await cluster.createYaml(withNamespace(block, namespace));
    expect((await cluster.list(KINDS.appGroup, { namespace })).length).toBeGreaterThan(0);
  });

  test("they install over the older copy of scheduler-plugins and over upstream's, all objects stay, and each is judged as by upstream's", async () => {
    const namespace = `samples-${randomUUID().slice(0, 8)}`;
    await cluster.createNamespace(namespace);
    await apply(OLDER.map(upstreamFile));
    const samples = (
      await Promise.all(
        ["a1.yaml", "redis.yaml", "online-boutique.yaml", "networktopology.yaml"].map((name) =>
          cluster.createYaml(withNamespace(upstreamText(name), namespace)),
        ),
      )
    ).flat();
    const older = await verdicts();

    await apply(UPSTREAM.map(upstreamFile));
    // The API server serves a changed schema with a delay. The older one drops newer fields.
    const upstream = await vi.waitFor(async () => {
      const judged = await verdicts();
      expect(judged["NetworkTopology: no cost"]).not.toBe(422);
      expect(JSON.stringify(judged["AppGroup: an order with statistics"])).toContain("minCost");
      return judged;
    }, 20_000);
    await apply(OUR_CRDS);
    await expect.poll(verdicts, { timeout: 20_000 }).toEqual(upstream);

    const refused = Object.keys(upstream).filter((name) => upstream[name] === 422);
    expect(refused).toEqual(REFUSED);
    // A field that the older copy lacks and prunes.
    const narrowed = Object.keys(older).filter((name) => older[name] !== 422 && refused.includes(name));
    expect(narrowed).toEqual(["NetworkTopology: isAllowed as text"]);

    for (const { apiVersion, kind, metadata, spec } of samples) {
      const ref = { apiVersion, kind, namespace, name: metadata.name };
      const now = await cluster.patch(ref, { metadata: { labels: { touched: "yes" } } });
      expect(now.metadata.uid).toBe(metadata.uid);
      expect(now.spec).toEqual(spec);
    }
    for (const name of ["ag", "nt"])
      expect(await cluster.kubectl("get", name, "-n", namespace, "-o", "name")).toContain("diktyo");
  });
});

function withNamespace(text: string, namespace: string): string {
  return text
    .replace("\n  namespace: default\n", "\n")
    .replace("\nmetadata:\n", `\nmetadata:\n  namespace: ${namespace}\n`);
}
