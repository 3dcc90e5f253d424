// While the API server is away, plans stay or are withheld, and no link is overcommitted.
import { gatesOf, KINDS, type KubernetesObject } from "@isochrone/kubernetes";
import type { FlowPlan } from "@isochrone/topology";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { controlPlaneSupport, type ControlPlane } from "../harness/control-plane/index.ts";
import { streamJob, streamTask } from "../harness/streams.ts";
import type { RunningStreams } from "../harness/streams-plugin.ts";
import { STREAM_COMPONENTS, streamsTestbed } from "../harness/streams-testbed.ts";

const support = controlPlaneSupport(STREAM_COMPONENTS);
if (!support.supported) console.warn(`outages of streams are not tested: ${support.reason}`);

const WITHIN = { timeout: 60_000, interval: 200 };
const NODES = [
  { name: "n0", cpu: "8", labels: { device: "camera" } },
  { name: "n1", cpu: "32", labels: { device: "box" } },
  { name: "n2", cpu: "32", labels: { device: "server" } },
];
const LINKS = [
  { source: "n0", target: "n1", capacity: "100M" },
  { source: "n1", target: "n2", capacity: "20M" },
];
const CAPACITY: Readonly<Record<string, number>> = { "n0 n1": 100e6, "n1 n2": 20e6 };
const NAMESPACE = "outage";
const JOBS = 12;
/** Rounding error of sums of rates. */
const ROUNDING = 1.0001;

function remote(at: number): KubernetesObject {
  const profile = [{ nodeLabels: { device: "server" }, secondsPerFrame: 0.01 }];
  const template = {
    spec: {
      hostNetwork: true,
      terminationGracePeriodSeconds: 0,
      containers: [{ name: "stage", image: "example.com/stage:1" }],
    },
  };
  return streamJob(NAMESPACE, `job-${at}`, {
    source: { node: "n0", bytesPerFrame: 250_000, port: 7_000 + at },
    tasks: [streamTask("work", { profile, template, requests: { cpu: "100m", memory: "64Mi" } })],
  });
}

/** Managers that confirm every plan on each poll. */
class Managers {
  readonly seen: ReadonlyMap<string, FlowPlan>[] = [];
  isConfirming = true;
  readonly #streams: RunningStreams;
  readonly #stop = new AbortController();
  readonly #loop: Promise<void>;
  #text = "";

  constructor(streams: RunningStreams) {
    this.#streams = streams;
    this.#loop = this.#run();
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#loop;
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      // Without a leader there are no plans.
      await this.#ask().catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  async #ask(): Promise<void> {
    const plans = await this.#streams.flowPlans();
    const text = JSON.stringify([...plans.values()].map(({ flows }) => flows));
    if (text !== this.#text) this.seen.push(plans);
    this.#text = text;
    if (this.isConfirming) await this.#streams.confirm(plans.keys());
  }
}

function overfull(plans: ReadonlyMap<string, FlowPlan>): string[] {
  const used = new Map<string, number>();
  for (const [node, { flows }] of plans)
    for (const { next, bitsPerSecond } of flows)
      if (next !== null) used.set(`${node} ${next}`, (used.get(`${node} ${next}`) ?? 0) + bitsPerSecond);
  return [...used].filter(([hop, rate]) => rate > CAPACITY[hop]! * ROUNDING).map(([hop]) => hop);
}

describe.runIf(support.supported)("an API server that is killed", { timeout: 300_000 }, () => {
  const testbed = streamsTestbed(NODES, LINKS);
  const { start, submit, phase, podsOf } = testbed;
  let cluster: ControlPlane;
  beforeAll(() => {
    ({ cluster } = testbed);
  });
  const phases = (): Promise<(string | undefined)[]> =>
    Promise.all(Array.from({ length: JOBS }, (_, at) => phase(NAMESPACE, `job-${at}`)));

  test("changes no plan, and costs no job its pods or its rules", async () => {
    await cluster.createNamespace(NAMESPACE);
    // One of several replicas, because a single one would lead without a Lease and continue.
    const streams = await start({ streams: { awaitRules: true }, scheduler: { replicaName: "replica-0" } });
    const managers = new Managers(streams);
    onTestFinished(() => managers.close());
    for (let at = 0; at < JOBS / 2; at++) await submit(remote(at));
    await expect
      .poll(async () => (await phases()).slice(0, JOBS / 2), WITHIN)
      .toEqual(Array(JOBS / 2).fill("Running"));
    const running = new Set((await podsOf(NAMESPACE)).map(({ metadata }) => metadata.uid));
    managers.isConfirming = false;
    for (let at = JOBS / 2; at < JOBS; at++) await submit(remote(at));
    await expect
      .poll(async () => (await podsOf(NAMESPACE)).filter((pod) => gatesOf(pod).length > 0).length, WITHIN)
      .toBe(JOBS / 2);
    await expect.poll(() => flowsOf(managers.seen.at(-1)), WITHIN).toBe(JOBS);
    const before = managers.seen.length;
    await cluster.kill("api-server");
    managers.isConfirming = true;
    // Longer than the leader may continue without a response of the API server.
    await expect
      .poll(() => streams.flowPlans().then(() => "plans", String), { timeout: 60_000 })
      .toContain("not_leading");
    expect(managers.seen.length).toBe(before);
    await cluster.startApiServer();
    await expect.poll(phases, WITHIN).toEqual(Array(JOBS).fill("Running"));
    const pods = await podsOf(NAMESPACE);
    expect(pods.flatMap(gatesOf)).toEqual([]);
    expect(pods.filter(({ metadata }) => running.has(metadata.uid))).toHaveLength(JOBS / 2);
    expect(flowsOf(managers.seen.at(-1))).toBe(JOBS);
    expect(managers.seen.flatMap(overfull)).toEqual([]);
    for (let at = 0; at < JOBS; at++)
      await cluster.remove({ ...KINDS.streamJob, namespace: NAMESPACE, name: `job-${at}` });
    await expect.poll(() => podsOf(NAMESPACE), WITHIN).toEqual([]);
  });
});

/** Flows at their source. */
function flowsOf(plans: ReadonlyMap<string, FlowPlan> | undefined): number {
  return plans?.get("n0")?.flows.filter(({ previous }) => previous === null).length ?? 0;
}
