import { once } from "node:events";
import { conditionsOf, gatesOf, hasCondition, KINDS, type KubernetesObject } from "@isochrone/kubernetes";
import { parseFlowPlans, type FlowPlan } from "@isochrone/topology";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { controlPlaneSupport, type ControlPlane } from "../harness/control-plane/index.ts";
import { MeasuredAggregator } from "../harness/measured-aggregator.ts";
import { streamJob, streamTask } from "../harness/streams.ts";
import { STREAM_COMPONENTS, streamsTestbed } from "../harness/streams-testbed.ts";

const support = controlPlaneSupport(STREAM_COMPONENTS);
if (!support.supported) console.warn(`stream jobs on a real control plane are not tested: ${support.reason}`);

const WITHIN = { timeout: 30_000, interval: 200 };
/** A small camera node, a box next to it, and a server behind a narrow link. */
const NODES = [
  { name: "n0", cpu: "1", labels: { device: "camera" } },
  { name: "n1", cpu: "4", labels: { device: "box" } },
  { name: "n2", cpu: "8", labels: { device: "server" } },
];
const LINKS = [
  { source: "n0", target: "n1", capacity: "100M" },
  { source: "n1", target: "n2", capacity: "20M" },
];

/** Five tasks, the last two of which run only on the server. */
function fiveTasks(namespace: string, name: string, spec: Record<string, unknown> = {}): KubernetesObject {
  const onServer = { profile: [{ nodeLabels: { device: "server" }, secondsPerFrame: 0.05 }] };
  const to = (task: string, bytesPerFrame: number): object => ({
    // Tasks in the host network of one node can't share a port.
    downstream: [{ task, bytesPerFrame, port: 7000 + "detect crop match track".indexOf(task) }],
  });
  return streamJob(namespace, name, {
    tasks: [
      streamTask("decode", to("detect", 250_000)),
      streamTask("detect", { ...to("crop", 50_000), requests: { cpu: "2", memory: "256Mi" } }),
      streamTask("crop", to("match", 50_000)),
      streamTask("match", { ...onServer, ...to("track", 1_000), requests: { cpu: "3", memory: "256Mi" } }),
      streamTask("track", onServer),
    ],
    ...spec,
  });
}

