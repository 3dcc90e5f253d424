// ENTS' algorithms with guarantees, changing and measured links, and a task that moves.
import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { promisify } from "node:util";
import { conditionsOf, hasCondition, KINDS, type KubernetesObject } from "@isochrone/kubernetes";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { controlPlaneSupport, nodeNameOf, type ControlPlane } from "../harness/control-plane/index.ts";
import { COMMAND } from "../harness/extender.ts";
import { MeasuredAggregator } from "../harness/measured-aggregator.ts";
import { flowNetwork, streamJob, streamTask } from "../harness/streams.ts";
import { STREAM_COMPONENTS, streamsTestbed } from "../harness/streams-testbed.ts";

const support = controlPlaneSupport(STREAM_COMPONENTS);
if (!support.supported) console.warn(`strategies of streams are not tested: ${support.reason}`);

const WITHIN = { timeout: 40_000, interval: 200 };
const NODES = [
  { name: "n0", cpu: "1", labels: { device: "camera" } },
  { name: "n1", cpu: "4", labels: { device: "box" } },
  { name: "n2", cpu: "8", labels: { device: "server" } },
];
const LINKS = [
  { source: "n0", target: "n1", capacity: "100M" },
  { source: "n1", target: "n2", capacity: "20M" },
];
const byText = (a: string, b: string): number => a.localeCompare(b);
const FRAME = 2.0912;
const SITE = { ...KINDS.flowNetwork, name: "site" };

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** A task on the server, which all frames of 2 Mbit reach over the narrow link. */
function remote(namespace: string, name: string, spec: object = {}): KubernetesObject {
  const profile = [{ nodeLabels: { device: "server" }, secondsPerFrame: 0.01 }];
  return streamJob(namespace, name, { tasks: [streamTask("work", { profile })], ...spec });
}

