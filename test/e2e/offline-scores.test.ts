// `isochrone score` on a dump with the same graphs reproduces the scheduler-plugin's decisions.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { scoreDump } from "@isochrone/cli/parsers";
import type { Candidate, Decision, DecisionList } from "@isochrone/topology";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { EmbeddedSystem } from "../harness/embedded.ts";
import { Recorder } from "../harness/recorder.ts";

const CALLS: Readonly<Record<string, readonly string[]>> = {
  front: ["cart", "stock"],
  cart: ["stock", "price"],
  stock: ["db"],
  price: ["db"],
  db: [],
};
/** 1 + 4 x 6 pods. */
const REPLICAS = 6;
const service = ([name, calls]: readonly [string, readonly string[]]): string => `---
apiVersion: apps/v1
kind: Deployment
metadata: { name: ${name}, namespace: shop, labels: { isochrone.dev/workflow: checkout } }
spec:
  replicas: ${name === "front" ? 1 : REPLICAS}
  selector: { matchLabels: { app: ${name} } }
  template:
    metadata:
      labels:
        app: ${name}
        isochrone.dev/workflow: checkout
        appgroup.diktyo.x-k8s.io: checkout
        appgroup.diktyo.x-k8s.io.workload: ${name}
      annotations:
        lab.isochrone.dev/calls: "${calls.join(",")}"
        lab.isochrone.dev/response-bytes: "2000"
        ${name === "front" ? 'lab.isochrone.dev/entry: "true"' : 'lab.isochrone.dev/request-bytes: "100"'}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
        - { name: app, image: lab, ports: [{ containerPort: 8080 }], resources: { requests: { cpu: 50m, memory: 64Mi } } }
---
apiVersion: v1
kind: Service
metadata: { name: ${name}, namespace: shop }
spec: { selector: { app: ${name} }, ports: [{ port: 80, targetPort: 8080 }] }
`;

const workload = (name: string): string =>
  `{ kind: Deployment, apiVersion: apps/v1, namespace: shop, name: ${name}, selector: ${name} }`;
/** Some nodes exceed price's limit, so the extender rejects them. */
const GROUP = `---
apiVersion: appgroup.diktyo.x-k8s.io/v1alpha1
kind: AppGroup
metadata: { name: checkout, namespace: shop }
spec:
  numMembers: 2
  topologySortingAlgorithm: KahnSort
  workloads:
    - workload: ${workload("price")}
      dependencies: [{ workload: ${workload("db")}, maxNetworkCost: 90 }]
    - workload: ${workload("db")}
`;