describe.runIf(support.supported)("stream jobs on a real control plane", { timeout: 120_000 }, () => {
  const testbed = streamsTestbed(NODES, LINKS);
  const { start, submit, job, remove, statusOf, phase, podsOf, nodesOf } = testbed;
  let cluster: ControlPlane;
  beforeAll(() => {
    ({ cluster } = testbed);
  });
  const reasons = async (namespace: string, name: string): Promise<Record<string, unknown>> =>
    Object.fromEntries(
      conditionsOf((await job(namespace, name))!).map(({ type, status, reason }) => [
        type,
        `${status} ${reason!}`,
      ]),
    );

  test("a job of five tasks is bound as its status says, and each node has its part of the flow plan", async () => {
    const namespace = "five";
    await cluster.createNamespace(namespace);
    const running = await start();
    await submit(fiveTasks(namespace, "gate"));
    await expect.poll(() => phase(namespace, "gate"), WITHIN).toBe("Running");
    const status = await statusOf(namespace, "gate");
    const hosts = Object.fromEntries(status.tasks!.map(({ name, node }) => [name, node]));
    expect(hosts).toEqual(await nodesOf(namespace));
    expect(hosts).toMatchObject({ match: "n2", track: "n2" });
    expect(status.throughput!).toBeGreaterThan(0);
    expect(status.limitText!).toMatch(/^(task|link) /);
    const plans = await running.flowPlans();
    expect([...plans.keys()].sort()).toEqual(["n0", "n1", "n2"]);
    const all = [...plans.values()];
    expect(parseFlowPlans({ plans: all })).toEqual(all);
    const crossing = status.flows!;
    for (const { from = "source", to, route, bitsPerSecond } of crossing)
      for (const node of route) {
        const flow = plans.get(node)!.flows.find(({ id }) => id === `five/gate/${from}->${to}`);
        expect(flow).toMatchObject({ source: { node: route[0] }, target: { node: route.at(-1) } });
        expect(flow!.bitsPerSecond).toBeCloseTo(bitsPerSecond, -2);
      }
    // A frame with its headers on the narrow link.
    expect(Math.max(...crossing.map(({ bitsPerSecond }) => bitsPerSecond))).toBeLessThanOrEqual(100e6);
    expect((await cluster.kubectl("get", "streamjobs", "-n", namespace)).split("\n")[0]).toMatch(
      /NAME +PHASE +FRAMES\/S +PROMISED +LIMIT +NODES +AGE/,
    );
    await remove(namespace, "gate");
    await expect.poll(() => podsOf(namespace), WITHIN).toEqual([]);
    await expect
      .poll(async () => [...(await running.flowPlans()).values()].flatMap(({ flows }) => flows), WITHIN)
      .toEqual([]);
  });

  test("a job for which there is no room waits, says for what, and runs when the other one is deleted", async () => {
    const namespace = "room";
    await cluster.createNamespace(namespace);
    await start();
    const hungry = (name: string): KubernetesObject => {
      const { spec } = fiveTasks(namespace, name);
      const tasks = (spec!["tasks"] as { name: string }[]).map((task) =>
        task.name === "match" ? { ...task, requests: { cpu: "5", memory: "256Mi" } } : task,
      );
      return streamJob(namespace, name, { ...spec, tasks });
    };
    await submit(hungry("first"));
    await expect.poll(() => phase(namespace, "first"), WITHIN).toBe("Running");
    await submit(hungry("second"));
    await expect.poll(() => phase(namespace, "second"), WITHIN).toBe("Waiting");
    const waiting = await job(namespace, "second");
    expect(conditionsOf(waiting!)).toContainEqual(
      expect.objectContaining({
        type: "Placed",
        status: "False",
        reason: "NoRoom",
        message: expect.stringContaining("task match (5000m CPU and 256 MiB) runs on none of 3 nodes"),
      }),
    );
    expect(await podsOf(namespace)).toHaveLength(5);
    await remove(namespace, "first");
    await expect.poll(() => phase(namespace, "second"), WITHIN).toBe("Running");
    await remove(namespace, "second");
    await expect.poll(() => podsOf(namespace), WITHIN).toEqual([]);
  });

  test("a promise that can't be kept keeps a job waiting; a link that shrinks slows the others at once", async () => {
    const namespace = "promises";
    await cluster.createNamespace(namespace);
    await start();
    // Frames cross the narrow link: at most 20 Mbit/s / 2 Mbit per second.
    const remote = (name: string, spec: Record<string, unknown>): KubernetesObject =>
      streamJob(namespace, name, {
        tasks: [
          streamTask("work", { profile: [{ nodeLabels: { device: "server" }, secondsPerFrame: 0.01 }] }),
        ],
        ...spec,
      });
    await submit(remote("runs", { minThroughput: 6 }));
    await expect.poll(() => phase(namespace, "runs"), WITHIN).toBe("Running");
    expect(await statusOf(namespace, "runs")).toMatchObject({
      throughput: expect.closeTo(9.56, 1),
      limit: { kind: "link", source: "n1", target: "n2", capacityBitsPerSecond: 20e6 },
    });
    await submit(remote("waits", { minThroughput: 6 }));
    await expect
      .poll(async () => (await reasons(namespace, "waits"))["Placed"], WITHIN)
      .toBe("False Promises");
    const links = [LINKS[0]!, { ...LINKS[1]!, capacity: "10M" }];
    await cluster.patch({ ...KINDS.flowNetwork, name: "site" }, { spec: { links } });
    await expect
      .poll(async () => (await statusOf(namespace, "runs")).throughput, WITHIN)
      .toBeCloseTo(4.78, 1);
    await cluster.patch({ ...KINDS.flowNetwork, name: "site" }, { spec: { links: LINKS } });
    await remove(namespace, "runs");
    await expect.poll(() => phase(namespace, "waits"), WITHIN).toBe("Running");
    await remove(namespace, "waits");
    await expect.poll(() => podsOf(namespace), WITHIN).toEqual([]);
  });

  test("pods wait for the rules of their flows; a leader that is killed meanwhile loses nothing", async () => {
    const namespace = "killed";
    await cluster.createNamespace(namespace);
    const first = testbed.startProcess();
    // Host-network pods have an address before they run.
    const template = {
      spec: { hostNetwork: true, containers: [{ name: "stage", image: "example.com/stage:1" }] },
    };
    const { spec } = fiveTasks(namespace, "gate");
    const tasks = (spec!["tasks"] as object[]).map((task) => ({ ...task, template }));
    await submit(streamJob(namespace, "gate", { ...spec, tasks }));
    await expect.poll(async () => (await podsOf(namespace)).length, WITHIN).toBe(5);
    await expect
      .poll(async () => (await reasons(namespace, "gate"))["FlowsApplied"], WITHIN)
      .toBe("False NotApplied");
    first.kill("SIGKILL");
    await once(first, "exit");
    const before = await statusOf(namespace, "gate");
    const uids = new Set((await podsOf(namespace)).map(({ metadata }) => metadata.uid));
    expect(Object.values(await nodesOf(namespace))).toEqual([null, null, null, null, null]);
    const second = await start({ streams: { awaitRules: true } });
    const crossing = before.flows!;
    const nodes = new Set(crossing.flatMap(({ route }) => route));
    await expect
      .poll(async () => [...(await second.flowPlans()).values()].flatMap(({ flows }) => flows).length, WITHIN)
      .toBe(crossing.reduce((sum, { route }) => sum + route.length, 0));
    expect((await podsOf(namespace)).every((pod) => gatesOf(pod).includes("isochrone.dev/stream"))).toBe(
      true,
    );
    const aggregator = await MeasuredAggregator.start(cluster.kubeconfig, {
      aggregator: { decisionsUrl: second.url },
    });
    onTestFinished(() => aggregator.stop());
    // Polls like the managers, with the plan of the installed rules.
    const standing = new Map<string, FlowPlan>();
    const ask = async (node: string): Promise<number> => {
      const plan = standing.get(node);
      const headers =
        plan === undefined
          ? {}
          : {
              "if-none-match": `"${plan.version}"`,
              "isochrone-flow-generation": `${plan.epoch}/${plan.generation}`,
            };
      const response = await fetch(`${aggregator.url}/api/v1/flow-plan/${node}`, { headers });
      if (response.status === 200) standing.set(node, (await response.json()) as FlowPlan);
      return response.status;
    };
    await expect
      .poll(async () => {
        for (const node of nodes) await ask(node);
        return await phase(namespace, "gate");
      }, WITHIN)
      .toBe("Running");
    expect(Object.fromEntries(standing)).toEqual(
      Object.fromEntries([...(await second.flowPlans())].filter(([node]) => nodes.has(node))),
    );
    expect(await ask([...nodes][0]!)).toBe(304);
    expect(await ask("attic")).toBe(404);
    await second.stop();
    await expect.poll(() => ask([...nodes][0]!), WITHIN).toBe(503);
    await start({ streams: { awaitRules: true } });
    const pods = await podsOf(namespace);
    expect(new Set(pods.map(({ metadata }) => metadata.uid))).toEqual(uids);
    expect(pods.flatMap(gatesOf)).toEqual([]);
    const after = await statusOf(namespace, "gate");
    const places = ({ tasks = [] }: typeof after): string[] =>
      tasks.map(({ name, node }) => `${name} ${node}`);
    expect(places(after)).toEqual(places(before));
    expect(after.flows).toEqual(before.flows);
    await remove(namespace, "gate");
    await expect.poll(() => podsOf(namespace), WITHIN).toEqual([]);
  });

  test("minBandwidth of an AppGroup is a floor between its pods, and stream jobs have what is left", async () => {
    const namespace = "floors";
    await cluster.createNamespace(namespace);
    const running = await start();
    const workload = (name: string): object => ({
      kind: "Pod",
      name,
      selector: name,
      apiVersion: "v1",
      namespace,
    });
    await cluster.request(
      "POST",
      `/apis/appgroup.diktyo.x-k8s.io/v1alpha1/namespaces/${namespace}/appgroups`,
      {
        ...KINDS.appGroup,
        metadata: { namespace, name: "shop" },
        spec: {
          numMembers: 2,
          topologySortingAlgorithm: "KahnSort",
          workloads: [
            { workload: workload("web"), dependencies: [{ workload: workload("db"), minBandwidth: "8M" }] },
            { workload: workload("db") },
          ],
        },
      },
    );
    for (const [name, device] of [
      ["web", "box"],
      ["db", "server"],
    ] as const)
      await cluster.createPods([name], {
        namespace,
        labels: { "appgroup.diktyo.x-k8s.io": "shop", "appgroup.diktyo.x-k8s.io.workload": name },
        spec: { nodeSelector: { device }, terminationGracePeriodSeconds: 0 },
      });
    const floor = async (): Promise<object | undefined> =>
      (await running.flowPlans()).get("n1")?.flows.find(({ owner }) => owner.kind === "AppGroup");
    await expect.poll(floor, WITHIN).toMatchObject({
      id: "floors/shop/web->db",
      next: "n2",
      previous: null,
      routed: false,
      bitsPerSecond: 8e6,
    });
    const tasks = [
      streamTask("work", { profile: [{ nodeLabels: { device: "server" }, secondsPerFrame: 0.01 }] }),
    ];
    await submit(streamJob(namespace, "gate", { tasks }));
    // The floor takes 8 of 20 Mbit/s and the rest 2, which leaves 10 for frames of 2 Mbit with headers.
    await expect
      .poll(async () => (await statusOf(namespace, "gate")).throughput, WITHIN)
      .toBeCloseTo(10e6 / 2.0912e6, 1);
    await cluster.remove({ ...KINDS.pod, namespace, name: "db" });
    await expect.poll(floor, WITHIN).toBeUndefined();
    await expect
      .poll(async () => (await statusOf(namespace, "gate")).throughput, WITHIN)
      .toBeCloseTo(20e6 / 2.0912e6, 1);
    await remove(namespace, "gate");
    await cluster.remove({ ...KINDS.pod, namespace, name: "web" });
    await expect.poll(() => podsOf(namespace), WITHIN).toEqual([]);
  });

  test("tasks of a node that goes are placed anew, the others stay", async () => {
    const namespace = "dies";
    await cluster.createNamespace(namespace);
    await start();
    await cluster.addNodes([{ name: "n3", cpu: "4", labels: { device: "server" } }]);
    await cluster.waitFor(
      "nodes",
      (nodes) => nodes.filter((node) => hasCondition(node, "Ready")).length === 4,
    );
    const links = [...LINKS, { source: "n1", target: "n3", capacity: "200M" }];
    const site = { ...KINDS.flowNetwork, name: "site" };
    await cluster.patch(site, { spec: { links } });
    await expect
      .poll(async () => (await cluster.get(site))?.status, WITHIN)
      .toMatchObject({ links: 3, refused: 0 });
    const onServer = { profile: [{ nodeLabels: { device: "server" }, secondsPerFrame: 0.01 }] };
    const onCamera = { profile: [{ nodeLabels: { device: "camera" }, secondsPerFrame: 0.01 }] };
    await submit(
      streamJob(namespace, "gate", {
        tasks: [
          streamTask("decode", { ...onCamera, downstream: [{ task: "detect", bytesPerFrame: 250_000 }] }),
          streamTask("detect", onServer),
        ],
      }),
    );
    await expect.poll(() => phase(namespace, "gate"), WITHIN).toBe("Running");
    expect(await nodesOf(namespace)).toEqual({ decode: "n0", detect: "n3" });
    const uidOf = async (task: string): Promise<unknown> =>
      (await podsOf(namespace)).find(({ metadata }) => metadata.name.includes(task))?.metadata.uid;
    const decode = await uidOf("decode");
    await cluster.remove({ ...KINDS.node, name: "n3" });
    await expect
      .poll(async () => [await nodesOf(namespace), await phase(namespace, "gate")], WITHIN)
      .toEqual([{ decode: "n0", detect: "n2" }, "Running"]);
    expect(await uidOf("decode")).toBe(decode);
    expect(await statusOf(namespace, "gate")).toMatchObject({ flows: [{ route: ["n0", "n1", "n2"] }] });
    const network = await cluster.get({ ...KINDS.flowNetwork, name: "site" });
    expect(network!.status).toMatchObject({ links: 2, refused: 1 });
    expect(conditionsOf(network!)[0]!.message).toContain("link n1 -> n3 must join known nodes, got n3");
    await cluster.patch({ ...KINDS.flowNetwork, name: "site" }, { spec: { links: LINKS } });
    await remove(namespace, "gate");
    await expect.poll(() => podsOf(namespace), WITHIN).toEqual([]);
  });

  test.each([
    ["a cycle", cyclic(), "Accepted", "tasks must form no cycle, got a -> b -> a"],
    ["an unknown source", { source: { node: "attic", bytesPerFrame: 1 } }, "Accepted", "got attic"],
    [
      "a task that runs nowhere",
      { tasks: [streamTask("a", { profile: [{ nodeLabels: { device: "none" }, secondsPerFrame: 1 }] })] },
      "Placed",
      "task a (500m CPU and 128 MiB) runs on none of 3 nodes: 3 no entry of its profile matches",
    ],
    [
      "a template that the API server refuses",
      { tasks: [streamTask("a", { template: { spec: { containers: [{ image: "x" }] } } })] },
      "Placed",
      "the API server refuses the pod of task a",
    ],
  ] as const)("%s is told in the conditions", async (title, spec, type, message) => {
    const namespace = title.replaceAll(" ", "-").toLowerCase();
    await cluster.createNamespace(namespace);
    await start();
    await submit(streamJob(namespace, "bad", spec));
    await expect
      .poll(
        async () =>
          conditionsOf((await job(namespace, "bad"))!).find(
            (each) => each.type === type && each.status === "False",
          )?.message,
        WITHIN,
      )
      .toContain(message);
    expect(await phase(namespace, "bad")).toBe(type === "Accepted" ? "Failed" : "Waiting");
    expect(await podsOf(namespace)).toEqual([]);
    await remove(namespace, "bad");
  });
});

function cyclic(): object {
  const to = (task: string): object => ({ downstream: [{ task, bytesPerFrame: 1 }] });
  return {
    tasks: [streamTask("a", to("b")), streamTask("b", to("a"))],
  };
}
