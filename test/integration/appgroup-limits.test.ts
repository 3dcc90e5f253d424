// The filter example of KEP-260: two regions of two zones of two nodes, P2 on n1, P3 on n4, and P1 at most 15
// away from P2, with a real kube-scheduler.
import { readFileSync } from "node:fs";
import { KINDS, type KubernetesObject } from "@isochrone/kubernetes";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { OUR_CRDS } from "../harness/appgroups.ts";
import { controlPlaneSupport, nodeNameOf, startControlPlane } from "../harness/control-plane/index.ts";
import type { ControlPlane } from "../harness/control-plane/index.ts";
import { Certificates, schedulerConfig, startReplica } from "../harness/extender.ts";
import type { Replica } from "../harness/extender.ts";
import { MeasuredAggregator } from "../harness/measured-aggregator.ts";

const NODES = Array.from({ length: 8 }, (_, index) => `n${index + 1}`);
const NEAR = NODES.slice(0, 4);
const FAR = NODES.slice(4);
const zoneOf = (node: string): number => Math.ceil(Number(node.slice(1)) / 2);
const regionOf = (node: string): string => (zoneOf(node) <= 2 ? "us-west-1" : "us-east-1");

/** The example's weights as ms: 5 between z1 and z2, 10 between z3 and z4, 20 between the regions. */
function rttMs(a: string, b: string): number {
  if (zoneOf(a) === zoneOf(b)) return 1;
  if (regionOf(a) !== regionOf(b)) return 20;
  return regionOf(a) === "us-west-1" ? 5 : 10;
}
const MEASURED = Object.fromEntries(
  NODES.flatMap((a) => NODES.flatMap((b) => (a === b ? [] : [[`${a} ${b}`, rttMs(a, b)] as const]))),
);

const workload = (name: string) => ({
  kind: "Deployment",
  apiVersion: "apps/v1",
  namespace: "default",
  name,
  selector: name,
});
const A1: KubernetesObject = {
  ...KINDS.appGroup,
  metadata: { name: "a1", namespace: "default" },
  spec: {
    numMembers: 3,
    topologySortingAlgorithm: "KahnSort",
    workloads: [
      {
        workload: workload("p1"),
        dependencies: [{ workload: workload("p2"), minBandwidth: "100Mi", maxNetworkCost: 15 }],
      },
      {
        workload: workload("p2"),
        dependencies: [{ workload: workload("p3"), minBandwidth: "250Mi", maxNetworkCost: 20 }],
      },
      { workload: workload("p3") },
    ],
  },
};

const support = controlPlaneSupport(["scheduler", "controller-manager"]);
if (!support.supported) console.warn(`limits of AppGroups are not tested: ${support.reason}`);

describe.runIf(support.supported)("an AppGroup's limits on a real kube-scheduler", () => {
  let cluster: ControlPlane;
  let certificates: Certificates;
  let aggregator: MeasuredAggregator;
  let extender: Replica;

  beforeAll(async () => {
    [cluster, certificates] = await Promise.all([
      startControlPlane({ components: ["scheduler", "controller-manager"] }),
      Certificates.create(),
    ]);
    for (const file of OUR_CRDS) await cluster.createYaml(readFileSync(file, "utf8"));
    await cluster.addNodes(NODES.map((name) => ({ name, zone: `z${zoneOf(name)}`, region: regionOf(name) })));
    await cluster.create(A1);
    aggregator = await MeasuredAggregator.start(cluster.kubeconfig, {}, { rttMs: { ...MEASURED } });
    extender = await startReplica({ cluster, certificates, graphUrl: aggregator.url });
    await vi.waitUntil(async () => (await extender.get("/readyz")).status === 200, { timeout: 30_000 });
    await cluster.restartScheduler(
      await schedulerConfig(extender.url, certificates, { options: ["--filter"] }),
    );
    await deploy("p2", "n1");
    await deploy("p3", "n4");
  }, 180_000);
  afterAll(async () => {
    await extender?.stop();
    await aggregator?.stop();
    await cluster?.close();
    await certificates?.remove();
  });

  const labels = { "appgroup.diktyo.x-k8s.io": "a1" };
  const pin = (node: string) => ({ spec: { nodeSelector: { "kubernetes.io/hostname": node } } });

  const deploy = async (name: string, node: string | null, replicas = 1): Promise<string[]> => {
    const where = node === null ? {} : pin(node);
    await cluster.createWorkload(name, {
      replicas,
      labels: { ...labels, "appgroup.diktyo.x-k8s.io.workload": name },
      ...where,
    });
    return cluster.waitFor(
      "pods",
      (pods) => {
        const nodes = pods.filter(({ metadata }) => metadata.labels?.["app"] === name).map(nodeNameOf);
        return nodes.length === replicas && !nodes.includes(null) ? (nodes as string[]) : null;
      },
      { namespace: "default" },
    );
  };

  /** The extender filter's reasons against each node for a pod of p1. */
  const rejected = async (): Promise<Record<string, string>> => {
    const metadata = { name: "asked", namespace: "default", labels: { ...labels, app: "p1" } };
    const { json } = await extender.post("filter", { Pod: { metadata }, NodeNames: NODES });
    return (json as { FailedNodes: Record<string, string> | null }).FailedNodes ?? {};
  };
  const rejectedNodes = async (): Promise<string[]> => Object.keys(await rejected()).sort();

  test("P1 goes to the four nodes within 15 of P2, and elsewhere the user is told why not", async () => {
    await expect.poll(rejectedNodes, { timeout: 30_000 }).toEqual(FAR);
    expect((await rejected())["n7"]).toMatch(
      /maxNetworkCost of channel p1 -> p2 is 15, the network cost from n7 is (19|20)\.\d+ \(1 of 1 replicas beyond it\)/,
    );
    const placed = await deploy("p1", null, 6);
    expect(placed.filter((node) => !NEAR.includes(node))).toEqual([]);

    await cluster.createPods(["far"], { labels: { ...labels, app: "p1" }, ...pin("n7") });
    onTestFinished(() =>
      cluster.remove({ ...KINDS.pod, namespace: "default", name: "far" }).then(() => undefined),
    );
    const message = await cluster.waitFor("pods", (pods) => {
      const text = JSON.stringify(pods.find(({ metadata }) => metadata.name === "far")?.status ?? {});
      return text.includes("Unschedulable") ? text : null;
    });
    expect(message).toContain("maxNetworkCost of channel p1 -> p2 is 15");
  });

  test("a node without the bandwidth that P1 needs to P2 is out too", async () => {
    aggregator.measured.bursts["n2 n1"] = 50e6;
    aggregator.measured.bursts["n3 n1"] = 10e9;
    await expect.poll(rejectedNodes, { timeout: 30_000 }).toEqual(["n2", ...FAR]);
    expect((await rejected())["n2"]).toContain("minBandwidth of channel p1 -> p2 is 104857600 bit/s");
  });
});
