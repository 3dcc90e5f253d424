import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createRegistry, seededRandom, systemClock } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { createSchedulerPlugin } from "./service.ts";
import { clusterSnapshot, podJson, workflowSnapshot } from "./testing/graphs.ts";
import { configOf, NAMES, running } from "./testing/rig.ts";

describe("POST /scheduler/prioritize", () => {
  test("scores every node from 0 to 10 on kube-scheduler's wire", async () => {
    const { post } = await running();
    const { status, json, type } = await post("prioritize", {
      Pod: podJson("p-1", "p"),
      Nodes: null,
      NodeNames: NAMES,
    });
    expect(status).toBe(200);
    expect(type).toContain("application/json");
    // resource 1, 3/7, 0 and network 0, 1, 2/7 with equal weights: 50, 71.4, 14.3; steps are finest near the
    // best.
    expect(json).toEqual([
      { Host: "n1", Score: 5 },
      { Host: "n2", Score: 10 },
      { Host: "n3", Score: 2 },
    ]);
  });

  test("understands lower-cased names and whole node objects", async () => {
    const { post } = await running();
    const items = NAMES.map((name) => ({ metadata: { name } }));
    const { json } = await post("prioritize", { pod: podJson("p-1", "p"), nodes: { items } });
    expect(json.map((entry: { Score: number }) => entry.Score)).toEqual([5, 10, 2]);
    expect((await post("prioritize", { pod: podJson("p-1", "p"), nodenames: NAMES })).json).toEqual(json);
  });

  test("answers the same for the same nodes in another order, a subset of them, and again", async () => {
    const { post } = await running({ ledgerMs: 0 });
    const scores = { n1: 5, n2: 10, n3: 2 };
    for (const names of [NAMES, ["n3", "n1", "n2"], ["n3", "n1", "n2"], ["n3", "n1", "n2"], NAMES, NAMES]) {
      const { json } = await post("prioritize", { Pod: podJson("p-1", "p"), NodeNames: names });
      expect(json).toEqual(names.map((Host) => ({ Host, Score: scores[Host as keyof typeof scores] })));
    }
  });

  test("scores nodes that the graph doesn't know, with whatever characters in their names", async () => {
    const { post } = await running();
    const { json } = await post("prioritize", { Pod: podJson("p-1", "p"), NodeNames: ["n2", 'odd"name'] });
    expect(json[1].Host).toBe('odd"name');
    expect(Number.isInteger(json[1].Score)).toBe(true);
  });

  test("gives equal scores to a pod that isn't ours, and records no decision", async () => {
    const { post, decisions, metrics } = await running();
    for (const pod of [
      podJson("x-1", "stranger"),
      { metadata: { name: "x", namespace: "kube-system" } },
      null,
    ]) {
      const { json } = await post("prioritize", { Pod: pod, NodeNames: NAMES });
      expect(new Set(json.map((entry: { Score: number }) => entry.Score)).size).toBe(1);
    }
    expect(await decisions()).toEqual([]);
    expect(await metrics()).toMatch(/requests_total\{verb="prioritize",outcome="not_ours"\} 3/);
  });

  test("is neutral when the graphs are older than three windows, and says so", async () => {
    const { post, clock, decisions, metrics } = await running();
    clock.stepWall(100_000);
    const { json } = await post("prioritize", { Pod: podJson("p-1", "p"), NodeNames: NAMES });
    expect(json.map((entry: { Score: number }) => entry.Score)).toEqual([5, 5, 5]);
    const [decision] = await decisions();
    expect(decision!.explanation.join(" ")).toMatch(/cluster graph is 110 s old, more than 90 s/);
    expect(decision!.inputs.clusterVersion).toBeNull();
    expect(await metrics()).toMatch(/neutral_parts_total\{part="network"\} 1/);
  });

  test("is neutral before any graph was read, for a pod whose label names a workflow", async () => {
    const { post, graphs, decisions } = await running();
    graphs.clear();
    const { json } = await post("prioritize", { Pod: podJson("p-1", "p"), NodeNames: NAMES });
    expect(json.map((entry: { Score: number }) => entry.Score)).toEqual([5, 5, 5]);
    expect((await decisions())[0]!.explanation.join(" ")).toContain("no cluster graph was read yet");
  });
});

