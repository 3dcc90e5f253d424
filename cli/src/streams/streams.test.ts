import { readFileSync } from "node:fs";
import { parse, stringify } from "yaml";
import { describe, expect, test } from "vitest";
import { joint } from "@isochrone/streams";
import { readObjects } from "../score/read-objects.ts";
import { planStreams, type StreamPlan } from "./plan-streams.ts";
import { readStreams } from "./read-streams.ts";

const EXAMPLE = readFileSync(new URL("../../../docs/examples/streams.yaml", import.meta.url), "utf8");
const DOCUMENTS = EXAMPLE.split("\n---\n");

function changed(from: string, to: string): string {
  expect(EXAMPLE).toContain(from);
  return EXAMPLE.replace(from, to);
}
function planOf(text: string): Promise<StreamPlan> {
  return planStreams(readStreams(readObjects(text, "streams.yaml")), joint());
}

describe("a plan of streams", () => {
  test("says where tasks run, how flows go at which rate, and what limits the job", async () => {
    expect(await planOf(EXAMPLE)).toEqual({
      strategy: "joint",
      waiting: [],
      jobs: [
        {
          name: "site/gate",
          // 1 / 0.2 s of detection on the box.
          throughput: 5,
          minThroughput: 2,
          tasks: [
            { name: "decode", node: "camera" },
            { name: "detect", node: "box" },
            { name: "track", node: "server" },
          ],
          flows: [
            { from: "decode", to: "detect", route: ["camera", "box"], bitsPerSecond: 10e6 },
            { from: "detect", to: "track", route: ["box", "server"], bitsPerSecond: 800e3 },
          ],
          limit: { kind: "task", task: "detect", node: "box" },
        },
      ],
    });
  });

  test("names the link that limits", async () => {
    const { jobs } = await planOf(changed("target: box, capacity: 50M", "target: box, capacity: 6M"));
    expect(jobs[0]).toMatchObject({
      throughput: expect.closeTo(3, 6),
      limit: { kind: "link", source: "camera", target: "box", capacityBitsPerSecond: 6e6 },
    });
  });

  test("lets a job wait that can't have what it is promised", async () => {
    const { jobs, waiting } = await planOf(changed("minThroughput: 2", "minThroughput: 5.1"));
    expect(jobs).toEqual([]);
    expect(waiting).toEqual(["site/gate"]);
  });

  test("gives two jobs of one link half of it each", async () => {
    const second = DOCUMENTS.at(-1)!.replace("name: gate", "name: yard");
    const text = [changed("target: box, capacity: 50M", "target: box, capacity: 12M"), second].join(
      "\n---\n",
    );
    const { jobs } = await planOf(text);
    expect(jobs).toMatchObject([
      { name: "site/gate", throughput: expect.closeTo(3, 6), limit: { kind: "link", target: "box" } },
      { name: "site/yard", throughput: expect.closeTo(3, 6), limit: { kind: "link", target: "box" } },
    ]);
  });

  test.each([
    [
      "a capacity of nothing",
      "capacity: 50M",
      "capacity: 0",
      "streams.yaml, document 4, line 22: FlowNetwork site: spec is wrong: capacity of link camera -> box must be above 0",
    ],
    [
      "a capacity that is no quantity",
      "capacity: 50M",
      "capacity: fast",
      'FlowNetwork site: spec.links.0.capacity must be a quantity of bits per second, such as 10M, got "fast"',
    ],
    [
      "an unknown node",
      "target: server, capacity: 5M",
      "target: cloud, capacity: 5M",
      'spec is wrong: link box -> cloud must join known nodes, got "cloud"',
    ],
    [
      "an unknown way to share",
      "duplex: half",
      "duplex: both",
      'FlowNetwork site: spec.links.2.duplex must be one of full, half, simplex, got "both"',
    ],
    [
      "a source that isn't there",
      "node: camera,",
      "node: attic,",
      'StreamJob site/gate: spec is wrong: source must be a node of the network, got "attic"',
    ],
    [
      "a task that feeds nobody",
      "task: track,",
      "task: trace,",
      'downstream of task detect must be a task of the job, got "trace"',
    ],
    [
      "a profile of no time",
      "secondsPerFrame: 0.05",
      "secondsPerFrame: 0",
      "seconds per frame of task detect on server must be above 0, got 0",
    ],
    [
      "a task without a profile",
      "      profile: [{ secondsPerFrame: 0.1 }]\n",
      "",
      "StreamJob site/gate: spec.tasks.0.profile must have at least one entry with secondsPerFrame, got nothing",
    ],
    [
      "requests that are no quantity",
      "cpu: 500m",
      "cpu: some",
      'StreamJob site/gate: spec.tasks.0.requests.cpu must be a quantity, got "some"',
    ],
    [
      "frames of text",
      "bytesPerFrame: 250000 }\n  min",
      "bytesPerFrame: big }\n  min",
      'StreamJob site/gate: spec.source.bytesPerFrame must be a number, got "big"',
    ],
    [
      "a node without memory",
      'cpu: "1", memory: 1Gi',
      'cpu: "1"',
      "Node camera: status.allocatable.memory must be a quantity, got nothing",
    ],
  ] as const)("refuses %s by object, place and value", (_, from, to, message) => {
    expect(() => readStreams(readObjects(changed(from, to), "streams.yaml"))).toThrow(message);
  });

  test("refuses jobs without nodes", () => {
    const job = stringify(parse(DOCUMENTS.at(-1)!));
    expect(() => readStreams(readObjects(job, "streams.yaml"))).toThrow(
      "source must be a node of the network",
    );
  });
});
