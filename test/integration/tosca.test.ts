import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { KINDS, type KubernetesObject } from "@isochrone/kubernetes";
import type { Channel, WorkflowGraphSnapshot } from "@isochrone/topology";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { indicesOf, OUR_CRDS, startPlugin, type RunningPlugin } from "../harness/appgroups.ts";
import { controlPlaneSupport, startControlPlane, type ControlPlane } from "../harness/control-plane/index.ts";
import { CONTROLLER_RULES, MeasuredAggregator } from "../harness/measured-aggregator.ts";

const ROOT = join(import.meta.dirname, "../..");
const COMMAND = join(ROOT, "cli/bin/isochrone.mjs");
const TEMPLATE = join(ROOT, "docs/examples/messaging.yaml");
const CLOUT = join(ROOT, "test/data/tosca/messaging.clout.json");
/** Permissions that docs/tosca.md requires. */
const RULES = [
  { apiGroups: ["apps"], resources: ["deployments"], verbs: ["get", "create", "patch"] },
  { apiGroups: [""], resources: ["services"], verbs: ["get", "create", "patch"] },
  { apiGroups: ["appgroup.diktyo.x-k8s.io"], resources: ["appgroups"], verbs: ["get", "create", "patch"] },
];
/** Value that upstream's plugin treats as unlimited. */
const NO_LIMIT = 10_000;
const SERVICES = [
  "api-gateway",
  "message-notifier",
  "message-publisher",
  "message-reader",
  "mongodb",
  "rabbitmq",
];
const CHANNELS = [
  ["api-gateway", "message-notifier", "HTTPServerPushRoute", 10],
  ["api-gateway", "message-publisher", "HTTPRoute", 100],
  ["api-gateway", "message-reader", "HTTPRoute", 100],
  ["message-notifier", "rabbitmq", "AMQPRoute", 5],
  ["message-publisher", "rabbitmq", "AMQPRoute", 5],
  ["message-reader", "mongodb", "SynchronousRoute", 25],
  ["message-reader", "rabbitmq", "AMQPRoute", 5],
];

const support = controlPlaneSupport(["controller-manager", "scheduler", "kwok"]);
if (!support.supported) console.warn(`TOSCA on a real control plane skipped: ${support.reason}`);

