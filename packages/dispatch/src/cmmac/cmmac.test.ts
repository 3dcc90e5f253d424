import { seeded } from "@isochrone/primitives";
import { describe, expect, it } from "vitest";
import { CLOUD } from "../dispatcher.ts";
import { imbalance } from "../system.ts";
import { request, system, viewOf, type SystemSpec } from "../testing/system.ts";
import { Cmmac, scoresOf } from "./cmmac.ts";
import { globalSize, observeGlobally, observeLocally } from "./observation.ts";
import { AS_PRINTED, IMPROVED, type CmmacOptions } from "./options.ts";
import { CmmacTraining } from "./training.ts";

const SPEC: SystemSpec = {
  services: [{}, { workSeconds: 2 }],
  nodes: [{ ready: [1, 0] }, { ready: [0, 1] }, { ready: [1, 1], site: 1 }, { site: 1 }],
};
const SHAPE = { sites: 2, nodesPerSite: 2, services: 2 };

function policy(options: Partial<CmmacOptions> = {}, seed = 1, onDecision?: never): Cmmac {
  return new Cmmac({
    shape: SHAPE,
    options: { ...AS_PRINTED, ...options },
    seed,
    draw: seeded(seed),
    ...(onDecision === undefined ? {} : { onDecision }),
  });
}

describe("the policy of (4) and (5)", () => {
  it("gives (ReLU(out) + 1) of allowed actions, and 0 to others", () => {
    const scores = scoresOf(Float32Array.of(9, -3, 0.5, 2), 1, Uint8Array.of(1, 0, 1));
    expect([...scores]).toEqual([1, 0, 3]);
  });

  it("chooses the cloud and nodes with a ready replica, and no other", () => {
    const view = viewOf(system(SPEC));
    const cmmac = policy();
    const chosen = new Set(Array.from({ length: 300 }, () => cmmac.choose(request(3), view).node));
    expect(chosen).toEqual(new Set([CLOUD, 0, 2]));
  });

  it("takes only idle replicas as available by option", () => {
    const busy = { ...SPEC, nodes: [{ ready: [1, 0], busy: [1, 0] }, ...SPEC.nodes.slice(1)] };
    const view = viewOf(system(busy));
    const cmmac = policy({ available: "idle" });
    const chosen = new Set(Array.from({ length: 300 }, () => cmmac.choose(request(3), view).node));
    expect(chosen).toEqual(new Set([CLOUD, 2]));
  });

  it("chooses the most probable action by option, and says its probability", () => {
    const cmmac = policy({ action: "argmax" });
    const view = viewOf(system(SPEC));
    const choices = Array.from({ length: 20 }, () => cmmac.choose(request(3), view));
    expect(new Set(choices.map(({ node }) => node)).size).toBe(1);
    expect(choices[0]!.parts).toEqual({ probability: expect.any(Number) });
  });

  it("gives the same for the same seed", () => {
    const view = viewOf(system(SPEC));
    const run = (seed: number): unknown[] => {
      const cmmac = policy({}, seed);
      return Array.from({ length: 50 }, () => cmmac.choose(request(3), view));
    };
    expect(run(3)).toEqual(run(3));
    expect(run(3)).not.toEqual(run(4));
  });
});

