// Profiling pods run real processes. Their results affect placement and outlive the leader.
import { conditionsOf, KINDS, type KubernetesObject } from "@isochrone/kubernetes";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { controlPlaneSupport, type ControlPlane } from "../harness/control-plane/index.ts";
import { ProfileKubelet } from "../harness/profile-kubelet.ts";
import { streamJob, streamTask } from "../harness/streams.ts";
import { STREAM_COMPONENTS, streamsTestbed } from "../harness/streams-testbed.ts";

const support = controlPlaneSupport(STREAM_COMPONENTS);
if (!support.supported) console.warn(`profiles of streams are not tested: ${support.reason}`);

const WITHIN = { timeout: 40_000, interval: 200 };
/** Two boxes of one kind. */
const NODES = [
  { name: "n0", cpu: "1", labels: { device: "camera" } },
  { name: "n1", cpu: "4", labels: { device: "box" } },
  { name: "n2", cpu: "4", labels: { device: "box" } },
  { name: "n3", cpu: "8", labels: { device: "server" } },
];
const LINKS = [
  { source: "n0", target: "n1", capacity: "1G" },
  { source: "n0", target: "n2", capacity: "1G" },
  { source: "n0", target: "n3", capacity: "1G" },
];

const BOX = "amd64, 4 CPUs, device=box";
const SERVER = "amd64, 8 CPUs, device=server";
const SPEEDS = "case $NODE_NAME in n3) echo 0.04;; *) echo 0.25;; esac > /dev/termination-log";

function profiledTask(script: string, fields: object = {}): object {
  return streamTask("work", {
    profile: [
      { nodeLabels: { device: "box" }, secondsPerFrame: 1 },
      { nodeLabels: { device: "server" }, secondsPerFrame: 2 },
    ],
    profiling: { command: ["sh", "-c", script] },
    ...fields,
  });
}

interface Profile {
  readonly kind: string;
  readonly node: string;
  readonly secondsPerFrame?: number;
  readonly failure?: string;
  readonly time: string;
}