describe.runIf(support.supported)("a TOSCA template on a real control plane", () => {
  let cluster: ControlPlane;
  let namespace: string;
  let kubeconfig: string;
  let plugin: RunningPlugin | null = null;
  let aggregator: MeasuredAggregator | null = null;

  beforeAll(async () => {
    cluster = await startControlPlane({ components: ["controller-manager", "scheduler", "kwok"] });
    for (const file of OUR_CRDS) await cluster.createYaml(readFileSync(file, "utf8"));
    const user = { serviceAccount: { namespace: "default", name: "deployer" } };
    kubeconfig = await cluster.kubeconfigOf(user);
    await cluster.grant(user, RULES);
    await cluster.addNodes(6);
  }, 900_000);
  afterAll(() => cluster?.close());

  beforeEach(async () => {
    namespace = `shop-${randomUUID().slice(0, 8)}`;
    await cluster.createNamespace(namespace);
  });
  afterEach(async () => {
    await plugin?.stop();
    await aggregator?.stop();
    plugin = null;
    aggregator = null;
  });

  interface Answer {
    readonly code: number;
    readonly out: string;
    readonly err: string;
  }

  const isochrone = (...args: readonly string[]): Promise<Answer> =>
    new Promise((resolve) => {
      const all = [COMMAND, "tosca", ...args, "-n", namespace, "--kubeconfig", kubeconfig];
      execFile(process.execPath, all, { cwd: ROOT, timeout: 120_000 }, (error, out, err) =>
        resolve({ code: error === null ? 0 : Number(error.code ?? -1), out, err }),
      );
    });
  const linesOf = ({ out }: Answer): string[] => out.trim().replaceAll(`${namespace}/`, "").split("\n");
  const deployment = async (name: string): Promise<KubernetesObject> =>
    await cluster.request("GET", `/apis/apps/v1/namespaces/${namespace}/deployments/${name}`);

  async function graphOf(fits: (graph: WorkflowGraphSnapshot) => boolean): Promise<WorkflowGraphSnapshot> {
    let graph: WorkflowGraphSnapshot | undefined;
    await expect
      .poll(
        async () => {
          graph = (await aggregator!.graph(
            `/api/v1/graph/workflows/${namespace}/messaging`,
          )) as WorkflowGraphSnapshot;
          return graph.workloads !== undefined && fits(graph);
        },
        { timeout: 60_000, interval: 200 },
      )
      .toBe(true);
    return graph!;
  }
  const routesOf = (channels: readonly Channel[]): unknown[] =>
    channels.map(({ source, target, relationshipType, priority }) => [
      source,
      target,
      relationshipType,
      priority,
    ]);

  async function startAggregator(): Promise<void> {
    const identity = { serviceAccount: { namespace: "isochrone", name: "aggregator" } };
    const file = await cluster.kubeconfigOf(identity);
    await cluster.grant(identity, CONTROLLER_RULES);
    aggregator = await MeasuredAggregator.start(file, {});
  }

  test("ends in placed pods, an order by dependencies, and channels with types and priorities", async () => {
    plugin = await startPlugin(cluster, `scheduler-plugin-${namespace}`, { appGroupIntervalMs: 1000 });
    await startAggregator();

    const applied = await isochrone(TEMPLATE, "--apply");
    expect(applied.err).toBe("");
    expect(linesOf(applied).sort()).toEqual(
      [
        "AppGroup messaging created",
        ...SERVICES.flatMap((name) => [`Deployment ${name} created`, `Service ${name} created`]),
      ].sort(),
    );

    const group = await cluster.waitFor(
      KINDS.appGroup,
      ([each]) => each !== undefined && indicesOf(each) !== null && each,
      { namespace },
    );
    // The API server kept all fields, so upstream's CRD knows all of them.
    expect(group.spec).toMatchObject({ numMembers: 6, topologySortingAlgorithm: "ReverseKahn" });
    const dependencies = (
      group.spec!["workloads"] as { dependencies?: { maxNetworkCost: number }[] }[]
    ).flatMap((workload) => workload.dependencies ?? []);
    expect(dependencies.map(({ maxNetworkCost }) => maxNetworkCost).sort((a, b) => a - b)).toEqual([
      40, 10_000, 10_000, 10_000, 10_000, 10_000, 10_000,
    ]);
    const indices = indicesOf(group)!;
    expect(Object.keys(indices).sort()).toEqual(SERVICES);
    for (const [source, target] of CHANNELS) expect(indices[target!]).toBeLessThan(indices[source!]!);

    const graph = await graphOf(
      ({ workloads }) =>
        workloads.length === 6 && workloads.every(({ pods }) => pods.some(({ node }) => node !== null)),
    );
    expect(graph.workloads.map(({ name, kind }) => [name, kind])).toEqual(
      SERVICES.map((name) => [name, "Deployment"]),
    );
    expect(routesOf(graph.channels)).toEqual(CHANNELS);
    expect(graph.channels.map(({ maxNetworkCost }) => maxNetworkCost)).toEqual([
      NO_LIMIT,
      NO_LIMIT,
      NO_LIMIT,
      NO_LIMIT,
      NO_LIMIT,
      40,
      NO_LIMIT,
    ]);
  }, 300_000);

  test("is applied by its own field manager, and again only where it changed", async () => {
    await isochrone(TEMPLATE, "--apply");
    const { metadata } = await deployment("rabbitmq");
    const managers = metadata as unknown as { managedFields: { manager: string; operation: string }[] };
    expect(managers.managedFields).toContainEqual(
      expect.objectContaining({ manager: "isochrone-tosca", operation: "Apply" }),
    );
    const again = linesOf(await isochrone(TEMPLATE, "--apply"));
    expect(again).toHaveLength(13);
    expect(again.filter((line) => !line.endsWith(" unchanged"))).toEqual([]);

    const scaled = [TEMPLATE, "--apply", "--input", "gateway_replicas=3"];
    const dry = linesOf(await isochrone(...scaled, "--dry-run"));
    expect(dry.filter((line) => !line.includes(" unchanged"))).toEqual([
      "Deployment api-gateway changed: spec.replicas (dry run)",
    ]);
    expect((await deployment("api-gateway")).spec!["replicas"]).toBe(1);
    const changed = linesOf(await isochrone(...scaled, "--manifests"));
    expect(changed.filter((line) => !line.endsWith(" unchanged"))).toEqual([
      "Deployment api-gateway changed: spec.replicas",
    ]);
    expect((await deployment("api-gateway")).spec!["replicas"]).toBe(3);

    // Another owner scales it and keeps the field until we are told to take it.
    await cluster.kubectl("-n", namespace, "scale", "deployment", "api-gateway", "--replicas=5");
    const refused = await isochrone(TEMPLATE, "--apply", "--manifests");
    expect(refused).toMatchObject({ code: 1 });
    expect(refused.err).toMatch(/api-gateway.*spec\.replicas/s);
    expect((await isochrone(TEMPLATE, "--apply", "--force-conflicts")).code).toBe(0);
    expect((await deployment("api-gateway")).spec!["replicas"]).toBe(1);
  }, 300_000);

  test("as a Clout gives the same channels, for workloads that others deploy", async () => {
    await startAggregator();
    const applied = await isochrone(CLOUT, "--apply", "--appgroup");
    expect(linesOf(applied)).toEqual(["AppGroup messaging created"]);
    expect(await cluster.list(KINDS.deployment, { namespace })).toEqual([]);
    // User Deployments with the template's names and labels.
    await cluster.createYaml(
      SERVICES.map(
        (name) => `apiVersion: apps/v1
kind: Deployment
metadata: { namespace: ${namespace}, name: ${name} }
spec:
  selector: { matchLabels: { app: ${name} } }
  template:
    metadata: { labels: { app: ${name}, appgroup.diktyo.x-k8s.io: messaging, appgroup.diktyo.x-k8s.io.workload: ${name} } }
    spec: { containers: [ { name: main, image: registry.k8s.io/pause:3.10 } ] }
`,
      ).join("---\n"),
    );
    const graph = await graphOf(
      ({ channels, workloads }) =>
        channels.length === 7 && workloads.every(({ kind }) => kind === "Deployment"),
    );
    expect(routesOf(graph.channels)).toEqual(CHANNELS);
  }, 300_000);

  test("is refused in clear words where the cluster doesn't take it", async () => {
    namespace = "nowhere";
    const missing = await isochrone(TEMPLATE, "--apply");
    expect(missing).toMatchObject({ code: 1, out: "" });
    expect(missing.err).toContain('namespaces "nowhere" not found');
  }, 120_000);
});