describe("states", () => {
  it("of an access point hold its own nodes, and others only by option", () => {
    const state = system(SPEC);
    const at = (nodes: SystemSpec["nodes"]) => viewOf(system({ ...SPEC, nodes }));
    const changed = at([...SPEC.nodes.slice(0, 2), { ready: [1, 1], site: 1, waiting: [5, 0] }, { site: 1 }]);
    const look = (view: ReturnType<typeof viewOf>, options: CmmacOptions): Float32Array =>
      observeLocally(request(3), view, SHAPE, options);
    expect(look(changed, AS_PRINTED)).toEqual(look(viewOf(state), AS_PRINTED));
    expect(look(changed, IMPROVED)).not.toEqual(look(viewOf(state), IMPROVED));
  });

  it("of the critic hold the whole system, and no request where none waits", () => {
    const state = system(SPEC);
    expect(observeGlobally(null, 1, state, SHAPE)).toHaveLength(globalSize(SHAPE));
    expect(observeGlobally(request(3), 1, state, SHAPE)).not.toEqual(observeGlobally(null, 1, state, SHAPE));
  });

  it("imbalance is 0 for equal usages and at most 0.5", () => {
    expect(imbalance(system({ nodes: [{}, {}] }))).toBe(0);
    expect(imbalance(system({ nodes: [{ freeCores: 0, memoryGb: 1, ready: [1] }, {}] }))).toBeCloseTo(0.5, 9);
  });
});

function learned(options: CmmacOptions, episodes: number): { before: number; after: number } {
  const state = system(SPEC);
  const view = viewOf(state);
  let training: CmmacTraining | null = null;
  const cmmac = new Cmmac({
    shape: SHAPE,
    options,
    seed: 5,
    draw: seeded(9),
    onDecision: (decision, seen) => training?.decided(decision, seen),
  });
  const share = (): number =>
    Array.from({ length: 400 }, () => cmmac.choose(request(3), view).node).filter((node) => node === 2)
      .length / 400;
  const before = share();
  training = new CmmacTraining({ policy: cmmac, shape: SHAPE, options, seed: 6 });
  const draw = seeded(2);
  for (let episode = 0; episode < episodes; episode++) {
    for (let slot = 0; slot < 64; slot++) {
      const { node } = cmmac.choose(request(3, { id: slot }), view);
      training.settled(slot, node === 2);
      training.slotEnded(state, node === 2 ? 0 : 1, () => null);
    }
    expect(training.learn(draw)).toBe(64);
  }
  training = null;
  return { before, after: share() };
}

describe("training by (2), (3), (6) and (7)", () => {
  const quick = { learningRate: 3e-3, batch: 32 };
  it.each([
    ["the shared reward of the slot", { ...AS_PRINTED, ...quick }],
    ["the local critic", { ...AS_PRINTED, ...quick, critic: "local" }],
    ["the own request's outcome, several passes", { ...IMPROVED, ...quick }],
  ] as const)("finds the node that serves in time with %s", (_name, options) => {
    const { before, after } = learned(options, 40);
    expect(before).toBeLessThan(0.5);
    expect(after).toBeGreaterThan(0.7);
  });

  it("gives equal weights byte by byte for equal seeds, also after a pause", () => {
    const options = { ...AS_PRINTED, ...quick };
    const run = (pause: boolean): Buffer[] => {
      const state = system(SPEC);
      const view = viewOf(state);
      let training: CmmacTraining;
      const cmmac = new Cmmac({
        shape: SHAPE,
        options,
        seed: 5,
        draw: seeded(9),
        onDecision: (decision, seen) => training.decided(decision, seen),
      });
      const begin = (): CmmacTraining => new CmmacTraining({ policy: cmmac, shape: SHAPE, options, seed: 6 });
      training = begin();
      for (let episode = 0; episode < 4; episode++) {
        if (pause && episode === 2) {
          const kept = training;
          training = begin();
          for (const [at, { values }] of training.arrays().entries()) values.set(kept.arrays()[at]!.values);
          training.resume(kept.stepsTaken());
        }
        for (let slot = 0; slot < 32; slot++) {
          const { node } = cmmac.choose(request(3, { id: slot }), view);
          training.slotEnded(state, node === 2 ? 0 : 1, () => null);
        }
        training.learn(seeded(episode));
      }
      return [...cmmac.arrays(), ...training.arrays()].map(({ values }) => Buffer.from(values.buffer));
    };
    expect(run(false)).toEqual(run(false));
    expect(run(true)).toEqual(run(false));
  });
});