describe("a burst of pods", () => {
  test("doesn't herd: what was decided a moment ago is deducted", async () => {
    const { post, decisions } = await running({ gamma: 1, delta: 0 });
    for (const name of ["p-1", "p-2", "p-3", "p-4"])
      await post("prioritize", { Pod: podJson(name, "p"), NodeNames: NAMES });
    const chosen = (await decisions()).map(({ best }) => best);
    // n1 has 2,000 m and 1,000 MB, n2 1,000 m and 600 MB, n3 500 m and 200 MB; each pod takes 500 m and 200
    // MB. With the second one a fair share of CPU is 1000/3500, of memory 400/1800: on n1 it would have 0.5
    // and 0.4, 1.75 and 1.8 fair shares; on n2 0.5 and 0.33, 1.75 and 1.5.
    expect(chosen.reverse()).toEqual(["n1", "n2", "n1", "n1"]);
  });

  test("is forgotten after the ledger's time", async () => {
    const { post, clock, decisions } = await running({ gamma: 1, delta: 0, ledgerMs: 1_000 });
    for (const name of ["p-1", "p-2", "p-3"])
      await post("prioritize", { Pod: podJson(name, "p"), NodeNames: NAMES });
    await clock.advance(1_000);
    await post("prioritize", { Pod: podJson("p-4", "p"), NodeNames: NAMES });
    expect((await decisions())[0]!.best).toBe("n1");
  });

  test("is no longer deducted where the graph shows that kube-scheduler chose another node", async () => {
    const { post, graphs, decisions } = await running({ gamma: 1, delta: 0 });
    for (const name of ["p-1", "p-2", "p-3"])
      await post("prioritize", { Pod: podJson(name, "p"), NodeNames: NAMES });
    graphs.setWorkflow(workflowSnapshot({ p: { "p-1": "n3", "p-2": "n3", "p-3": "n3" } }));
    await post("prioritize", { Pod: podJson("p-4", "p"), NodeNames: NAMES });
    expect((await decisions())[0]!.best).toBe("n1");
  });

  test("is held against its own workflow's traffic: an assumed replica attracts its peers", async () => {
    const { post, graphs, decisions } = await running({ gamma: 0, delta: 1 });
    // Nothing is placed yet: without p-1's ledger entry q would have no preference.
    graphs.setWorkflow(workflowSnapshot({ q: {}, r: {} }));
    await post("prioritize", { Pod: podJson("p-1", "p"), NodeNames: ["n3"] });
    await post("prioritize", { Pod: podJson("q-1", "q"), NodeNames: NAMES });
    expect((await decisions())[0]).toMatchObject({ pod: { name: "q-1" }, best: "n3" });
  });
});

describe("POST /scheduler/filter", () => {
  test("passes every node, as a list and never null", async () => {
    const { post } = await running();
    const { json } = await post("filter", { Pod: podJson("p-1", "p"), NodeNames: NAMES });
    expect(json).toEqual({
      Nodes: null,
      NodeNames: NAMES,
      FailedNodes: {},
      FailedAndUnresolvableNodes: {},
      Error: "",
    });
    expect((await post("filter", { Pod: podJson("p-1", "p"), NodeNames: [] })).json.NodeNames).toEqual([]);
  });

  test("rejects nodes beyond a declared maxNetworkCost, and names it", async () => {
    const { post, graphs, decisions, metrics } = await running();
    graphs.setWorkflow(workflowSnapshot({ q: { "q-1": "n2" } }, 5));
    const items = NAMES.map((name) => ({ metadata: { name }, status: { phase: "kept" } }));
    const { json } = await post("filter", { Pod: podJson("p-1", "p"), Nodes: { items } });
    expect(json.NodeNames).toEqual(["n2"]);
    expect(json.Nodes.items).toEqual([{ metadata: { name: "n2" }, status: { phase: "kept" } }]);
    expect(Object.keys(json.FailedNodes)).toEqual(["n1", "n3"]);
    expect(json.FailedNodes.n1).toContain("maxNetworkCost of channel p -> q is 5");
    expect(await metrics()).toMatch(/rejected_nodes_total 2/);
    expect((await decisions())[0]).toMatchObject({ best: "n2", pod: { name: "p-1" } });
  });

  test("leaves nodes that aren't ready to kube-scheduler", async () => {
    const { post, graphs } = await running();
    graphs.setCluster(clusterSnapshot({ ready: false }));
    expect((await post("filter", { Pod: podJson("p-1", "p"), NodeNames: NAMES })).json.NodeNames).toEqual(
      NAMES,
    );
  });
});

