import { seeded } from "@isochrone/primitives";
import { describe, expect, it } from "vitest";
import { frame, system, type SystemSpec } from "../testing/system.ts";
import { Gpg, type GpgDecision } from "./gpg.ts";
import { GPG_AS_PRINTED, type GpgOptions } from "./options.ts";
import { GpgTraining } from "./training.ts";

const SPEC: SystemSpec = {
  services: [{ memoryGb: 0.5 }, { memoryGb: 0.5 }],
  nodes: [{ ready: [1, 0] }, { ready: [0, 1] }, { ready: [2, 1], site: 1 }],
};

function policy(options: Partial<GpgOptions> = {}, onDecision?: (decision: GpgDecision) => void): Gpg {
  return new Gpg({
    services: 2,
    options: { ...GPG_AS_PRINTED, selection: "sample", action: "sample", ...options },
    seed: 3,
    draw: seeded(4),
    ...(onDecision === undefined ? {} : { onDecision }),
  });
}

const total = (values: Float64Array): number => values.reduce((sum, value) => sum + value, 0);

describe("orchestration by (8) and (9)", () => {
  it.each([
    {},
    { aggregate: "sum" },
    { activation: "relu" },
    { actionInput: "number" },
    { seesFailures: true },
    { selection: "highest", action: "highest" },
  ] as const)("draws two nodes, each once, and an action of 2W + 1 for each, with %o", (options) => {
    const decisions: GpgDecision[] = [];
    const gpg = policy(options, (decision) => decisions.push(decision));
    for (let k = 0; k < 20; k++) {
      const changes = gpg.decide(frame(system(SPEC)));
      expect(changes.length).toBeLessThanOrEqual(2);
      const { nodes, actions } = decisions.at(-1)!;
      expect(new Set(nodes).size).toBe(2);
      for (const action of actions) expect(action).toBeLessThan(5);
    }
    const pass = gpg.again(decisions[0]!);
    expect(total(pass.nodes.probabilities)).toBeCloseTo(1, 9);
    expect(pass.actions.map(({ probabilities }) => total(probabilities))).toEqual([
      expect.closeTo(1, 9),
      expect.closeTo(1, 9),
    ]);
  });

  it("does nothing that resources forbid", () => {
    const full = system({ services: [{ memoryGb: 3 }, { memoryGb: 3 }], nodes: [{ ready: [1, 0] }] });
    const gpg = policy();
    for (let k = 0; k < 40; k++)
      for (const { kind, service } of gpg.decide(frame(full)))
        expect({ kind, service }).toEqual({ kind: "remove", service: 0 });
  });

  it("sees other sites through the cluster's summary", () => {
    const seen: GpgDecision[] = [];
    const gpg = policy({}, (decision) => seen.push(decision));
    gpg.decide(frame(system(SPEC)));
    const other = {
      ...seen[0]!,
      observations: seen[0]!.observations.map((s, n) => (n === 2 ? s.map((x) => x + 1) : s)),
    };
    const of = (decision: GpgDecision): number => gpg.again(decision).nodes.outputs.values[0]!;
    expect(of(other)).not.toBe(of(seen[0]!));
  });
});

describe("training by (10)", () => {
  it("makes the drawn decision more probable that had more reward", () => {
    let training: GpgTraining | null = null;
    let last: GpgDecision | null = null;
    const gpg = policy({ reward: "in-time", learningRate: 3e-3, gamma: 0 }, (decision) => {
      last = decision;
      training?.decided(decision);
    });
    training = new GpgTraining(gpg);
    const isGood = (): boolean => last!.nodes.includes(1);
    const share = (): number =>
      Array.from({ length: 300 }, () => {
        gpg.decide(frame(system(SPEC)));
        return isGood();
      }).filter(Boolean).length / 300;
    const trainer = training;
    training = null;
    const before = share();
    training = trainer;
    for (let episode = 0; episode < 60; episode++) {
      for (let k = 0; k < 16; k++) {
        gpg.decide(frame(system(SPEC)));
        trainer.frameEnded([0, 0, 0], isGood() ? 1 : 0);
      }
      expect(trainer.learn()).toBe(16);
    }
    training = null;
    expect(share()).toBeGreaterThan(Math.min(0.95, before + 0.15));
  });

  it("rewards short queues by option as printed, or by their mean", () => {
    expect(Math.exp(-20)).toBeLessThan(3e-9);
    const reward = (options: Partial<GpgOptions>): readonly number[] => {
      const training: GpgTraining[] = [];
      const gpg = policy(options, (decision) => training[0]?.decided(decision));
      training.push(new GpgTraining(gpg));
      gpg.decide(frame(system(SPEC)));
      training[0]!.frameEnded([10, 10, 0, 0], 1);
      training[0]!.learn();
      return training[0]!.memory().returns;
    };
    expect(reward({ reward: "sum-of-queues" })).toEqual([expect.closeTo(Math.exp(-20), 12)]);
    expect(reward({ reward: "mean-of-queues" })).toEqual([expect.closeTo(Math.exp(-5), 9)]);
    expect(reward({ reward: "in-time" })).toEqual([1]);
  });

  it("takes up its memory again", () => {
    const gpg = policy();
    const memory = { steps: 3, returns: [1, 2], episodes: [1, 1] };
    const training = new GpgTraining(gpg);
    training.resume(memory);
    expect(training.memory()).toEqual(memory);
  });
});
