// The current place of a decision's pod, and the same question asked again, on graphs that the test changes.
import { KINDS } from "@isochrone/kubernetes";
import type { KubernetesObject } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { links } from "@isochrone/placement/testing";
import type { Decision } from "@isochrone/topology";
import { describe, expect, test } from "vitest";
import { clusterSnapshot, MemoryGraphs, podJson, workflowSnapshot } from "./testing/graphs.ts";
import { NAMES, rigClock, running } from "./testing/rig.ts";
import type { Running } from "./testing/rig.ts";

function requestGraphs(): MemoryGraphs {
  const graphs = new MemoryGraphs();
  graphs.setWorkflow(withRequests(workflowSnapshot()));
  return graphs;
}

function withRequests(snapshot: ReturnType<typeof workflowSnapshot>): ReturnType<typeof workflowSnapshot> {
  const channels = snapshot.channels.map((channel) => ({
    ...channel,
    requestsPerSecond: channel.target === "q" ? 30 : 10,
  }));
  return { ...snapshot, channels };
}

const BY_NETWORK = { gamma: 0, delta: 1 };

async function withCluster(overrides: Record<string, unknown> = BY_NETWORK) {
  const clock = rigClock();
  const graphs = requestGraphs();
  const store = createMemoryStore({ clock });
  const rig = await running(overrides, { clock, graphs, store });
  await expect.poll(async () => (await rig.plugin.app.inject("/readyz")).statusCode).toBe(200);
  const decide = async (name: string): Promise<void> => {
    const made = await store.create({
      apiVersion: "v1",
      kind: "Pod",
      ...podJson(name, "p"),
    } as KubernetesObject);
    await rig.post("prioritize", { Pod: podJson(name, "p", made.metadata.uid), NodeNames: NAMES });
    await expect.poll(async () => (await rig.decisions(`?pod=${name}`)).length).toBe(1);
  };
  const bind = async (name: string, node: string): Promise<Decision["binding"]> => {
    await store.bind({ namespace: "shop", name }, node);
    await expect.poll(async () => (await one(rig, name)).binding?.state).toBe("bound");
    return (await one(rig, name)).binding;
  };
  return { ...rig, store, decide, bind };
}

async function one({ decisions }: Pick<Running, "decisions">, pod: string, query = ""): Promise<Decision> {
  return (await decisions(`?pod=${pod}&limit=1${query}`))[0]!;
}

describe("a pod that was released by plan", () => {
  const planned = (name: string, node: string): { Pod: object; NodeNames: readonly string[] } => {
    const pod = podJson(name, "p") as { metadata: object };
    const annotations = { "isochrone.dev/planned-node": node };
    return { Pod: { ...pod, metadata: { ...pod.metadata, annotations } }, NodeNames: NAMES };
  };

  test("gets the plan's node, which the decision says and which counts for pods after it", async () => {
    const rig = await running(BY_NETWORK, { graphs: requestGraphs() });
    const own = await rig.post("prioritize", { Pod: podJson("p-1", "p"), NodeNames: NAMES });
    const scores = own.json as { Host: string; Score: number }[];
    const worst = scores.toSorted((a, b) => a.Score - b.Score)[0]!;
    expect(worst.Score).toBeLessThan(10);
    const { json } = await rig.post("prioritize", planned("p-2", worst.Host));
    expect(json).toEqual([{ Host: worst.Host, Score: 10 }]);
    const [decision] = await rig.decisions("?pod=p-2");
    expect(decision!.explanation.join(" ")).toContain(`puts it on ${worst.Host}`);
    expect(decision!.best).toBe(worst.Host);
    expect(decision!.candidates[0]!.name).not.toBe(worst.Host);
  });

  test("is scored like any other where kube-scheduler doesn't offer the plan's node", async () => {
    const rig = await running(BY_NETWORK, { graphs: requestGraphs() });
    const own = await rig.post("prioritize", { Pod: podJson("p-1", "p"), NodeNames: NAMES });
    const { json } = await rig.post("prioritize", planned("p-1", "n9"));
    expect(json).toEqual(own.json);
  });
});