describe("odd requests", () => {
  test.each([
    ["no JSON", "{", /must be JSON/],
    ...["", '"Pod":', '"NodeNames":', '"Nodes":'].map((before): [string, string, RegExp] => [
      `a list of 5,000 levels at ${before}`,
      before === "" ? nestedList(5_000) : `{${before}${nestedList(5_000)}}`,
      /the body must be JSON: values must be nested at most 100 levels deep, got more/,
    ]),
    ["a list", "[]", /ExtenderArgs must be an object, got \[\]/],
    ["null", "null", /ExtenderArgs must be an object/],
    ["no nodes", { Pod: podJson("p-1", "p") }, /must have NodeNames or Nodes, got neither/],
    [
      "null nodes",
      { Pod: podJson("p-1", "p"), Nodes: null, NodeNames: null },
      /must have NodeNames or Nodes/,
    ],
    ["a number as node name", { Pod: {}, NodeNames: ["a", 5] }, /NodeNames\[1\] must be a string, got 5/],
    ["text as node names", { Pod: {}, NodeNames: "a" }, /NodeNames must be a list, got "a"/],
    [
      "a node without a name",
      { Pod: {}, Nodes: { items: [{}] } },
      /Nodes\.items\[0\]\.metadata\.name must be a string/,
    ],
  ])("%s is answered with 400 and the reason", async (_, body, detail) => {
    const { post } = await running();
    for (const verb of ["filter", "prioritize"]) {
      const { status, json, type } = await post(verb, body);
      expect(status).toBe(400);
      expect(type).toContain("application/problem+json");
      expect(json.detail).toMatch(detail);
    }
  });

  test("misshapen pods are never a server error", async () => {
    const { post } = await running();
    const odd = [
      5,
      "x",
      [],
      { metadata: 7 },
      { metadata: { labels: [], ownerReferences: {}, name: 3 } },
      { spec: { containers: 9 } },
    ];
    for (const Pod of odd) expect((await post("prioritize", { Pod, NodeNames: NAMES })).status).toBe(200);
  });

  test("a name such as __proto__ is only a name", async () => {
    const { post } = await running();
    const body = `{"Pod": ${JSON.stringify(podJson("p-1", "p"))}, "NodeNames": ["__proto__", "n1"], "__proto__": {"Pod": 1}}`;
    expect((await post("prioritize", body)).json.map((entry: { Host: string }) => entry.Host)).toEqual([
      "__proto__",
      "n1",
    ]);
    expect((await post("filter", body)).json.NodeNames).toEqual(["__proto__", "n1"]);
  });

  test("a body beyond the limit is refused with 413", async () => {
    const { post } = await running({ maxBodyBytes: 2_000 });
    const { status, json } = await post("prioritize", { Pod: {}, NodeNames: ["x".repeat(3_000)] });
    expect(status).toBe(413);
    expect(json.status).toBe(413);
  });
});

