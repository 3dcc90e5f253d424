// The scheduler-plugin as extender of a real kube-scheduler on a real API server with client certificates.
import { startAggregator } from "@isochrone/aggregator/testing";
import { KINDS } from "@isochrone/kubernetes";
import type { ObjectRef } from "@isochrone/kubernetes";
import { createApiServerStore } from "@isochrone/kubernetes/api-server";
import { systemClock, systemRandom } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import { DEFAULT_ANNOTATION_PREFIX, writeNodeAnnotations } from "@isochrone/topology";
import type { Decision, DecisionList } from "@isochrone/topology";
import { execFile } from "node:child_process";
import { copyFile, mkdtemp, rm } from "node:fs/promises";
import { connect, createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import { controlPlaneSupport } from "../harness/control-plane/index.ts";
import { clusterGraph, COMMAND, schedulerConfig, workflowGraph, WORKFLOW } from "../harness/extender.ts";
import type { Replica } from "../harness/extender.ts";
import { extenderTestbed } from "../harness/extender-testbed.ts";

const NODES = Array.from({ length: 8 }, (_, index) => `n${index}`);
const support = controlPlaneSupport(["scheduler"]);
if (!support.supported)
  console.warn(`the extender on a real kube-scheduler is not tested: ${support.reason}`);

/** Nodes 0 to 3 are near each other, and so are 4 to 7. */
const twoRegionsMs = (a: string, b: string): number => {
  const [first, second] = [Number(a.slice(1)), Number(b.slice(1))];
  return first < 4 === second < 4 ? 1 + Math.abs(first - second) : 80;
};
const TRAFFIC = [["p", "q", 100_000]] as const;

describe.runIf(support.supported)("the extender of a real kube-scheduler", () => {
  const testbed = extenderTestbed(async ({ cluster }) => {
    await cluster.addNodes(NODES.length, (index) => ({ name: NODES[index]! }));
  });
  const { replica, nodesOf } = testbed;

  const nodes = (availableCpuMillicores: number | null = null) =>
    NODES.map((name) => ({ name, availableCpuMillicores }));
  const sayQOn = (node: string): void =>
    testbed.graphs.say({
      cluster: clusterGraph(nodes(), twoRegionsMs),
      workflow: workflowGraph({ p: [], q: [node] }, TRAFFIC),
    });

  const createPods = (
    names: readonly string[],
    workload = "p",
    workflow: string | null = WORKFLOW,
  ): Promise<unknown> =>
    testbed.cluster.createPods(names, {
      labels: { app: workload, ...(workflow === null ? {} : { "isochrone.dev/workflow": workflow }) },
      requests: { cpu: "500m", memory: "128Mi" },
    });

  /** Output of `isochrone explain` without the decisions, which need certificates. */
  const explained = async (pod: string): Promise<string> => {
    const args = ["explain", pod, "--kubeconfig", testbed.cluster.kubeconfig, "--server", testbed.graphs.url];
    return (await promisify(execFile)(process.execPath, [COMMAND, ...args], { timeout: 30_000 })).stdout;
  };

  test("pods of a workflow land by score; each says why on itself and to the command", async () => {
    sayQOn("n5");
    const extender = await replica();
    await testbed.cluster.restartScheduler(await schedulerConfig(extender.url, testbed.certificates));
    await createPods(["by-score-1", "by-score-2"]);
    expect(await nodesOf(["by-score-1", "by-score-2"])).toEqual(["n5", "n5"]);
    const [decision] = await extender.decisions("by-score-1");
    expect(decision).toMatchObject({ best: "n5", workload: "p", workflow: "default/flow" });
    const events = await testbed.cluster.waitFor(
      "/apis/events.k8s.io/v1/namespaces/default/events",
      (all) => {
        const ours = all.filter(
          ({ reportingController }) => reportingController === "isochrone.dev/scheduler-plugin",
        );
        return ours.length === 2 ? ours : null;
      },
    );
    expect(events.map(({ reason: why }) => why)).toEqual(["NetworkAwarePlacement", "NetworkAwarePlacement"]);
    expect(String(events[0]!["note"])).toContain("on n5, scored by resource-network");
    expect(await explained("by-score-1")).toContain("It is on n5, put there by default-scheduler.");
    await testbed.cluster.createPods(["nowhere"], { requests: { cpu: "1000" } });
    await testbed.cluster.waitFor("pods", (pods) =>
      JSON.stringify(pods.find(({ metadata }) => metadata.name === "nowhere")?.status).includes(
        "Unschedulable",
      ),
    );
    const words = await explained("nowhere");
    expect(words).toContain("default/nowhere: pending");
    expect(words).toContain("- 8 Insufficient cpu");
  });

  test("a burst of 20 pods doesn't herd", async () => {
    testbed.graphs.say({
      cluster: clusterGraph(nodes(16_000), twoRegionsMs),
      workflow: workflowGraph({ p: [], q: [] }, TRAFFIC),
    });
    const extender = await replica({ gamma: 1, delta: 0 });
    await testbed.cluster.restartScheduler(
      await schedulerConfig(extender.url, testbed.certificates, { options: ["--weight", "50"] }),
    );
    const names = Array.from({ length: 20 }, (_, index) => `burst-${index}`);
    await createPods(names);
    const placed = await nodesOf(names);
    const counts = NODES.map((node) => placed.filter((name) => name === node).length);
    expect(Math.max(...counts)).toBeLessThanOrEqual(4);
    expect(await extender.requests('verb="prioritize"')).toBeGreaterThanOrEqual(20);
  });

  test("two replicas that get every other connection agree", async () => {
    testbed.graphs.say({
      cluster: clusterGraph(nodes(16_000), twoRegionsMs),
      workflow: workflowGraph({ p: [], q: ["n6"] }, TRAFFIC),
    });
    // On a loopback address, servers accept their own port or configured host names.
    const behindProxy = { allowedHosts: ["127.0.0.1"] };
    const replicas = [await replica(behindProxy), await replica(behindProxy)];
    const proxy = await alternating(replicas.map(({ port }) => port));
    onTestFinished(() => proxy.close());
    await testbed.cluster.restartScheduler(
      await schedulerConfig(`https://127.0.0.1:${proxy.port}/scheduler`, testbed.certificates),
    );
    const names = Array.from({ length: 12 }, (_, index) => `agreed-${index}`);
    for (const name of names) {
      await createPods([name]);
      await nodesOf([name]);
      proxy.cut();
    }
    for (const each of replicas) expect(await each.requests('verb="prioritize"')).toBeGreaterThan(0);
    // Has no scheduler, so it stays pending while the test asks the replicas about it.
    const [asked] = await testbed.cluster.createPods(["asked"], {
      labels: { app: "p", "isochrone.dev/workflow": WORKFLOW },
      spec: { schedulerName: "nobody" },
    });
    const question = { Pod: asked, NodeNames: NODES };
    await expect
      .poll(async () => {
        const [first, second] = await Promise.all(
          replicas.map(async (each) => (await each.post("prioritize", question)).json),
        );
        return JSON.stringify(first) === JSON.stringify(second);
      })
      .toBe(true);
    const entriesOf = async (): Promise<unknown[]> =>
      Promise.all(replicas.map(async (each) => (await each.decisions("asked"))[0]?.candidates));
    await expect.poll(entriesOf).not.toContain(undefined);
    const entries = await entriesOf();
    expect(entries[0]).toEqual(entries[1]);
  });

  test("two replicas behind a Service give the same decisions, through the aggregator too, and after one dies", async () => {
    sayQOn("n6");
    const { authority, client } = testbed.certificates;
    await testbed.cluster.createNamespace("isochrone");
    const served = await authority.issue("behind-service", ["scheduler-plugin.isochrone.svc", "127.0.0.1"]);
    const directory = await mkdtemp(join(tmpdir(), "isochrone-replicas-"));
    onTestFinished(() => rm(directory, { recursive: true }));
    await copyFile(authority.caFile, join(directory, "ca.crt"));
    await copyFile(client.certFile, join(directory, "tls.crt"));
    await copyFile(client.keyFile, join(directory, "tls.key"));
    const store = createApiServerStore({
      clock: systemClock,
      random: systemRandom,
      logger: new MemoryLogger(),
      credentials: { kubeconfig: testbed.cluster.kubeconfig },
    });
    onTestFinished(() => store.close());
    // The API server rejects loopback addresses in EndpointSlices.
    const address = Object.values(networkInterfaces())
      .flatMap((addresses) => addresses ?? [])
      .find(({ internal, family }) => !internal && family === "IPv4")!.address;
    const names = ["replica-a", "replica-b"];
    const replicas: Replica[] = [];
    for (const replicaName of names)
      replicas.push(
        await replica({
          host: "0.0.0.0",
          replicaName,
          serviceName: "scheduler-plugin",
          tlsCertFile: served.certFile,
          tlsKeyFile: served.keyFile,
          replicaFilesDirectory: directory,
        }),
      );
    const slice = (name: string): ObjectRef => ({ ...KINDS.endpointSlice, namespace: "isochrone", name });
    for (const [index, name] of names.entries())
      await store.create({
        ...KINDS.endpointSlice,
        metadata: {
          namespace: "isochrone",
          name,
          labels: { "kubernetes.io/service-name": "scheduler-plugin" },
        },
        addressType: "IPv4",
        endpoints: [{ addresses: [address], conditions: { ready: true }, targetRef: { kind: "Pod", name } }],
        ports: [{ name: "extender", port: replicas[index]!.port, protocol: "TCP" }],
      });
    const proxy = await alternating(replicas.map(({ port }) => port));
    onTestFinished(() => proxy.close());
    const pods = await testbed.cluster.createPods(
      Array.from({ length: 8 }, (_, index) => `shared-${index}`),
      { labels: { app: "p", "isochrone.dev/workflow": WORKFLOW }, spec: { schedulerName: "nobody" } },
    );
    for (const [index, pod] of pods.entries())
      await replicas[index % 2]!.post("prioritize", { Pod: pod, NodeNames: NODES });
    const aggregator = await startAggregator({
      settings: {
        decisionsUrl: `https://127.0.0.1:${proxy.port}`,
        decisionsCaFile: authority.caFile,
        decisionsCertFile: client.certFile,
        decisionsKeyFile: client.keyFile,
      },
    });
    onTestFinished(() => aggregator.stop());
    const ask = async (): Promise<DecisionList> => {
      proxy.cut();
      const { url } = aggregator.aggregator.address();
      return (await (
        await fetch(`${url}/api/v1/decisions?namespace=default&limit=100`)
      ).json()) as DecisionList;
    };
    const shared = ({ decisions }: DecisionList): Decision[] =>
      decisions.filter(({ pod }) => pod.name.startsWith("shared-"));
    await expect.poll(async () => shared(await ask()).length).toBe(8);
    const first = await ask();
    expect(first.incomplete).toBeUndefined();
    expect(new Set(shared(first).map(({ replica: by }) => by))).toEqual(new Set(names));
    for (let connection = 0; connection < 10; connection++) expect(await ask()).toEqual(first);
    await replicas[0]!.stop();
    const survivor = async (): Promise<DecisionList> =>
      (await replicas[1]!.get("/api/v1/decisions?namespace=default&limit=100")).json as DecisionList;
    expect(await survivor()).toEqual({ ...first, incomplete: ["replica-a"] });
    await store.delete(slice("replica-a"));
    await expect.poll(survivor).toEqual(first);
    await store.delete(slice("replica-b"));
  });

  test("scheduling goes on when the extender is killed, and it takes over when it is back", async () => {
    sayQOn("n2");
    const first = await replica();
    await testbed.cluster.restartScheduler(await schedulerConfig(first.url, testbed.certificates));
    const names = Array.from({ length: 200 }, (_, index) => `outlasting-${index}`);
    const creating = createPods(names);
    await expect.poll(() => first.requests('verb="prioritize"'), { interval: 5 }).toBeGreaterThan(10);
    await first.stop();
    await creating;
    await nodesOf(names);
    const second = await replica({ port: first.port });
    await createPods(["taken-over"]);
    expect(await nodesOf(["taken-over"])).toEqual(["n2"]);
    expect(await second.requests('outcome="scored"')).toBe(1);
  });

  test("without the graph API the nodes' annotations are used, and with those old too, nothing is, which decisions say", async () => {
    // Fresh for three seconds.
    testbed.graphs.say({
      cluster: clusterGraph(nodes(), twoRegionsMs, 1),
      workflow: workflowGraph({ p: [], q: ["n1"] }, TRAFFIC),
    });
    const annotate = async (observedAtMs: number): Promise<void> => {
      for (const name of NODES) {
        const costs = NODES.filter((other) => other !== name).map((other): [string, number] => [
          other,
          twoRegionsMs(name, other),
        ]);
        const figures = {
          availableCpuMillicores: 16_000,
          availableMemoryBytes: 200e9,
          networkCostsMs: new Map(costs),
          coordinate: null,
        };
        const texts = [...writeNodeAnnotations(figures, observedAtMs)];
        const annotations = Object.fromEntries(
          texts.map(([key, text]) => [DEFAULT_ANNOTATION_PREFIX + key, text]),
        );
        await testbed.cluster.request("PATCH", `/api/v1/nodes/${name}`, { metadata: { annotations } });
      }
    };
    await annotate(Date.now());
    const extender = await replica({ gamma: 0, delta: 1 });
    await testbed.cluster.restartScheduler(await schedulerConfig(extender.url, testbed.certificates));
    testbed.graphs.say(null);
    const noteOf = async (name: string): Promise<string> => {
      await createPods([name]);
      await nodesOf([name]);
      return (await extender.decisions(name))[0]!.explanation.join(" ");
    };
    let asked = 0;
    await expect
      .poll(() => noteOf(`annotated-${++asked}`), { timeout: 15_000, interval: 1_000 })
      .toMatch(/graph API's cluster graph is \d+ s old: the annotations of the nodes are used instead/);
    expect(await nodesOf([`annotated-${asked}`])).toEqual(["n1"]);
    await annotate(Date.now() - 30 * 60_000);
    await expect
      .poll(() => noteOf(`stale-${++asked}`), { timeout: 25_000, interval: 2_000 })
      .toMatch(/the cluster graph is \d+ s old, more than 3 s/);
    const [decision] = await extender.decisions(`stale-${asked}`);
    expect(new Set(decision!.candidates.map(({ score }) => score)).size).toBe(1);
  });

  test("a client certificate that another authority signed is refused, and pods are scheduled all the same", async () => {
    sayQOn("n3");
    const extender = await replica();
    const wrong = await extender.post(
      "prioritize",
      { Pod: {}, NodeNames: NODES },
      testbed.certificates.stranger,
    );
    expect(wrong).toMatchObject({ status: 401, json: { code: "client_certificate" } });
    const config = await schedulerConfig(extender.url, testbed.certificates, {
      client: testbed.certificates.stranger,
    });
    await testbed.cluster.restartScheduler(config);
    await createPods(["refused"]);
    await nodesOf(["refused"]);
    expect(await extender.requests()).toBe(0);
    expect(await extender.metrics()).toMatch(/http_requests_total\{[^}]*prioritize[^}]*code="401"\} [2-9]/);
  });
});

/** Passes connections to the ports in turn. `cut` closes open ones, so that the client must reconnect. */
async function alternating(
  ports: readonly number[],
): Promise<{ port: number; cut: () => void; close: () => Promise<void> }> {
  const open = new Set<Socket>();
  let next = 0;
  const server = createServer((client) => {
    const target = connect(ports[next++ % ports.length]!, "127.0.0.1");
    for (const socket of [client, target]) {
      open.add(socket);
      socket.on("error", () => undefined).on("close", () => open.delete(socket));
    }
    client.pipe(target).pipe(client);
    client.on("close", () => target.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const cut = (): void => {
    for (const socket of open) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    cut,
    close: async () => {
      cut();
      await new Promise<void>((resolve) => void server.close(() => resolve()));
    },
  };
}
