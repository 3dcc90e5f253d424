// A real control plane with KWOK nodes and an emulated network between them.
import { readNodeAnnotations } from "@isochrone/topology";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { controlPlaneSupport, startControlPlane, type ControlPlane } from "../harness/control-plane/index.ts";
import { EmbeddedSystem, eventually } from "../harness/embedded.ts";

const support = controlPlaneSupport();
if (!support.supported) console.warn(`up --kubeconfig skipped: ${support.reason}`);

const NODES = 12;
const START_MS = 400_000;
const NAMESPACE = "default";
const PREFIX = "isochrone.dev/";
/** Slower intervals, because 12 nodes and a control plane share the machine with other tests. */
const BEAT = {
  ISOCHRONE_PROBE_INTERVAL_MS: "2000",
  ISOCHRONE_PROBE_METHODS: "udp_rr",
};

interface Meta {
  readonly metadata: { readonly name: string; readonly annotations?: Record<string, string> };
}

interface Pod extends Meta {
  readonly spec?: { readonly nodeName?: string };
  readonly status?: {
    readonly phase?: string;
    readonly podIP?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
    readonly containerStatuses?: readonly { readonly restartCount: number }[];
  };
}

interface EndpointSlice {
  readonly metadata: { readonly labels?: Record<string, string> };
  readonly endpoints: readonly { readonly conditions: { readonly ready?: boolean } }[] | null;
}

