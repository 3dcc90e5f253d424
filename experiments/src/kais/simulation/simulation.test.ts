import { describe, expect, it } from "vitest";
import { forecast, hpa, noChanges, type Dispatcher } from "@isochrone/dispatch";
import { controlsOf, type KaisContender } from "../contenders.ts";
import { workloadOf, type Arrival, type Workload } from "../requests/workload.ts";
import type { SystemSettings } from "../requests/settings.ts";
import { MILLISECONDS, SYSTEM } from "../testing/system.ts";
import { committedWeights, LearnedPolicies } from "../training/learned.ts";
import { buildNodes } from "./build.ts";
import { knowledgeOf, type KnowledgeKind } from "./knowledge.ts";
import { simulate, type Controls, type Observer } from "./simulation.ts";
import type { Outcome } from "./tally.ts";

const learned = new LearnedPolicies({
  kais: committedWeights("kais"),
  "kais-improved": committedWeights("kais-improved"),
});

function run(contender: KaisContender, settings: SystemSettings, seed = 1): Outcome {
  return simulate(
    settings,
    workloadOf(settings, seed, 0, null),
    controlsOf(contender, 1, settings, learned)!,
    1,
  );
}

const { services } = workloadOf(SYSTEM, 1, 0, null);
const payload = (service: number): number => services[service]!.payloadMb;

function one(over: Partial<Arrival>, node: number | null, more: Partial<Controls> = {}): Outcome {
  const arrival = { id: 0, at: 0.1, site: 0, service: 0, deadline: 100, workSeconds: 1, ...over };
  return several([arrival], node, more);
}

function several(arrivals: readonly Arrival[], node: number | null, more: Partial<Controls> = {}): Outcome {
  const dispatcher: Dispatcher = { name: "fixed", choose: () => ({ node, parts: {} }) };
  const workload: Workload = { services, arrivals };
  const controls: Controls = { dispatcher, orchestrator: noChanges(), knowledge: "fresh", ...more };
  return simulate({ ...SYSTEM, seconds: 10 }, workload, controls, 1);
}

const hosting = (service: number, site: number) =>
  buildNodes(SYSTEM, services).find((node) => node.site === site && node.ready[service]! > 0)!;

describe("a request", () => {
  const own = hosting(0, 0);
  const other = hosting(0, 1);

  it("waits for its slot, travels, is worked on, and travels back", () => {
    // Slot at 0.25 s, half of a 2 ms round trip each way, 1 s of work: 1.252 s.
    expect(one({ deadline: 1.2521 }, own.index).inTime).toBe(1);
    expect(one({ deadline: 1.2519 }, own.index).inTime).toBe(0);
  });

  it("pays the round trip of another site and its payload", () => {
    expect(one({ deadline: 1.2601 }, other.index)).toMatchObject({ inTime: 1, other: 1 });
    expect(one({ deadline: 1.2599 }, other.index).inTime).toBe(0);
    expect(one({}, other.index).forwardedGb).toBeCloseTo(payload(0) / 1e3, 9);
    expect(one({}, own.index).forwardedGb).toBe(0);
  });

  it("pays the uplink and the way to the cloud", () => {
    const seconds = 0.25 + payload(0) / 1.25 + 0.15 + 1;
    expect(one({ deadline: seconds + 1e-3 }, null)).toMatchObject({ inTime: 1, cloud: 1 });
    expect(one({ deadline: seconds - 1e-3 }, null).inTime).toBe(0);
  });

  it("waits behind others of its site: an uplink sends one after the other", () => {
    const service = services.findIndex(({ payloadMb }) => payloadMb > 1);
    const common = { site: 0, service, workSeconds: 1 };
    const second = (deadline: number): number =>
      several(
        [
          { ...common, id: 0, at: 0.1, deadline: 50 },
          { ...common, id: 1, at: 0.1, deadline },
        ],
        null,
      ).inTime;
    const needed = 0.25 + (2 * payload(service)) / 1.25 + 0.15 + 1;
    expect(second(needed + 50)).toBe(1);
    // The second request has the earlier deadline, so it is dispatched first.
    expect(second(needed - payload(service) / 1.25 + 1e-3)).toBe(1);
    const late = { ...common, id: 1, at: 0.2, deadline: needed - 1e-3 };
    const first = { ...common, id: 0, at: 0.1, deadline: needed - 2e-3 };
    expect(several([first, late], null).inTime).toBe(0.5);
    expect(several([first, { ...late, deadline: needed + 1e-3 }], null).inTime).toBe(1);
  });

  it("waits for a replica, and is dropped when it expires there", () => {
    const replicas = own.ready[0]!;
    const arrivals = Array.from({ length: replicas + 1 }, (_, id) => ({
      id,
      at: 0.01,
      site: id % SYSTEM.sites,
      service: 0,
      workSeconds: 1,
      deadline: id === replicas ? 1.9 : 1.5,
    }));
    expect(several(arrivals, own.index).inTime).toBeLessThan(1);
    const patient = arrivals.map((arrival) => ({ ...arrival, deadline: 30 }));
    expect(several(patient, own.index).inTime).toBe(1);
  });

  it("travels longer through a centre", () => {
    expect(one({ deadline: 1.3 }, own.index).inTime).toBe(1);
    expect(one({ deadline: 1.3 }, own.index, { centreSeconds: 0.1 }).inTime).toBe(0);
  });
});