describe.runIf(support.supported)("profiles on a real control plane", { timeout: 120_000 }, () => {
  const testbed = streamsTestbed(NODES, LINKS);
  const { start, submit, job, remove, statusOf, phase, nodesOf } = testbed;
  let cluster: ControlPlane;
  beforeAll(() => {
    ({ cluster } = testbed);
  });
  const runs = (options?: ConstructorParameters<typeof ProfileKubelet>[1]): ProfileKubelet => {
    const kubelet = new ProfileKubelet(cluster, options);
    onTestFinished(() => kubelet.close());
    return kubelet;
  };
  const profilesOf = async (namespace: string, name: string): Promise<readonly Profile[]> =>
    ((await job(namespace, name))?.status?.["profiles"] as Profile[] | undefined) ?? [];
  const profiled = async (namespace: string, name: string): Promise<string> => {
    const found = conditionsOf((await job(namespace, name))!).find(({ type }) => type === "Profiled");
    return `${found?.status} ${found?.reason}: ${found?.message}`;
  };
  const profilePods = (): Promise<KubernetesObject[]> =>
    cluster.list("pods", { labels: "isochrone.dev/stream-profile" });

  test("a declared time counts until one node of each kind is measured, for other jobs and leaders, too", async () => {
    const namespace = "kinds";
    await cluster.createNamespace(namespace);
    const first = await start();
    await submit(streamJob(namespace, "gate", { tasks: [profiledTask(SPEEDS)] }));
    await expect.poll(() => phase(namespace, "gate"), WITHIN).toBe("Running");
    // Declared: the box takes a second per frame.
    expect(await statusOf(namespace, "gate")).toMatchObject({ throughput: 1 });
    expect(await profiled(namespace, "gate")).toContain("False Measuring: 0 of 2 pairs");
    const kubelet = runs();
    await expect.poll(() => profiled(namespace, "gate"), WITHIN).toContain("True Measured");
    const profiles = await profilesOf(namespace, "gate");
    expect(profiles.toSorted((a, b) => (a.kind < b.kind ? -1 : 1))).toMatchObject([
      { task: "work", kind: BOX, secondsPerFrame: 0.25, image: `sha256:${"a".repeat(64)}` },
      { task: "work", kind: SERVER, secondsPerFrame: 0.04, node: "n3" },
    ]);
    expect(kubelet.runs).toHaveLength(2);
    await expect
      .poll(() => statusOf(namespace, "gate"), WITHIN)
      .toMatchObject({
        throughput: 4,
        tasks: [{ name: "work", secondsPerFrame: 0.25 }],
      });
    await expect.poll(profilePods, WITHIN).toEqual([]);
    // The same work in another job needs no profiling pods, and its better node is known from the start.
    await submit(streamJob(namespace, "second", { tasks: [profiledTask(SPEEDS)] }));
    await expect
      .poll(() => statusOf(namespace, "second"), WITHIN)
      .toMatchObject({ phase: "Running", throughput: 25, tasks: [{ node: "n3" }] });
    expect(await profiled(namespace, "second")).toContain("True Measured");
    expect(await first.metrics()).toContain('isochrone_streams_profiles_total{result="measured"} 2');
    await first.stop();
    await start();
    await remove(namespace, "second");
    await submit(streamJob(namespace, "third", { tasks: [profiledTask(SPEEDS)] }));
    await expect
      .poll(() => statusOf(namespace, "third"), WITHIN)
      .toMatchObject({
        phase: "Running",
        throughput: 25,
        tasks: [{ node: "n3" }],
      });
    expect(await profilesOf(namespace, "gate")).toEqual(profiles);
    expect(kubelet.runs).toHaveLength(2);
    for (const name of ["gate", "third"]) await remove(namespace, name);
  });

  test("a task without declared times waits for the first measurement", async () => {
    const namespace = "unknown";
    await cluster.createNamespace(namespace);
    await start();
    const { profile: _, ...task } = profiledTask(SPEEDS) as { profile: unknown };
    await submit(streamJob(namespace, "gate", { tasks: [task] }));
    await expect
      .poll(
        async () =>
          conditionsOf((await job(namespace, "gate"))!).find(({ type }) => type === "Placed")?.message,
        WITHIN,
      )
      .toContain("its time isn't measured there yet");
    runs();
    await expect.poll(() => phase(namespace, "gate"), WITHIN).toBe("Running");
    await expect.poll(() => profiled(namespace, "gate"), WITHIN).toContain("True Measured: all kinds");
    expect(new Set((await profilesOf(namespace, "gate")).map(({ kind }) => kind))).toEqual(
      new Set(["amd64, 1 CPUs", "amd64, 4 CPUs", "amd64, 8 CPUs"]),
    );
    await remove(namespace, "gate");
  });

  test.each([
    ["no number", "echo NaN > /dev/termination-log", 'got "NaN"'],
    ["nothing", "true", 'got ""'],
    ["more than it ran", "echo 1e9 > /dev/termination-log", 'that it ran, got "1e9"'],
    ["no time at all", "echo 0 > /dev/termination-log", 'got "0"'],
    ["an error", "echo 0.1 > /dev/termination-log; exit 3", "exit code 3 (Error)"],
    ["no end", "sleep 600", "DeadlineExceeded: Pod was active"],
  ])(
    "a profiling pod that reports %s is told, and the declared time counts",
    async (title, script, message) => {
      const namespace = `bad-${title.replaceAll(" ", "-")}`;
      await cluster.createNamespace(namespace);
      const running = await start();
      const kubelet = runs({ deadlineMs: 2_000 });
      await submit(streamJob(namespace, "gate", { tasks: [profiledTask(script)] }));
      await expect.poll(() => profiled(namespace, "gate"), WITHIN).toContain("False Failed: 0 of 2 pairs");
      await expect.poll(() => profilesOf(namespace, "gate"), WITHIN).toHaveLength(2);
      expect(await profiled(namespace, "gate")).toContain(message);
      await expect.poll(profilePods, WITHIN).toEqual([]);
      expect(kubelet.runs).toHaveLength(2);
      await expect
        .poll(() => statusOf(namespace, "gate"), WITHIN)
        .toMatchObject({ phase: "Running", throughput: 1 });
      expect(await running.metrics()).toContain('isochrone_streams_profiles_total{result="failed"} 2');
      await remove(namespace, "gate");
    },
  );

  test("a tag that was moved is measured again, when a task runs with the other image", async () => {
    const namespace = "moved";
    await cluster.createNamespace(namespace);
    await start();
    let digest = "b";
    const kubelet = runs({ imageID: () => `example.com/stage@sha256:${digest.repeat(64)}` });
    const template = {
      spec: {
        terminationGracePeriodSeconds: 0,
        containers: [{ name: "stage", image: "example.com/stage:moved" }],
      },
    };
    await submit(streamJob(namespace, "gate", { tasks: [profiledTask(SPEEDS, { template })] }));
    await expect.poll(() => profiled(namespace, "gate"), WITHIN).toContain("True Measured");
    expect(kubelet.runs).toHaveLength(2);
    const pods = (): Promise<KubernetesObject[]> =>
      cluster.list("pods", { namespace, labels: "isochrone.dev/stream-job=gate" });
    const [before] = await pods();
    digest = "c";
    // Creation times have whole seconds.
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    await cluster.remove({ ...KINDS.pod, namespace, name: before!.metadata.name });
    await expect
      .poll(async () => (await pods()).map(({ metadata }) => metadata.uid), WITHIN)
      .not.toEqual([before!.metadata.uid]);
    await expect.poll(() => phase(namespace, "gate"), WITHIN).toBe("Running");
    const [now] = await pods();
    const running = {
      name: "stage",
      image: "stage",
      imageID: `example.com/stage@sha256:${digest.repeat(64)}`,
      ready: true,
      restartCount: 0,
      state: { running: {} },
    };
    await cluster.patch(
      { ...KINDS.pod, namespace, name: now!.metadata.name },
      { status: { containerStatuses: [running] } },
      "status",
    );
    await expect.poll(() => kubelet.runs.length, WITHIN).toBe(3);
    const kind = (await nodesOf(namespace))["work"] === "n3" ? SERVER : BOX;
    await expect
      .poll(async () => (await profilesOf(namespace, "gate")).find((each) => each.kind === kind), WITHIN)
      .toMatchObject({ image: `sha256:${"c".repeat(64)}` });
    await remove(namespace, "gate");
  });
});