describe.runIf(support.supported)(
  "strategies of streams on a real control plane",
  { timeout: 150_000 },
  () => {
    const testbed = streamsTestbed(NODES, LINKS);
    const { start, submit, job, remove, statusOf, phase, podsOf, nodesOf } = testbed;
    let cluster: ControlPlane;
    beforeAll(() => {
      ({ cluster } = testbed);
    });
    const placed = async (namespace: string, name: string): Promise<string> => {
      const found = conditionsOf((await job(namespace, name))!).find(({ type }) => type === "Placed");
      return `${found?.status} ${found?.reason}: ${found?.message}`;
    };
    const narrow = async (namespace: string, names: readonly string[]): Promise<number> => {
      let sum = 0;
      for (const name of names)
        for (const { route, bitsPerSecond } of (await statusOf(namespace, name)).flows ?? [])
          if (route.join(" ").includes("n1 n2")) sum += bitsPerSecond / 1e6;
      return sum;
    };
    const setNarrow = (capacity: string): Promise<unknown> =>
      cluster.patch(SITE, { spec: { links: [LINKS[0]!, { ...LINKS[1]!, capacity }] } });

    describe.each(["otfs", "otfa"])("%s", (strategy) => {
      test("places a job of several tasks, and tells each node of its flows", async () => {
        const namespace = `${strategy}-tasks`;
        await cluster.createNamespace(namespace);
        const running = await start({ streams: { strategy } });
        const onServer = { profile: [{ nodeLabels: { device: "server" }, secondsPerFrame: 0.05 }] };
        await submit(
          streamJob(namespace, "gate", {
            tasks: [
              streamTask("detect", { downstream: [{ task: "match", bytesPerFrame: 50_000, port: 7000 }] }),
              streamTask("match", onServer),
            ],
          }),
        );
        await expect.poll(() => phase(namespace, "gate"), WITHIN).toBe("Running");
        const { tasks, flows, throughput } = await statusOf(namespace, "gate");
        expect(Object.fromEntries(tasks!.map(({ name, node }) => [name, node]))).toEqual(
          await nodesOf(namespace),
        );
        expect(throughput).toBeGreaterThan(0);
        const plans = await running.flowPlans();
        for (const { from = "source", to, route, bitsPerSecond } of flows!)
          for (const node of route)
            expect(
              plans.get(node)!.flows.find(({ id }) => id === `${namespace}/gate/${from}->${to}`),
            ).toMatchObject({ bitsPerSecond: expect.closeTo(bitsPerSecond, -2) });
        await remove(namespace, "gate");
        await expect.poll(() => podsOf(namespace), WITHIN).toEqual([]);
      });

      test("keeps promises, within links that shrink and grow, and over the death of the leader", async () => {
        const namespace = `${strategy}-promises`;
        await cluster.createNamespace(namespace);
        const first = await start({ streams: { strategy } });
        await submit(remote(namespace, "promised", { minThroughput: 6 }));
        await expect.poll(() => phase(namespace, "promised"), WITHIN).toBe("Running");
        await submit(remote(namespace, "second", { minThroughput: 6 }));
        await expect.poll(() => placed(namespace, "second"), WITHIN).toContain("False Promises");
        await setNarrow("10M");
        await expect
          .poll(async () => (await statusOf(namespace, "promised")).throughput, WITHIN)
          .toBeCloseTo(10 / FRAME, 1);
        expect(await narrow(namespace, ["promised"])).toBeLessThanOrEqual(10.001);
        // Room for both guarantees.
        await setNarrow("40M");
        await expect.poll(() => phase(namespace, "second"), WITHIN).toBe("Running");
        for (const name of ["promised", "second"])
          expect((await statusOf(namespace, name)).throughput).toBeGreaterThan(6 - 1e-3);
        expect(await narrow(namespace, ["promised", "second"])).toBeLessThanOrEqual(40.001);
        await setNarrow("30M");
        await expect
          .poll(() => narrow(namespace, ["promised", "second"]), WITHIN)
          .toBeLessThanOrEqual(30.001);
        const before = await Promise.all(["promised", "second"].map((name) => statusOf(namespace, name)));
        for (const { throughput } of before) expect(throughput).toBeGreaterThan(6 - 1e-3);
        await first.stop();
        await start({ streams: { strategy } });
        // The new leader has decided once another job is placed or waits.
        await submit(remote(namespace, "third", { minThroughput: 6 }));
        await expect.poll(() => placed(namespace, "third"), WITHIN).toContain("False Promises");
        const after = await Promise.all(["promised", "second"].map((name) => statusOf(namespace, name)));
        expect(after.map(({ flows }) => flows)).toEqual(before.map(({ flows }) => flows));
        await setNarrow("20M");
        for (const name of ["promised", "second", "third"]) await remove(namespace, name);
        await expect.poll(() => podsOf(namespace), WITHIN).toEqual([]);
      });
    });

    test("a task moves to a better node by the descheduler's rules: the new pod runs before the old one goes", async () => {
      const namespace = "moves";
      await cluster.createNamespace(namespace);
      const rules = { intervalMs: 1_000, minPodAgeMs: 0 };
      const running = await start({ descheduler: { mode: "evict", ...rules } });
      await cluster.create([
        {
          ...KINDS.podDisruptionBudget,
          metadata: { namespace, name: "gate" },
          spec: { minAvailable: 1, selector: { matchLabels: { "isochrone.dev/stream-task": "detect" } } },
        },
      ]);
      const profile = (device: string, secondsPerFrame: number): object => ({
        nodeLabels: { device },
        secondsPerFrame,
      });
      await cluster.kubectl("cordon", "n2");
      await submit(
        streamJob(namespace, "gate", {
          tasks: [
            streamTask("decode", {
              profile: [profile("camera", 0.01)],
              downstream: [{ task: "detect", bytesPerFrame: 25_000 }],
            }),
            streamTask("detect", { profile: [profile("box", 0.5), profile("server", 0.05)] }),
          ],
        }),
      );
      await expect.poll(() => phase(namespace, "gate"), WITHIN).toBe("Running");
      expect(await nodesOf(namespace)).toEqual({ decode: "n0", detect: "n1" });
      const first = (await podsOf(namespace)).map(({ metadata }) => metadata.uid);
      await cluster.kubectl("uncordon", "n2");
      const seen: string[] = [];
      await expect
        .poll(
          async () => {
            const pods = (await podsOf(namespace)).filter(({ metadata }) => metadata.name.includes("detect"));
            const ready = pods.filter((pod) => hasCondition(pod, "Ready") && !pod.metadata.deletionTimestamp);
            seen.push(
              ready
                .map((pod) => String(nodeNameOf(pod)))
                .toSorted(byText)
                .join(" "),
            );
            return [await nodesOf(namespace), (await statusOf(namespace, "gate")).throughput, pods.length];
          },
          { ...WITHIN, interval: 50 },
        )
        .toEqual([{ decode: "n0", detect: "n2" }, 20, 1]);
      expect([...new Set(seen)]).toEqual(["n1", "n1 n2", "n2"]);
      expect((await podsOf(namespace)).filter(({ metadata }) => first.includes(metadata.uid))).toHaveLength(
        1,
      );
      await expect
        .poll(() => running.metrics(), WITHIN)
        .toContain('isochrone_streams_moves_total{result="done"} 1');
      await remove(namespace, "gate");
      await expect.poll(() => podsOf(namespace), WITHIN).toEqual([]);
    });

    test("what network managers count of flows is in the workflow graph, and in `isochrone flows`", async () => {
      const namespace = "counted";
      await cluster.createNamespace(namespace);
      const port = await freePort();
      const aggregator = await MeasuredAggregator.start(cluster.kubeconfig, {
        aggregator: { decisionsUrl: `http://127.0.0.1:${port}` },
      });
      onTestFinished(() => aggregator.stop());
      await start({ graphUrl: aggregator.url, scheduler: { port } });
      await submit(remote(namespace, "gate"));
      await expect.poll(() => phase(namespace, "gate"), WITHIN).toBe("Running");
      const [flow] = (await statusOf(namespace, "gate")).flows!;
      const { bitsPerSecond: allowed } = flow!;
      const figures = { allowed, achieved: allowed / 2 };
      aggregator.measured.flows = {
        [`n0 ${namespace}/gate/source->work`]: figures,
        // Forwarded, and another job's.
        [`n1 ${namespace}/gate/source->work`]: figures,
        [`n2 ${namespace}/gate/source->work`]: figures,
      };
      const command = [COMMAND, "flows", "-o", "json", "--server", aggregator.url];
      const achieved = async (): Promise<number | null | undefined> => {
        const { stdout } = await promisify(execFile)(process.execPath, command);
        const views = JSON.parse(stdout) as { id: string; achievedBitsPerSecond: number | null }[];
        return views.find(({ id }) => id === `${namespace}/gate/source->work`)?.achievedBitsPerSecond;
      };
      await expect.poll(achieved, WITHIN).toBeGreaterThan(0);
      expect((await achieved())! / allowed).toBeCloseTo(0.5, 1);
      const graph = await aggregator.graph(`/api/v1/graph/workflows/${namespace}/${namespace}`);
      expect(graph).toMatchObject({
        workloads: expect.arrayContaining([
          expect.objectContaining({ name: "gate.work", kind: "StreamJob" }),
        ]),
        channels: [{ source: "gate.source", target: "gate.work", origin: "observed" }],
      });
      await expect
        .poll(async () => (await job(namespace, "gate"))?.status?.["measuredThroughput"], WITHIN)
        .toBeCloseTo(allowed / 2 / (FRAME * 1e6), 0);
      await remove(namespace, "gate");
      await expect.poll(() => podsOf(namespace), WITHIN).toEqual([]);
    });

    test("without a FlowNetwork, links are pairs of nodes of measured bandwidth, and no others", async () => {
      const namespace = "measured";
      await cluster.createNamespace(namespace);
      const site = await cluster.get(SITE);
      await cluster.remove(SITE);
      const aggregator = await MeasuredAggregator.start(
        cluster.kubeconfig,
        {},
        { rttMs: { "n0 n1": 1, "n0 n2": 5, "n1 n2": 5 } },
      );
      onTestFinished(() => aggregator.stop());
      await start({ graphUrl: aggregator.url });
      await submit(remote(namespace, "gate"));
      await expect
        .poll(() => placed(namespace, "gate"), WITHIN)
        .toContain("False NoRoomTogether: each task fits somewhere, but there are no nodes for all of them");
      // Through the box, because the direct pair is not measured.
      aggregator.measured.bursts = { "n0 n1": 50e6, "n1 n2": 10e6 };
      await expect.poll(() => phase(namespace, "gate"), WITHIN).toBe("Running");
      expect(await statusOf(namespace, "gate")).toMatchObject({
        throughput: expect.closeTo(10 / FRAME, 1),
        limit: { kind: "link", source: "n1", target: "n2", capacityBitsPerSecond: 10e6 },
        flows: [{ route: ["n0", "n1", "n2"] }],
      });
      aggregator.measured.bursts = { ...aggregator.measured.bursts, "n0 n2": 40e6 };
      await expect
        .poll(() => statusOf(namespace, "gate"), WITHIN)
        .toMatchObject({
          throughput: expect.closeTo(40 / FRAME, 0),
          flows: [{ route: ["n0", "n2"] }],
        });
      await remove(namespace, "gate");
      await expect.poll(() => podsOf(namespace), WITHIN).toEqual([]);
      await cluster.request(
        "POST",
        "/apis/isochrone.dev/v1alpha1/flownetworks",
        flowNetwork("site", (site!.spec as { links: typeof LINKS }).links),
      );
    });
  },
);