describe("where the pod of a decision is", () => {
  test("is nowhere while it is pending, and the node that it is bound to, as chosen", async () => {
    const rig = await withCluster();
    await rig.decide("p-1");
    expect(await one(rig, "p-1")).toMatchObject({
      best: "n2",
      binding: { state: "pending", node: null, agreement: null, cause: null, reason: null },
    });
    expect(await rig.bind("p-1", "n2")).toEqual({
      state: "bound",
      node: "n2",
      at: "2026-01-01T00:00:10.000Z",
      agreement: "as_chosen",
      cause: null,
      reason: null,
    });
  });

  test("another node than the best: how much that one was better, and that the rest isn't known", async () => {
    const rig = await withCluster();
    await rig.decide("p-1");
    const binding = await rig.bind("p-1", "n3");
    expect(binding).toMatchObject({ node: "n3", agreement: "otherwise", cause: "other_scores" });
    expect(binding!.reason).toMatch(
      /^n2 got 10 of 10 points from Isochrone, n3 \d\. The scheduler's own scores/,
    );
  });

  test("another node, where the best held a replica already: most likely the spread plugin", async () => {
    const rig = await withCluster();
    const pods = { p: { "p-0": "n2" }, q: { "q-1": "n2" }, r: { "r-1": "n3" } };
    rig.graphs.setWorkflow(withRequests(workflowSnapshot(pods)));
    await rig.decide("p-1");
    const binding = await rig.bind("p-1", "n1");
    expect(binding).toMatchObject({ cause: "spread" });
    expect(binding!.reason).toContain("A pod of the same workload was on n2 already");
  });

  test("a node of the same score is a tie", async () => {
    const rig = await withCluster();
    rig.graphs.setWorkflow(workflowSnapshot({ q: {}, r: {} }));
    await rig.decide("p-1");
    expect((await one(rig, "p-1")).explanation[0]).toBe("All 3 nodes tie at score 50.");
    expect(await rig.bind("p-1", "n3")).toMatchObject({
      agreement: "tie",
      cause: null,
      reason: "n3 and n1 tie; the scheduler chose between them.",
    });
  });

  test("a node that Isochrone wasn't asked about", async () => {
    const rig = await withCluster();
    await rig.decide("p-1");
    expect(await rig.bind("p-1", "n9")).toMatchObject({ agreement: "otherwise", cause: "not_asked" });
  });

  test("is remembered when the pod is gone, and isn't that of another pod of its name", async () => {
    const rig = await withCluster();
    await rig.decide("p-1");
    await rig.bind("p-1", "n3");
    await rig.store.delete({ ...KINDS.pod, namespace: "shop", name: "p-1" }, { gracePeriodSeconds: 0 });
    await expect.poll(async () => (await one(rig, "p-1")).binding?.state).toBe("gone");
    expect((await one(rig, "p-1")).binding).toMatchObject({ node: "n3", cause: "other_scores" });
    await rig.store.create({ apiVersion: "v1", kind: "Pod", ...podJson("p-1", "p") } as KubernetesObject);
    await rig.store.bind({ namespace: "shop", name: "p-1" }, "n1");
    await rig.decide("p-2");
    await rig.bind("p-2", "n2");
    expect((await one(rig, "p-1")).binding).toMatchObject({ state: "gone", node: "n3" });
  });

  test("is what the graphs show where no cluster is followed, and absent where they show nothing", async () => {
    const rig = await running(BY_NETWORK, { graphs: requestGraphs() });
    await rig.post("prioritize", { Pod: podJson("p-1", "p"), NodeNames: NAMES });
    expect((await one(rig, "p-1")).binding).toBeUndefined();
    rig.graphs.setWorkflow(workflowSnapshot({ p: { "p-1": "n1" }, q: { "q-1": "n2" } }));
    expect((await one(rig, "p-1")).binding).toMatchObject({ state: "bound", node: "n1", at: null });
  });
});