describe("replicas", () => {
  it("fill 60 % of each node's memory at the beginning, services in turn", () => {
    const nodes = buildNodes(SYSTEM, services);
    expect(nodes).toHaveLength(40);
    const replicas = nodes.reduce((sum, { ready }) => sum + ready.reduce((a, b) => a + b, 0), 0);
    expect(nodes.reduce((sum, { cores }) => sum + cores, 0)).toBe(65);
    expect(replicas).toBe(99);
    for (const { memoryGb, freeMemoryGb } of nodes)
      expect(1 - freeMemoryGb / memoryGb).toBeLessThan(0.6 + 1e-9);
  });

  it("begin after their image is there, which moves its bytes once a node", () => {
    const free = buildNodes(SYSTEM, services).find(
      (n) => n.ready[0] === 0 && n.freeMemoryGb > services[0]!.memoryGb,
    )!;
    const orchestrator = {
      name: "once",
      decide: () => [{ kind: "add", service: 0, node: free.index, reason: "" }] as const,
    };
    const outcome = one({}, own().index, { orchestrator });
    expect(outcome.imagesGb).toBeCloseTo(services[0]!.imageMb / 1e3, 9);
    expect(outcome.added).toBeGreaterThanOrEqual(1);
  });

  const own = () => hosting(0, 0);
});

describe("a run", () => {
  it("settles each request once, and counts it in its frame", () => {
    const settled: number[] = [];
    const observer: Observer = {
      settled: (request) => settled.push(request),
      slotEnded: () => {},
      frameEnded: () => {},
    };
    const workload = workloadOf(SYSTEM, 1, 0, null);
    for (const contender of ["greedy", "isochrone", "cloud"] as const) {
      settled.length = 0;
      const outcome = simulate(SYSTEM, workload, controlsOf(contender, 1, SYSTEM, learned)!, 1, observer);
      expect(settled.sort((a, b) => a - b)).toEqual(workload.arrivals.map(({ id }) => id));
      // A request that is dropped at the access point or before the uplink goes nowhere.
      expect(outcome.own + outcome.other + outcome.cloud).toBeLessThanOrEqual(1);
      expect(outcome.frames).toHaveLength(SYSTEM.seconds / SYSTEM.frameSeconds);
    }
  });

  it("is the same for the same seeds, but for the time that decisions take", () => {
    const twice = [run("isochrone", SYSTEM), run("isochrone", SYSTEM)].map((outcome) => ({
      ...outcome,
      dispatchMs: 0,
      orchestrateMs: 0,
    }));
    expect(twice[0]).toEqual(twice[1]);
  });

  it("leaves the view to policies that look at it: none changes the system", () => {
    const frozen: Dispatcher = {
      name: "frozen",
      choose: (_request, { state }) => {
        expect(() => Object.assign(state.sites[0]!, { queueLength: 3 })).toThrow(TypeError);
        return { node: null, parts: {} };
      },
    };
    one({}, null, { dispatcher: frozen });
    expect.assertions(1);
  });
});

