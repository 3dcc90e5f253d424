// Uses Kubernetes' own EndpointSlice controller and only the chart's permissions.
import { KINDS, zonesHinted, type KubernetesObject, type ObjectRef } from "@isochrone/kubernetes";
import type { ServiceDemand, ZoneDemand } from "@isochrone/topology";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  grantsOf,
  installRules,
  manifest,
  MANIFEST_VALUES,
  usesOf,
  verdictOf,
  type ComponentProcess,
} from "../harness/components/index.ts";
import { controlPlaneSupport, startControlPlane, type ControlPlane } from "../harness/control-plane/index.ts";
import { clusterGraph, workflowGraph } from "../harness/extender.ts";
import { DESTINATION_RULE_CRD } from "../harness/istio.ts";
import { WebhookTestbed } from "../harness/webhook.ts";

const { NAMESPACE, NAME } = MANIFEST_VALUES;
const ACCOUNT = `system:serviceaccount:${NAMESPACE}:${NAME}-scheduler-plugin`;
const COMPONENTS = ["controller-manager"] as const;
const FILES = [
  "scheduler-plugin-dispatch",
  "scheduler-plugin-hints",
  "scheduler-plugin-destination-rules",
] as const;
const WITHIN = { timeout: 60_000, interval: 250 };
const ZONE = "topology.kubernetes.io/zone";
const REGION = "topology.kubernetes.io/region";
const NODES = [
  ["node-0", "west"],
  ["node-1", "east"],
] as const;
const ROUND_MS = 300;
/** Enough rounds to detect a change. */
const ROUNDS_MS = 4000;

const support = controlPlaneSupport(COMPONENTS);
if (!support.supported) console.warn(`zone weights are not tested: ${support.reason}`);