describe("the same question, asked now", () => {
  test("is answered by the scorer with the graphs of now, beside what was said then", async () => {
    const rig = await withCluster();
    await rig.decide("p-1");
    await rig.bind("p-1", "n2");
    rig.graphs.setCluster({
      ...clusterSnapshot(),
      version: 2,
      links: links(["n1", "n2", 10], ["n1", "n3", 40], ["n2", "n3", 825]),
    });
    const { best, candidates, peers, now, explanation } = await one(rig, "p-1", "&now=true");
    expect(best).toBe("n2");
    expect([explanation[1], now!.explanation[1]]).toEqual([
      "A request of the pod takes 6.25 ms on the network on n2, 18.8 ms on n3.",
      "A request of the pod takes 17.5 ms on the network on n1, 206 ms on n2.",
    ]);
    const thenOf = Object.fromEntries(candidates.map(({ name, networkMs }) => [name, networkMs]));
    expect(thenOf).toEqual({ n1: 17.5, n2: 6.25, n3: 18.75 });
    expect(peers!.map(({ workload, calling, node, rttMs }) => [workload, calling, node, rttMs])).toEqual([
      ["q", true, "n2", { n1: 10, n2: 0, n3: 25 }],
      ["r", false, "n3", { n1: 40, n2: 25, n3: 0 }],
    ]);
    expect(now).toMatchObject({ best: "n1", inputs: { clusterVersion: 2 } });
    const nowOf = Object.fromEntries(now!.candidates.map(({ name, networkMs }) => [name, networkMs]));
    expect(nowOf).toEqual({ n1: 17.5, n2: 206.25, n3: 618.75 });
    expect(now!.links).toEqual([{ from: "n3", to: "n2", thenMs: 25, nowMs: 825 }]);
    expect(now!.changes).toEqual([
      "On n2 a request of the pod took 6.25 ms on the network then and takes 206 ms now.",
      "The link n3 to n2 took 25 ms then and takes 825 ms now.",
      "n2 scored highest then; n1 scores highest now.",
    ]);
  });

  test("gives what a new pod would get: the table is the one of a question of kube-scheduler", async () => {
    const rig = await withCluster({});
    await rig.decide("p-1");
    await rig.bind("p-1", "n2");
    // The current graph shows the pod on its node, with its resources in use there.
    rig.graphs.setWorkflow(
      withRequests(workflowSnapshot({ p: { "p-1": "n2" }, q: { "q-1": "n2" }, r: { "r-1": "n3" } })),
    );
    const before = clusterSnapshot();
    const nodes = before.nodes.map((node) =>
      node.name === "n2" ? { ...node, availableCpuMillicores: 500, availableMemoryBytes: 4e8 } : node,
    );
    rig.graphs.setCluster({ ...before, version: 2, nodes });
    const { candidates, now } = await one(rig, "p-1", "&now=true");
    const scores = (of: typeof candidates) => of.map(({ name, score }) => [name, score]);
    expect(scores(now!.candidates)).toEqual(scores(candidates));
    expect(now!.changes).toEqual([]);
  });

  test("tells a peer that moved and a link that is cut", async () => {
    const rig = await withCluster();
    await rig.decide("p-1");
    await rig.bind("p-1", "n2");
    rig.graphs.setWorkflow(
      withRequests(workflowSnapshot({ p: { "p-1": "n2" }, q: { "q-1": "n1" }, r: { "r-1": "n3" } })),
    );
    rig.graphs.setCluster({
      ...clusterSnapshot(),
      links: links(["n1", "n2", 10], ["n1", "n3", 40], ["n2", "n3", 25]).map((link) =>
        link.source === "n3" && link.target === "n2" ? { ...link, costMs: null, lossRatio: 1 } : link,
      ),
    });
    const { now } = await one(rig, "p-1", "&now=true");
    expect(now!.links).toEqual([{ from: "n3", to: "n2", thenMs: 25, nowMs: "unreachable" }]);
    expect(now!.changes).toContain("The link n3 to n2 took 25 ms then; now n2 doesn't answer.");
    expect(now!.changes).toContain("q ran on n2 then and runs on n1 now.");
  });

  test("changes nothing: neither the log nor what is reserved", async () => {
    const rig = await withCluster();
    await rig.decide("p-1");
    const before = await rig.metrics();
    await one(rig, "p-1", "&now=true");
    const lines = (text: string): string[] =>
      text.split("\n").filter((line) => /decisions_total|ledger_entries/.test(line));
    expect(lines(await rig.metrics())).toEqual(lines(before));
    expect(await rig.decisions()).toHaveLength(1);
    expect(await one(rig, "p-1")).not.toHaveProperty("now");
  });

  test("is asked about 20 decisions at most, and one by its id", async () => {
    const rig = await running(BY_NETWORK, { graphs: requestGraphs() });
    for (let index = 0; index < 25; index++)
      await rig.post("prioritize", { Pod: podJson(`p-${index}`, "p"), NodeNames: NAMES });
    expect(await rig.decisions("?now=true&limit=100")).toHaveLength(20);
    const [{ id } = { id: "" }] = await rig.decisions("?pod=p-3");
    expect((await rig.decisions(`?now=true&id=${id}`)).map(({ pod, now }) => [pod.name, now?.best])).toEqual([
      ["p-3", "n2"],
    ]);
    expect((await rig.plugin.app.inject("/api/v1/decisions?now=perhaps")).statusCode).toBe(400);
  });
});

test("of a flood of pods the scores are kept, and peers of some; afterwards peers are kept again", async () => {
  const rig = await withCluster();
  for (let index = 0; index < 70; index++) await rig.decide(`p-${index}`);
  const isWithout = ({ explanation }: Decision): boolean =>
    explanation.at(-1)!.startsWith("Many pods were scored at that moment");
  const [first, last] = [await one(rig, "p-0", "&now=true"), await one(rig, "p-69", "&now=true")];
  expect([first.peers?.length, isWithout(first)]).toEqual([2, false]);
  expect([last.peers, isWithout(last)]).toEqual([undefined, true]);
  expect(last.best).toBe("n2");
  await rig.clock.advance(1_000);
  await rig.decide("p-70");
  expect((await one(rig, "p-70", "&now=true")).peers?.length).toBe(2);
});