describe("knowledge of load", () => {
  const request = { id: 1, service: 0, site: 0, leftSeconds: 1 };
  const state = () => {
    const nodes = buildNodes(SYSTEM, services);
    const sites = [0, 1].map((site) => ({
      nodes: nodes.filter((node) => node.site === site),
      queueLength: 0,
      uplinkBacklogSeconds: 0,
    }));
    const cloud = { cores: 60, freeCores: 60, queueLength: 0 };
    const network = { ownSeconds: 0.002, otherSeconds: 0.01, cloudSeconds: 0.15, uplinkMbPerSecond: 1.25 };
    return { nodes, system: { services, nodes, sites, cloud, network } };
  };
  const ahead = (kind: KnowledgeKind, settle: boolean): number => {
    const { nodes, system } = state();
    const knowledge = knowledgeOf(kind, system, 1);
    const node = nodes.find(({ site }) => site === 1)!;
    knowledge.sent(request, node.index);
    node.waiting[0] = 4;
    if (settle) knowledge.settled(0, node.index, 0);
    return knowledge.view(request).load(node).ahead;
  };

  it.each([
    ["fresh", 4, 4],
    ["stale", 0, 0],
    ["own", 1, 0],
    ["answers", 1, 4],
  ] as const)("%s knows %d before an answer and %d after it", (kind, before, after) => {
    expect([ahead(kind, false), ahead(kind, true)]).toEqual([before, after]);
  });

  it("stale learns of other sites by gossip, and asks nobody else", () => {
    const { nodes, system } = state();
    const knowledge = knowledgeOf("stale", system, 1);
    nodes[20]!.waiting[0] = 3;
    nodes[0]!.waiting[0] = 2;
    const load = (at: number): number => knowledge.view(request).load(nodes[at]!).ahead;
    expect([load(0), load(20)]).toEqual([2, 0]);
    knowledge.gossip();
    expect(load(20)).toBe(3);
  });

  it("probes ask three endpoints of the service for each request", () => {
    const { nodes, system } = state();
    const knowledge = knowledgeOf("probes", system, 1);
    for (const node of nodes) node.waiting[0] = 7;
    const view = knowledge.view(request);
    const asked = nodes.filter((node) => view.load(node).ahead === 7);
    expect(asked.length).toBeGreaterThan(0);
    expect(asked.length).toBeLessThanOrEqual(3);
  });
});

/** Runs the same short excerpts of scenarios, so the bounds hold exactly. */
describe("bounds", () => {
  const inTime = (settings: SystemSettings, ...contenders: KaisContender[]): number[] =>
    contenders.map((contender) => run(contender, settings).inTime);

  it("isochrone has 1.45 of Greedy and 1.3 of GSP-SS in time, and fewer bytes than either", () => {
    const settings = { ...SYSTEM, seconds: 1_000 };
    const mean = (id: KaisContender, of: (outcome: Outcome) => number): number =>
      [1, 2, 3].reduce((sum, seed) => sum + of(run(id, settings, seed)) / 3, 0);
    const [inTime, moved] = [
      (outcome: Outcome) => outcome.inTime,
      ({ forwardedGb, imagesGb }: Outcome) => forwardedGb + imagesGb,
    ];
    const ratio = (other: KaisContender, of: (outcome: Outcome) => number): number =>
      mean("isochrone", of) / mean(other, of);
    expect(ratio("greedy", inTime)).toBeGreaterThan(1.45);
    expect(ratio("gsp-ss", inTime)).toBeGreaterThan(1.3);
    expect(ratio("greedy", moved)).toBeLessThan(1);
    expect(ratio("gsp-ss", moved)).toBeLessThan(1);
  });

  it("answers and probes reach 0.97 of perfect knowledge; weights 1.2 of PreferSameZone", () => {
    const [iso, oracle, weights, zone] = inTime(
      MILLISECONDS,
      "isochrone",
      "oracle",
      "weights",
      "prefer-same-zone",
    );
    expect(iso! / oracle!).toBeGreaterThan(0.97);
    expect(weights! / zone!).toBeGreaterThan(1.2);
  });

  it("at a hot site PreferSameZone falls below 0.65, hints hold 0.75, and a dispatcher 0.92", () => {
    const hot = { ...MILLISECONDS, hotShare: 0.5, seconds: 400 };
    const [zone, hints, iso] = inTime(hot, "prefer-same-zone", "hints", "isochrone");
    expect(zone!).toBeLessThan(0.65);
    expect(hints!).toBeGreaterThan(0.75);
    expect(iso!).toBeGreaterThan(0.92);
  });

  it("nothing learnt is used where there is nothing to learn from: HPA and forecast differ by policy alone", () => {
    const workload = workloadOf(SYSTEM, 1, 0, null);
    const { dispatcher } = controlsOf("greedy", 1, SYSTEM, learned)!;
    const of = (orchestrator: Controls["orchestrator"]): number =>
      simulate(SYSTEM, workload, { dispatcher, orchestrator, knowledge: "fresh" }, 1).inTime;
    expect(of(forecast())).toBeGreaterThan(of(hpa()));
  });
});