describe("the decisions API", () => {
  test("shows what was decided, newest first, by pod and namespace, up to a limit", async () => {
    const { post, decisions, plugin } = await running({ keptDecisions: 3 });
    for (const name of ["p-1", "p-2", "p-3", "p-4"])
      await post("prioritize", { Pod: podJson(name, "p"), NodeNames: NAMES });
    expect((await decisions()).map(({ pod }) => pod.name)).toEqual(["p-4", "p-3", "p-2"]);
    expect((await decisions("?limit=1")).map(({ pod }) => pod.name)).toEqual(["p-4"]);
    expect((await decisions("?pod=p-3&namespace=shop")).map(({ pod }) => pod.name)).toEqual(["p-3"]);
    expect(await decisions("?namespace=elsewhere")).toEqual([]);
    const [newest] = await decisions();
    expect(newest).toMatchObject({
      workflow: "shop/flow",
      workload: "p",
      strategy: "resource-network",
      mode: "normalized",
    });
    expect(newest!.at).toBe("2026-01-01T00:00:10.000Z");
    const found = await plugin.app.inject(`/api/v1/decisions/${newest!.id}`);
    expect(found.json()).toEqual(newest);
  });

  test("answers 404 for a decision that isn't kept, 400 for a bad limit, and an empty list of plans", async () => {
    const { plugin } = await running();
    const ghost = await plugin.app.inject("/api/v1/decisions/ghost");
    expect([ghost.statusCode, ghost.headers["content-type"]]).toEqual([
      404,
      expect.stringContaining("problem+json"),
    ]);
    for (const limit of ["0", "many", "1001"]) {
      expect((await plugin.app.inject(`/api/v1/decisions?limit=${limit}`)).statusCode).toBe(400);
    }
    expect((await plugin.app.inject("/api/v1/plans")).json()).toEqual({ plans: [] });
  });

  test("keeps no more than 50 candidates of a decision, the best ones", async () => {
    const { post, decisions } = await running();
    const many = [...NAMES, ...Array.from({ length: 200 }, (_, index) => `other-${index}`)];
    await post("prioritize", { Pod: podJson("p-1", "p"), NodeNames: many });
    const [decision] = await decisions();
    expect(decision!.candidates).toHaveLength(50);
    expect(decision!.candidates[0]!.name).toBe(decision!.best);
  });
});

test("graphs are polled from the graph API over HTTP; while it is away the last ones stay in use", async () => {
  let away = false;
  const api = createServer((request, response) => {
    const answers: Record<string, unknown> = {
      "/api/v1/graph/cluster": clusterSnapshot(),
      "/api/v1/graph/workflows": {
        id: "1",
        version: 1,
        observedAt: "2026-01-01T00:00:00Z",
        workflows: [{ namespace: "shop", name: "flow", workloads: 3, channels: 2, pods: 2 }],
        graphs: [workflowSnapshot()],
      },
    };
    response.statusCode = away ? 503 : 200;
    response.setHeader("etag", '"1"').end(JSON.stringify(answers[request.url?.split("?")[0] ?? ""] ?? {}));
  });
  await new Promise<void>((resolve) => api.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => new Promise<void>((resolve) => void api.close(() => resolve())));
  const logger = new MemoryLogger();
  const registry = createRegistry();
  const graphUrl = `http://127.0.0.1:${(api.address() as AddressInfo).port}`;
  const plugin = createSchedulerPlugin(configOf({ graphUrl, refreshMs: 50 }), {
    clock: systemClock,
    random: seededRandom(1),
    logger,
    registry,
  });
  await plugin.start();
  onTestFinished(() => plugin.stop());
  const ready = async (): Promise<number> => (await plugin.app.inject("/readyz")).statusCode;
  await expect.poll(ready).toBe(200);
  away = true;
  await expect.poll(() => registry.metrics()).toMatch(/refresh_failures_total\{reason="http_status"\} [1-9]/);
  expect(logger.events("warn")).toHaveLength(1);
  expect(await ready()).toBe(200);
  away = false;
  await expect.poll(() => logger.events("info")).toContain("graph API is back");
});

function nestedList(levels: number): string {
  return "[".repeat(levels) + "]".repeat(levels);
}