describe.runIf(support.supported)("zone weights on a real API server", { timeout: 180_000 }, () => {
  let cluster: ControlPlane;
  let testbed: WebhookTestbed;
  let plugin: ComponentProcess;
  let pods = 0;

  beforeAll(async () => {
    cluster = await startControlPlane({ components: COMPONENTS, audit: "RequestResponse" });
    testbed = new WebhookTestbed(cluster);
    await testbed.prepare(NODES.length);
    await cluster.create(DESTINATION_RULE_CRD);
    await installRules(cluster, FILES);
    for (const [name, zone] of NODES)
      await cluster.patch({ ...KINDS.node, name }, { metadata: { labels: { [ZONE]: zone, [REGION]: "r" } } });
    say({ west: 60, east: 60 });
    for (const app of ["db", "mesh"]) {
      const ports = [{ port: 80 }];
      await cluster.create({
        ...KINDS.service,
        metadata: { namespace: "default", name: app },
        spec: { selector: { app }, ports },
      });
      for (const [node] of NODES) for (let i = 0; i < 2; i++) await addPod(app, node);
    }
    plugin = await testbed.plugin(
      "scheduler-plugin-0",
      {},
      { dispatch: { levers: ["hints", "istio"], roundMs: ROUND_MS } },
    );
    await testbed.beat();
    await plugin.start();
    await testbed.untilGating();
  }, 900_000);

  afterAll(async () => {
    await testbed?.close();
    await cluster?.close();
  });

  function say(rates: Readonly<Record<string, number>>): void {
    const graph = clusterGraph(
      NODES.map(([name]) => ({ name })),
      () => 10,
    );
    const nodes = graph.nodes.map((node, index) => ({ ...node, zone: NODES[index]![1], region: "r" }));
    const zones = Object.entries(rates).map(([zone, requestsPerSecond]): ZoneDemand => ({
      zone,
      requestsPerSecond,
      errorRatio: 0,
      inTimeRatio: null,
      latencyMs: { p50: 5, p90: 9, p99: 12 },
      ageSeconds: 1,
    }));
    const demand = ["db", "mesh"].map((name): ServiceDemand => ({
      namespace: "default",
      name,
      deadlineMs: null,
      zones,
    }));
    testbed.say({ cluster: { ...graph, nodes }, workflow: workflowGraph({}, []), demand });
  }

  /** A running, ready pod with the status of a kubelet. */
  async function addPod(app: string, node: string): Promise<string> {
    const name = `${app}-${pods++}`;
    await cluster.create({
      ...KINDS.pod,
      metadata: { namespace: "default", name, labels: { app } },
      spec: { containers: [{ name: "main", image: "none" }], terminationGracePeriodSeconds: 0 },
    });
    await cluster.bindAndRun({ namespace: "default", name }, node);
    const podIP = `10.244.0.${pods}`;
    await cluster.request("PATCH", `/api/v1/namespaces/default/pods/${name}/status`, {
      status: { podIP, podIPs: [{ ip: podIP }] },
    });
    return name;
  }

  const order = async (app: string, dispatch: string | null): Promise<void> => {
    const ref = { ...KINDS.service, namespace: "default", name: app };
    await cluster.patch(ref, { metadata: { annotations: { "isochrone.dev/dispatch": dispatch } } });
  };
  const slices = (app: string): Promise<KubernetesObject[]> =>
    cluster.list(KINDS.endpointSlice, {
      namespace: "default",
      labels: `kubernetes.io/service-name=${app}`,
    });
  /** Hints as "endpoint zone > hinted zones", sorted. */
  const hints = async (app: string): Promise<string[]> => {
    const found = await slices(app);
    return found
      .flatMap((slice) => {
        const hinted = zonesHinted(slice);
        return (slice.endpoints as { zone: string }[]).map(
          ({ zone }, i) => `${zone} > ${hinted[i]!.join(" ")}`,
        );
      })
      .sort();
  };
  const own = (east: number, west: number): string[] => [
    ...Array.from({ length: east }, () => "east > east"),
    ...Array.from({ length: west }, () => "west > west"),
  ];
  const bare = (east: number, west: number): string[] => [
    ...Array.from({ length: east }, () => "east > "),
    ...Array.from({ length: west }, () => "west > "),
  ];
  const refusals = async (): Promise<number[]> => {
    const events = await cluster.list(
      { apiVersion: "events.k8s.io/v1", kind: "Event" },
      { namespace: "default" },
    );
    return events
      .filter(({ reason }) => reason === "ZoneWeightsRefused")
      .map(({ series }) => (series as { count: number } | undefined)?.count ?? 1);
  };
  const ourWrites = async (): Promise<string[]> => {
    const events = await cluster.auditEvents(({ user }) => user === ACCOUNT);
    return events
      .filter(({ verb }) => ["create", "update", "patch", "delete"].includes(verb))
      .map(({ verb, resource }) => `${verb} ${resource}`)
      .filter((text) => /endpointslices|destinationrules|services|events/.test(text));
  };

  test("nothing is written for advice", async () => {
    await expect.poll(() => hints("db"), WITHIN).toEqual(bare(2, 2));
    await order("db", "advise");
    await new Promise((resolve) => setTimeout(resolve, ROUNDS_MS));
    expect(await hints("db")).toEqual(bare(2, 2));
    expect(await ourWrites()).toEqual([]);
  });

  test("the command advises, whoever asks", async () => {
    const asked = ["dispatch", "advise", "default/db", "-o", "json", "--server", testbed.graphUrl];
    const { code, stdout } = await testbed.command(asked);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      service: "default/db",
      dispatch: "advise",
      refused: null,
      zones: [
        { zone: "east", endpoints: 2, now: { east: 0.5, west: 0.5 }, advised: { east: 1 } },
        { zone: "west", endpoints: 2, now: { east: 0.5, west: 0.5 }, advised: { west: 1 } },
      ],
    });
  });

  test("hints come, and stand when Kubernetes' controller writes the slices", async () => {
    await order("db", "hints");
    await expect.poll(() => hints("db"), WITHIN).toEqual(own(2, 2));
    const added = await addPod("db", "node-0");
    await expect.poll(() => hints("db"), WITHIN).toEqual(own(2, 3));
    await cluster.remove({ ...KINDS.pod, namespace: "default", name: added });
    await expect.poll(() => hints("db"), WITHIN).toEqual(own(2, 2));
    // Each sync of the Service makes the controller write its own hints, which are none.
    for (let i = 0; i < 5; i++) {
      const ref: ObjectRef = { ...KINDS.service, namespace: "default", name: "db" };
      await cluster.patch(ref, { metadata: { labels: { look: String(i) } } });
      await new Promise((resolve) => setTimeout(resolve, 300));
      expect(await hints("db")).toEqual(own(2, 2));
    }
  });

  test("a hot zone spills", async () => {
    say({ west: 200, east: 20 });
    await expect
      .poll(
        async () => (await hints("db")).filter((each) => each.startsWith("east >") && each.includes("west")),
        WITHIN,
      )
      .not.toEqual([]);
    say({ west: 60, east: 60 });
    await expect.poll(() => hints("db"), WITHIN).toEqual(own(2, 2));
  });

  test("without the webhook Kubernetes' own hints are back at the next write, and ours with the webhook", async () => {
    await plugin.stop();
    const added = await addPod("db", "node-1");
    await expect.poll(() => hints("db"), WITHIN).toEqual(bare(3, 2));
    const ref: ObjectRef = { ...KINDS.service, namespace: "default", name: "db" };
    await cluster.patch(ref, { spec: { trafficDistribution: "PreferClose" } });
    await expect.poll(() => hints("db"), WITHIN).toEqual(own(3, 2));
    await cluster.patch(ref, { spec: { trafficDistribution: null } });
    await expect.poll(() => hints("db"), WITHIN).toEqual(bare(3, 2));
    await cluster.remove({ ...KINDS.pod, namespace: "default", name: added });
    await plugin.start();
    await expect.poll(() => hints("db"), WITHIN).toEqual(own(2, 2));
  });

  test("a Service that asks no more is as Kubernetes has it", async () => {
    await order("db", null);
    await expect.poll(() => hints("db"), WITHIN).toEqual(bare(2, 2));
    const annotated = async (): Promise<boolean> =>
      (await slices("db")).some(
        ({ metadata }) => metadata.annotations?.["isochrone.dev/zone-weights"] !== undefined,
      );
    expect(await annotated()).toBe(false);
  });

  test("a DestinationRule is applied by a field manager of its own, and never beside somebody's", async () => {
    const rule = { ...KINDS.destinationRule, namespace: "default", name: "isochrone-mesh" };
    await order("mesh", "istio");
    await expect.poll(() => cluster.get(rule), WITHIN).not.toBeNull();
    const found = await cluster.get(rule);
    const managers = (found!.metadata as { managedFields?: { manager: string }[] }).managedFields;
    expect(managers!.map(({ manager }) => manager)).toEqual(["isochrone-dispatch"]);
    expect(found!.spec).toMatchObject({ host: "mesh.default.svc.cluster.local" });

    const theirs = {
      ...KINDS.destinationRule,
      metadata: { namespace: "default", name: "theirs" },
      spec: { host: "mesh" },
    };
    // Twice, because the second Event belongs to a series.
    for (let time = 0; time < 2; time++) {
      await cluster.create(theirs);
      await expect.poll(() => cluster.get(rule), WITHIN).toBeNull();
      await expect.poll(refusals, WITHIN).toEqual([time === 0 ? 1 : 2]);
      await cluster.remove({ ...KINDS.destinationRule, namespace: "default", name: "theirs" });
      await expect.poll(() => cluster.get(rule), WITHIN).not.toBeNull();
    }
  });

  test("nothing else is asked for, and no right is left unused", async () => {
    const isOurs = (user: string): boolean => user === ACCOUNT;
    const events = await cluster.auditEvents(({ user }) => isOurs(user));
    const uses = events.flatMap((event) => usesOf(event, isOurs));
    const grants = FILES.flatMap((file) => grantsOf(manifest("rbac", file)));
    const verdict = verdictOf({ grants, uses, scenarios: [], faultsOnly: {}, byChance: new Set() });
    expect({ unused: verdict.unused, denied: verdict.denied }).toEqual({ unused: [], denied: [] });
  });
});
