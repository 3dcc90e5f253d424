// StreamJobs and FlowNetworks that the API server itself rejects.
import type { KubernetesObject } from "@isochrone/kubernetes";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  ApiError,
  controlPlaneSupport,
  startControlPlane,
  type ControlPlane,
} from "../harness/control-plane/index.ts";
import { flowNetwork, STREAM_CRD_NAMES, STREAM_CRDS, streamJob, streamTask } from "../harness/streams.ts";

const support = controlPlaneSupport([]);
if (!support.supported) console.warn(`CRDs of streams on a real API server skipped: ${support.reason}`);

const link = { source: "n0", target: "n1", capacity: "10M" };
const tasks = (...fields: readonly object[]): { tasks: unknown } => ({
  tasks: fields.map((each, at) => streamTask(`t${at}`, each as Record<string, unknown>)),
});

describe.runIf(support.supported)("on a real API server", () => {
  let cluster: ControlPlane;

  beforeAll(async () => {
    cluster = await startControlPlane();
    for (const file of STREAM_CRDS) await cluster.kubectl("apply", "-f", file);
    await cluster.kubectl("wait", "--for=condition=Established", "--timeout=20s", ...STREAM_CRD_NAMES);
  }, 900_000);
  afterAll(() => cluster?.close());

  const path = ({ kind }: KubernetesObject): string =>
    kind === "StreamJob"
      ? "/apis/isochrone.dev/v1alpha1/namespaces/default/streamjobs"
      : "/apis/isochrone.dev/v1alpha1/flownetworks";
  const refusal = (object: KubernetesObject): Promise<string | null> =>
    cluster.request("POST", `${path(object)}?dryRun=All`, object).then(
      () => null,
      (error: unknown) => {
        if (error instanceof ApiError) return error.message;
        throw error;
      },
    );

  test("a job with templates, profiles and a promise is taken, with what its templates say", async () => {
    const job = streamJob("default", "gate", {
      minThroughput: 2.5,
      source: { node: "n0", bytesPerFrame: 250_000, framesPerSecond: 30, port: 5000 },
    });
    const { spec } = await cluster.request("POST", `${path(job)}?dryRun=All`, job);
    expect(spec).toEqual(job.spec);
    const wide = Array.from({ length: 64 }, (_, at) => ({
      downstream: Array.from({ length: Math.min(32, 63 - at) }, (__, next) => ({
        task: `t${at + next + 1}`,
        bytesPerFrame: 1,
      })),
    }));
    expect(await refusal(streamJob("default", "wide", tasks(...wide)))).toBeNull();
  });

  test.each([
    ["no tasks", { tasks: [] }, "spec.tasks"],
    ["10,000 tasks", tasks(...Array.from({ length: 10_000 }, () => ({}))), "must have at most 64 items"],
    ["a task twice", { tasks: [streamTask("a"), streamTask("a")] }, 'Duplicate value: {"name":"a"}'],
    [
      "an unknown task",
      tasks({ downstream: [{ task: "x", bytesPerFrame: 1 }] }),
      "downstream must name tasks",
    ],
    ["a task that feeds itself", tasks({ downstream: [{ task: "t0", bytesPerFrame: 1 }] }), "of itself"],
    ["no source", { source: undefined }, "spec.source: Required"],
    ["frames of nothing", { source: { node: "n0", bytesPerFrame: 0 } }, "greater than or equal to 1"],
    [
      "frames of less than nothing",
      { source: { node: "n0", bytesPerFrame: -1 } },
      "greater than or equal to 1",
    ],
    [
      "frames beyond 2^53",
      { source: { node: "n0", bytesPerFrame: 2 ** 53 } },
      "less than or equal to 9007199254740991",
    ],
    ["frames that are no number", { source: { node: "n0", bytesPerFrame: null } }, "bytesPerFrame"],
    ["a rate of 0", { source: { node: "n0", bytesPerFrame: 1, framesPerSecond: 0 } }, "greater than 0"],
    ["a promise of 0", { minThroughput: 0 }, "greater than 0"],
    ["a profile of no time", tasks({ profile: [{ secondsPerFrame: 0 }] }), "greater than 0"],
    ["no profile", tasks({ profile: [] }), "spec.tasks[0].profile"],
    ["neither profile nor profiling", tasks({ profile: undefined }), "must have a profile, or profiling"],
    ["profiling without a command", tasks({ profiling: {} }), "at least 1 properties"],
    [
      "a port beyond 65535",
      tasks({ downstream: [{ task: "t1", bytesPerFrame: 1, port: 65_536 }] }, {}),
      "port",
    ],
    ["requests that are no quantity", tasks({ requests: { cpu: "some", memory: "1Gi" } }), "requests.cpu"],
    [
      "a template without containers",
      tasks({ template: { spec: {} } }),
      "template.spec.containers: Required",
    ],
  ] as const)("a StreamJob with %s is refused", async (_, spec, message) => {
    expect(await refusal(streamJob("default", "bad", spec))).toContain(message);
  });

  test("names that can't be labels of pods are refused", async () => {
    expect(await refusal(streamJob("default", "a.b"))).toContain("must be a DNS label");
    expect(await refusal(streamJob("default", "a".repeat(64)))).toContain("must be a DNS label");
  });

  test("the node of the source stays as it is", async () => {
    const job = streamJob("default", "fixed");
    await cluster.request("POST", path(job), job);
    const moved = { spec: { source: { node: "n1" } } };
    await expect(cluster.request("PATCH", `${path(job)}/fixed`, moved)).rejects.toThrow("can't be changed");
  });

  test.each([
    ["a valid one", [link], null],
    ["whole bits per second", [{ ...link, capacity: 10_000_000 }], null],
    ["a capacity of 0", [{ ...link, capacity: 0 }], "above 0"],
    ["a capacity of 0 in words", [{ ...link, capacity: "0M" }], "above 0"],
    ["a negative capacity", [{ ...link, capacity: "-1M" }], "capacity"],
    ["a capacity that is no quantity", [{ ...link, capacity: "fast" }], "capacity"],
    ["a link twice", [link, link], "Duplicate value"],
    ["a link to itself", [{ ...link, target: "n0" }], "must join two nodes"],
    ["an unknown way to share", [{ ...link, duplex: "both" }], "duplex"],
  ] as const)("a FlowNetwork: %s", async (_, links, message) => {
    expect((await refusal(flowNetwork("site", links))) ?? "taken").toContain(message ?? "taken");
  });
});