describe.runIf(support.supported)("a cluster with simulated nodes", () => {
  let cluster: ControlPlane;
  let system: EmbeddedSystem;

  const listOf = async <T>(path: string): Promise<T[]> =>
    (await cluster.request<{ items: T[] }>("GET", path)).items;
  const pods = (): Promise<Pod[]> => listOf(`/api/v1/namespaces/${NAMESPACE}/pods`);

  beforeAll(async () => {
    for (const [name, value] of Object.entries(BEAT)) vi.stubEnv(name, value);
    cluster = await startControlPlane({ components: ["controller-manager", "scheduler", "kwok"] });
    await cluster.addNodes(NODES, (i) => ({
      region: `region-${i % 2}`,
      zone: `region-${i % 2}-${Math.floor(i / 2) % 3}`,
      cpu: "4",
      memory: "8Gi",
    }));
    system = await EmbeddedSystem.start("--kubeconfig", cluster.kubeconfig, "--window", "30s", "--rate", "4");
    const config = await system.cli("scheduler-config", "--url", system.urls.extender);
    await cluster.restartScheduler(`${config}\nclientConnection:\n  kubeconfig: "@KUBECONFIG@"\n`);
  }, START_MS);

  afterAll(async () => {
    await system?.stop();
    await cluster?.close();
    vi.unstubAllEnvs();
  }, 150_000);

  test("pods of the workflow run, and kube-scheduler places them anew by the extender's score", async () => {
    const { moves } = (await system.event("replaced", 540_000)) as unknown as {
      moves: readonly { readonly workload: string; readonly to: string }[];
    };
    expect(moves.length).toBeGreaterThan(10);
    const { decisions } = await system.decisions();
    const byPod = new Map(decisions.map((decision) => [decision.pod.name, decision]));
    const parts = (await pods()).flatMap(({ metadata: { name }, spec }) => {
      const nodes = byPod.get(name)?.candidates ?? [];
      const best = Math.max(...nodes.map(({ score }) => score ?? 0));
      const own = nodes.find(({ name: node }) => node === spec?.nodeName)?.score ?? 0;
      return best > 0 ? [own / best] : [];
    });
    expect(parts.length).toBeGreaterThan(10);
    // kube-scheduler's own scores decide between nodes of similar distance.
    expect(parts.reduce((sum, part) => sum + part, 0) / parts.length).toBeGreaterThan(0.85);
    // Both parts had data: the nodes' available resources are among the inputs.
    for (const { candidates } of byPod.values())
      for (const { parts: known } of candidates) expect(known["resource"]).toEqual(expect.any(Number));
  }, 600_000);

  test("all pods run, at addresses that a cluster's Services take, and no controller fails", async () => {
    const deployments = await listOf<{ spec: { replicas?: number } }>(
      `/apis/apps/v1/namespaces/${NAMESPACE}/deployments`,
    );
    const wanted = deployments.reduce((sum, { spec }) => sum + (spec.replicas ?? 1), 0);
    expect(wanted).toBeGreaterThan(15);
    const running = await eventually("all pods run", 120_000, async () => {
      const all = await pods();
      const ready = all.filter(
        ({ metadata, status }) =>
          metadata.annotations?.["lab.isochrone.dev/port"] !== undefined &&
          status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True"),
      );
      return all.length === wanted && ready.length === wanted && ready;
    });
    expect(new Set(running.map(({ status }) => status?.podIP)).size).toBe(wanted);
    expect(running.filter(({ status }) => status?.podIP?.startsWith("127."))).toEqual([]);
    const slices = await eventually("every Service has its endpoints", 60_000, async () => {
      const all = await listOf<EndpointSlice>(
        `/apis/discovery.k8s.io/v1/namespaces/${NAMESPACE}/endpointslices`,
      );
      const ready = all
        .flatMap(({ endpoints }) => endpoints ?? [])
        .filter(({ conditions }) => conditions.ready);
      return ready.length === wanted && all;
    });
    expect(slices.length).toBe(deployments.length);
    expect(failuresOf(cluster.log("controller-manager"))).toEqual([]);
    const events = await listOf<{ type: string; reason: string; message: string }>("/api/v1/events");
    // Kubernetes' endpoints controller may find an object that it has just created, because its watch lags.
    const isRace = (message: string): boolean =>
      /^Failed to create endpoint .* already exists$/.test(message);
    const failures = events.filter(({ reason }) => reason.startsWith("FailedTo"));
    expect(failures.map(({ message }) => message).filter((message) => !isRace(message))).toEqual([]);
  }, 200_000);

  test("nodes carry what was measured: costs to all others, and what each has available", async () => {
    const names = (await listOf<Meta>("/api/v1/nodes")).map(({ metadata }) => metadata.name);
    const pairs = names.flatMap((a) => names.filter((b) => b !== a).map((b) => `${a} ${b}`));
    // A pair is done once graph and annotation agreed within the writer's own threshold.
    const met = new Set<string>();
    const used = new Set<string>();
    const said = new Map<string, number>();
    await eventually("all nodes carry what was measured", 240_000, async () => {
      const [graph, nodes] = [await system.cluster(), await listOf<Meta>("/api/v1/nodes")];
      for (const { metadata } of nodes) {
        const read = readNodeAnnotations(metadata.annotations ?? {}, [PREFIX]);
        if (read.availableCpuMillicores !== null && read.availableMemoryBytes !== null)
          used.add(metadata.name);
        for (const [peer, costMs] of read.networkCostsMs) {
          const pair = `${metadata.name} ${peer}`;
          const measured =
            graph.links.find(({ source, target }) => `${source} ${target}` === pair)?.costMs ?? null;
          said.set(pair, costMs);
          if (measured !== null && Math.abs(costMs - measured) <= Math.max(0.2, 0.1 * measured))
            met.add(pair);
        }
      }
      if (met.size < pairs.length || used.size < NODES)
        throw new Error(`${met.size} of ${pairs.length} pairs, ${used.size} of ${NODES} nodes`);
      return true;
    });
    const truth = JSON.parse(await system.cli("lab", "matrix", "--lab", system.urls.lab, "-o", "json")) as {
      nodes: string[];
      rttMs: (number | null)[][];
    };
    // A busy machine only lengthens times: each packet wakes a probe, the relay twice and a responder.
    let worstMs = 0;
    for (const [pair, costMs] of said) {
      const [i, j] = pair.split(" ").map((name) => truth.nodes.indexOf(name));
      const realMs = truth.rttMs[i!]![j!]!;
      worstMs = Math.max(worstMs, costMs - realMs);
      expect(costMs).toBeGreaterThan(0.95 * realMs - 0.2);
    }
    console.log(`costs that nodes carry: up to ${worstMs.toFixed(2)} ms above the emulated times`);
  }, 300_000);

  test("its end leaves the nodes and takes the workflow along", async () => {
    expect(await system.stop()).toBe(0);
    expect(await listOf<Meta>(`/apis/apps/v1/namespaces/${NAMESPACE}/deployments`)).toEqual([]);
    await eventually("the pods are gone", 60_000, async () => (await pods()).length === 0);
    expect((await listOf<Meta>("/api/v1/nodes")).length).toBe(NODES);
  }, 120_000);

  test("Ctrl-C while it starts leaves nothing behind", async () => {
    const starting = EmbeddedSystem.launch(["--kubeconfig", cluster.kubeconfig]);
    try {
      await eventually("its first Deployment", 60_000, async () => {
        const all = await listOf<Meta>(`/apis/apps/v1/namespaces/${NAMESPACE}/deployments`);
        return all.length > 0;
      });
    } finally {
      expect(await starting.stop()).toBe(0);
    }
    expect(starting.events.map(({ event }) => event)).not.toContain("started");
    await eventually("nothing of it", 60_000, async () => {
      const all = await listOf<Meta>(`/apis/apps/v1/namespaces/${NAMESPACE}/deployments`);
      return all.length === 0 && (await pods()).length === 0;
    });
  }, 180_000);

  test("a node that is no simulated one is refused by name", async () => {
    await cluster.request("POST", "/api/v1/nodes", {
      apiVersion: "v1",
      kind: "Node",
      metadata: { name: "real-1" },
    });
    await expect(EmbeddedSystem.start("--kubeconfig", cluster.kubeconfig)).rejects.toThrow(
      /every node must be simulated .*node real-1 is not/,
    );
  }, 120_000);
});

/** Errors logged by controllers, except for write conflicts, which they retry. */
function failuresOf(log: string): string[] {
  return log
    .split("\n")
    .filter((line) => /^E\d{4} /.test(line))
    .filter((line) => !line.includes("the object has been modified"));
}
