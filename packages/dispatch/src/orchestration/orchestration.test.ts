import { describe, expect, it } from "vitest";
import { Draft } from "../orchestrator.ts";
import { frame, system } from "../testing/system.ts";
import { forecast } from "./forecast.ts";
import { gspSs } from "./gsp-ss.ts";
import { hpa } from "./hpa.ts";
import { noChanges } from "./none.ts";

const brief = (changes: readonly { kind: string; service: number; node: number }[]): string[] =>
  changes.map(({ kind, service, node }) => `${kind} ${service} on ${node}`);

describe("a draft", () => {
  it("adds while memory is left, and what it removes makes room", () => {
    const state = system({ services: [{ memoryGb: 2 }, {}], nodes: [{ memoryGb: 3, ready: [1, 1] }] });
    const draft = new Draft(state);
    const [node] = state.nodes;
    expect(draft.add(node!, 1, "")).toBe(false);
    expect(draft.remove(node!, 0, "")).toBe(true);
    expect(draft.remove(node!, 0, "")).toBe(false);
    expect([draft.add(node!, 1, ""), draft.add(node!, 1, ""), draft.add(node!, 1, "")]).toEqual([
      true,
      true,
      false,
    ]);
    expect(draft.replicas(node!, 1)).toBe(3);
  });

  it("removes neither a busy replica nor the last one for requests that wait", () => {
    const state = system({ services: [{}, {}], nodes: [{ ready: [2, 1], busy: [1, 0], waiting: [0, 1] }] });
    const draft = new Draft(state);
    expect(draft.removable(state.nodes[0]!, 0)).toBe(1);
    expect(draft.removable(state.nodes[0]!, 1)).toBe(0);
  });
});

describe("the HPA", () => {
  const state = system({
    nodes: [
      { ready: [2], memoryGb: 4 },
      { ready: [0], memoryGb: 4 },
    ],
  });
  const at = (utilization: number) => frame(state, { utilizations: [utilization] });

  it("scales to the target, where most memory is free, and leaves small differences alone", () => {
    expect(brief(hpa().decide(at(1)))).toEqual(["add 0 on 1"]);
    expect(hpa().decide(at(0.74))).toEqual([]);
  });

  it("scales down only when all of the last five minutes want it, and keeps one", () => {
    const one = hpa();
    expect(one.decide(at(0.7))).toEqual([]);
    for (let k = 0; k < 11; k++) expect(one.decide(at(0))).toEqual([]);
    expect(brief(one.decide(at(0)))).toEqual(["remove 0 on 0"]);
  });
});

describe("GSP-SS", () => {
  it("places what the next frame's rates need, and drops what is in its way", () => {
    const state = system({ services: [{}, {}], nodes: [{ memoryGb: 2, ready: [2, 0] }] });
    const changes = gspSs().decide(frame(state, { upcoming: () => [0, 2] }));
    expect(brief(changes)).toEqual(["remove 0 on 0", "remove 0 on 0", "add 1 on 0", "add 1 on 0"]);
  });

  it("leaves what it needs where it is", () => {
    const state = system({ services: [{}], nodes: [{ ready: [1] }, { ready: [0] }] });
    expect(gspSs().decide(frame(state, { upcoming: () => [0.9] }))).toEqual([]);
  });
});

describe("the forecast", () => {
  it("adds what brings most in time for its memory, two a frame", () => {
    const state = system({
      services: [{}, {}, {}],
      nodes: [
        { memoryGb: 8, ready: [1, 1, 1] },
        { memoryGb: 8, ready: [0, 0, 0] },
      ],
    });
    const changes = forecast({ pricePerMb: 0 }).decide(frame(state, { arrivals: [0.1, 1.2, 2.5] }));
    expect(changes).toHaveLength(2);
    expect(changes.every(({ kind, service }) => kind === "add" && service > 0)).toBe(true);
    expect(changes[0]!.reason).toMatch(/requests\/s more in time at/);
  });

  it("makes room by what is worth least, and never takes the last replica", () => {
    const state = system({
      services: [{}, {}],
      nodes: [{ memoryGb: 3, ready: [2, 1], cached: [1, 1] }],
    });
    const changes = forecast().decide(frame(state, { arrivals: [0, 3] }));
    expect(brief(changes)).toEqual(["remove 0 on 0", "add 1 on 0"]);
    const last = system({ services: [{}, {}], nodes: [{ memoryGb: 2, ready: [1, 1], cached: [1, 1] }] });
    expect(forecast().decide(frame(last, { arrivals: [0, 3] }))).toEqual([]);
  });

  it("leaves an image where it is when the gain isn't worth it", () => {
    const spec = (imageMb: number) => system({ services: [{ imageMb }], nodes: [{ ready: [1] }, {}] });
    const arrivals = { arrivals: [0.35] };
    expect(forecast({ pricePerMb: 1 }).decide(frame(spec(2_000), arrivals))).toEqual([]);
    const added = forecast({ pricePerMb: 1 }).decide(frame(spec(1), arrivals));
    expect(added[0]).toMatchObject({ kind: "add", service: 0 });
  });

  it("takes the deviation of rates as room, and forgets it when rates are steady", () => {
    const added = (rates: readonly number[]): number => {
      const policy = forecast({ changes: 100, pricePerMb: 0 });
      const decided = rates.map((rate) => {
        const state = system({ services: [{ memoryGb: 0.01 }], nodes: [{ memoryGb: 40, ready: [1] }] });
        return policy.decide(frame(state, { arrivals: [rate] })).length;
      });
      return decided.at(-1)!;
    };
    const steady = added([2, 2, 2, 2, 2, 2, 2, 2, 2, 2]);
    expect(added([2, 2, 2, 2, 2, 2, 2, 2, 4, 2])).toBeGreaterThan(steady);
    expect(added([4, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2])).toBe(steady);
  });

  it("knows the next frame's rates when it is a bound, and does nothing without requests", () => {
    const state = system({ nodes: [{ ready: [1], cached: [1] }] });
    const known = forecast({ knowsRates: true }).decide(frame(state, { upcoming: () => [2] }));
    expect(known.length).toBeGreaterThan(0);
    expect(forecast().decide(frame(state))).toEqual([]);
    expect(noChanges().decide(frame(state))).toEqual([]);
  });
});