describe("scores of a dump", () => {
  const folder = mkdtempSync(join(tmpdir(), "isochrone-test-"));
  let system: EmbeddedSystem;
  let recorder: Recorder;
  let decisions: readonly Decision[];

  beforeAll(async () => {
    const manifest = join(folder, "checkout.yaml");
    writeFileSync(manifest, [...Object.entries(CALLS).map(service), GROUP].join(""));
    const how = ["--manifest", manifest, "--nodes", "5", "--window", "10s", "--acts", "spread", "score"];
    system = await EmbeddedSystem.start(...how);
    recorder = new Recorder(system, "shop/checkout");
    await system.event("replaced", 600_000);
    await recorder.stop();
    ({ decisions } = await system.get<DecisionList>("page", "/api/v1/decisions?namespace=shop&limit=100"));
  }, 900_000);

  afterAll(async () => {
    await recorder?.stop();
    await system?.stop();
    rmSync(folder, { recursive: true, force: true });
  }, 30_000);

  /** Graphs in the format of `isochrone graph -o json`, and the cluster. Null: not recorded. */
  function inputsOf(decision: Decision): { graph: string; dump: string } | null {
    const { clusterVersion, workflowVersion } = decision.inputs;
    const cluster = recorder.clusters.get(clusterVersion ?? -1);
    const workflow = recorder.workflows.get(workflowVersion ?? -1);
    const dump = recorder.dumpAfter(Date.parse(decision.at), decision.pod.name);
    const isLater = ({ at, pod }: Decision): boolean =>
      Date.parse(at) > Date.parse(decision.at) && dump!.pods.has(pod.name);
    if (cluster === undefined || workflow === undefined || dump === undefined || decisions.some(isLater))
      return null;
    return { graph: JSON.stringify({ cluster, workflows: [workflow] }), dump: dump.json };
  }

  const explained = (name: string): Promise<string> =>
    system.cli("explain", name, "-n", "shop", "--server", system.urls.page, "-o", "json");

  it("are those of the decisions, for 20 pods, by graphs of the same versions", () => {
    let limited = 0;
    const compared = decisions.filter((decision) => {
      const inputs = inputsOf(decision);
      if (inputs === null) return false;
      const scores = scoreDump({
        dumpText: inputs.dump,
        graphText: inputs.graph,
        podName: `shop/${decision.pod.name}`,
        ...decision.profile!,
      });
      // The settings of `isochrone up`, which differ from the default.
      expect(decision.profile).toMatchObject({
        strategy: "resource-network/normalized",
        settings: { "resource-network.gamma": 0.2, "resource-network.delta": 0.8 },
      });
      expect(scores.inputs).toMatchObject({
        clusterVersion: decision.inputs.clusterVersion,
        workflowVersion: decision.inputs.workflowVersion,
      });
      expectSame(decision, scores.nodes);
      if (scores.nodes.some(({ feasible }) => !feasible)) limited++;
      return true;
    });
    console.log(
      `${compared.length} of ${decisions.length} decisions compared, ${limited} with rejected nodes`,
    );
    expect(new Set(compared.map(({ pod }) => pod.name)).size).toBeGreaterThanOrEqual(20);
    expect(limited).toBeGreaterThan(0);
    // The comparison is meaningful: the network mattered and nodes differ.
    expect(compared.every(({ candidates }) => candidates.some(({ score }) => score > 60))).toBe(true);
  });

  it("are printed by the commands as a person calls them", async () => {
    const decision = decisions.find((each) => inputsOf(each) !== null)!;
    const { graph, dump } = inputsOf(decision)!;
    const [dumpFile, graphFile, decisionFile] = ["dump", "graph", "decision"].map((name) =>
      join(folder, `${name}.json`),
    );
    const files = { dump: dumpFile!, graph: graphFile!, decision: decisionFile! };
    writeFileSync(files.dump, dump);
    writeFileSync(files.graph, graph);
    const pod = `shop/${decision.pod.name}`;
    const asked = ["score", "--cluster", files.dump, "--graph", files.graph, "--pod", pod];
    writeFileSync(files.decision, await explained(decision.pod.name));
    const recorded = ["score", "--cluster", files.dump, "--graph", files.graph, "--decision", files.decision];
    const text = await system.cli(...recorded, "-o", "json");
    expectSame(decision, (JSON.parse(text) as { nodes: Candidate[] }).nodes);
    // A dump taken now can be scored now.
    const lab = await system.cli("lab", "objects", "--lab", system.urls.lab, "-o", "json");
    writeFileSync(files.dump, lab);
    writeFileSync(files.graph, await system.cli("graph", "--server", system.urls.page, "-o", "json"));
    expect(await system.cli(...asked)).toMatch(/^inputs: cluster graph \d+, workflow graph \d+, 20/m);
    // Without graphs, the command reports that it can't score.
    const blind = await system.cli("score", "--cluster", files.dump, "--pod", pod);
    expect(blind).toContain("the aggregator annotates workloads where annotations.workloads is on");
  }, 120_000);
});

/** Compares everything decided about each node. Ignores the last digits, which depend on summation order. */
function expectSame(decision: Decision, nodes: readonly Candidate[]): void {
  const byName = new Map(nodes.map((node) => [node.name, node]));
  for (const { name, feasible, raw, score, parts } of decision.candidates) {
    const own = byName.get(name)!;
    const where = `${decision.pod.name} on ${name} by graph ${decision.inputs.clusterVersion}`;
    expect([where, own.feasible]).toEqual([where, feasible]);
    const pairs: [string, number | null, number | null][] = [
      ["raw", own.raw, raw],
      ["score", own.score, score],
      ...Object.entries(parts).map(
        ([part, value]) => [part, own.parts[part] ?? null, value] as [string, number | null, number | null],
      ),
    ];
    for (const [what, offline, live] of pairs) {
      const apart = offline === live ? 0 : Math.abs((offline ?? Number.NaN) - (live ?? Number.NaN));
      if (!(apart <= 1e-9 * Math.max(1, Math.abs(live ?? 0))))
        throw new Error(`${where}: ${what} must be ${live}, got ${offline}`);
    }
  }
}
