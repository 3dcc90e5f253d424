import { writeWeights } from "@isochrone/learning";
import { seeded } from "@isochrone/primitives";
import { describe, expect, test } from "vitest";
import { EndpointLoad, type Candidate } from "../endpoints/index.ts";
import { EndpointPolicy, EndpointTraining } from "./index.ts";

const ASK = { leftMs: 40, workMs: 10, nowMs: 0 };

function candidates(count: number, fields: Partial<Omit<Candidate, "load">> = {}): Candidate[] {
  return Array.from({ length: count }, () => ({
    load: new EndpointLoad(),
    roundTripMs: 0.5,
    isFar: false,
    ...fields,
  }));
}

function shareOfFirst(policy: EndpointPolicy, all: readonly Candidate[]): number {
  const draw = seeded(1);
  const chosen = Array.from({ length: 400 }, () => policy.choose(all, ASK, draw)!.endpoint);
  return chosen.filter((endpoint) => endpoint === all[0]).length / 400;
}

describe("a learned policy", () => {
  test("learns from its own requests' outcomes who serves in time", () => {
    const policy = new EndpointPolicy(3);
    const training = new EndpointTraining(policy, 4, 5e-3);
    const near = candidates(1)[0]!;
    const all = [near, ...candidates(3, { roundTripMs: 30, isFar: true })];
    expect(shareOfFirst(policy, all)).toBeLessThan(0.4);
    const draw = seeded(5);
    for (let episode = 0; episode < 20; episode++) {
      for (let each = 0; each < 512; each++) {
        const { action, settle } = training.choose(all, ASK, draw);
        settle(action === 0 ? 1 : 0);
      }
      expect(training.learn(draw)).toBe(512);
    }
    expect(shareOfFirst(policy, all)).toBeGreaterThan(0.8);
    expect(shareOfFirst(policy, [near, ...candidates(8, { roundTripMs: 32, isFar: true })])).toBeGreaterThan(
      0.6,
    );
  });

  test("has no answer without endpoints, with too many, and where its numbers run over", () => {
    const policy = new EndpointPolicy(1);
    expect(policy.choose([], ASK, seeded(1))).toBeNull();
    expect(policy.choose(candidates(1_000), ASK, seeded(1))).not.toBeNull();
    expect(policy.choose(candidates(1_001), ASK, seeded(1))).toBeNull();
    for (const { values } of policy.net.parameters()) values.fill(3e38);
    expect(policy.choose(candidates(2), ASK, seeded(1))).toBeNull();
  });

  test("of many endpoints judges some at random, and each is chosen some time", () => {
    const policy = new EndpointPolicy(1);
    const all = candidates(400);
    const draw = seeded(3);
    const chosen = new Set(Array.from({ length: 6_000 }, () => policy.choose(all, ASK, draw)!.endpoint));
    expect(chosen.size).toBe(400);
  });

  test("judges whatever it is told of an endpoint", () => {
    const policy = new EndpointPolicy(1);
    const odd = [
      { leftMs: null, workMs: 1, nowMs: 0 },
      { leftMs: 0, workMs: 1e9, nowMs: 0 },
      { leftMs: -5, workMs: 1, nowMs: 1e12 },
      { leftMs: 1e9, workMs: 1, nowMs: 0 },
    ];
    const all = candidates(3, { roundTripMs: 60_000 });
    for (let each = 0; each < 500; each++) all[0]!.load.sent();
    all[1]!.load.reported({ utilization: 100, requestsPerSecond: 1e9, errorsPerSecond: 1e9 }, 0);
    for (const ask of odd) expect(all).toContain(policy.choose(all, ask, seeded(2))!.endpoint);
  });

  test("is that of its file, and no other file's", () => {
    const policy = new EndpointPolicy(7);
    const text = policy.text({ seed: 7 });
    const read = EndpointPolicy.read(text, "weights.json");
    const values = (of: EndpointPolicy): Float32Array[] => of.arrays().map((array) => array.values);
    expect(values(read)).toEqual(values(policy));
    const wide = writeWeights({
      kind: "endpoints",
      settings: {},
      arrays: policy.arrays().map((array) => ({ ...array, shape: [...array.shape, 1] })),
    });
    policy.arrays()[0]!.values[3] = Number.NaN;
    const nan = policy.text();
    for (const [wrong, message] of [
      [text.replace('"version": 1', '"version": 9'), "weights.json: version must be 1, got 9"],
      [
        text.replace('"kind": "endpoints"', '"kind": "kais"'),
        "weights.json: kind must be endpoints, got kais",
      ],
      [wide, "weights.json: shape of actor.0 must be 9 x 24, got 9 x 24 x 1"],
      [nan, "weights.json: actor.0[3] must be a finite number, got NaN"],
    ] as const)
      expect(() => EndpointPolicy.read(wrong, "weights.json")).toThrow(message);
  });
});
