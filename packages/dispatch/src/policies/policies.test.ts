import { seeded } from "@isochrone/primitives";
import { describe, expect, it } from "vitest";
import { CLOUD, type Dispatcher } from "../dispatcher.ts";
import { request, system, viewOf, type SystemSpec } from "../testing/system.ts";
import { deadline } from "./deadline.ts";
import { firmament } from "./firmament.ts";
import { greedy, greedyCloud } from "./greedy.ts";
import { cloudAlone, kubeProxy, preferSameZone, randomly } from "./plain.ts";
import { weighted } from "./weighted.ts";

function choose(dispatcher: Dispatcher, spec: SystemSpec, left = 3): number | null {
  return dispatcher.choose(request(left), viewOf(system(spec))).node;
}

function counts(dispatcher: Dispatcher, spec: SystemSpec): Map<number | null, number> {
  const view = viewOf(system(spec));
  const found = Array.from({ length: 1_000 }, () => dispatcher.choose(request(3), view).node);
  return new Map([...Map.groupBy(found, (node) => node)].map(([node, all]) => [node, all.length]));
}

const THREE = { nodes: [{ ready: [1] }, { ready: [3], site: 1 }, { ready: [0], site: 1 }] };

describe("what Kubernetes does", () => {
  it("kube-proxy takes each replica with equal probability", () => {
    const found = counts(kubeProxy(seeded(1)), THREE);
    expect(found.get(0)! / found.get(1)!).toBeCloseTo(1 / 3, 1);
    expect(found.get(2)).toBeUndefined();
  });

  it("PreferSameZone stays in the site, and leaves it when there is no replica", () => {
    expect(counts(preferSameZone(seeded(1)), THREE).get(0)).toBe(1_000);
    const other = { nodes: [{ ready: [0] }, { ready: [1], site: 1 }] };
    expect(choose(preferSameZone(seeded(1)), other)).toBe(1);
  });

  it("a service that stands nowhere goes to the cloud", () => {
    const nowhere = { nodes: [{}, { site: 1 }] };
    for (const of of [kubeProxy, preferSameZone, randomly])
      expect(choose(of(seeded(1)), nowhere)).toBe(CLOUD);
    expect(choose(greedy(), nowhere)).toBe(CLOUD);
    expect(choose(cloudAlone(), THREE)).toBe(CLOUD);
  });
});

describe("greedy", () => {
  const busy = { ready: [1], busy: [1], freeCores: 1 };

  it("takes the node of lowest utilization, however many wait there", () => {
    expect(choose(greedy(), { nodes: [busy, { ready: [1], waiting: [9] }] })).toBe(1);
  });

  it("with the cloud takes idle replicas alone", () => {
    expect(choose(greedyCloud(), { nodes: [busy, { ready: [1], waiting: [9] }] })).toBe(CLOUD);
    expect(choose(greedyCloud(), { nodes: [busy, { ready: [2], busy: [1], freeCores: 1 }] })).toBe(1);
  });

  it("with the cloud doesn't count a replica as idle whose CPU is taken", () => {
    expect(choose(greedyCloud(), { nodes: [{ ready: [1], freeCores: 0.5 }] })).toBe(CLOUD);
  });
});

describe("firmament", () => {
  it("takes the least time until the answer, the cloud included", () => {
    const queue = (length: number) => ({ nodes: [{ ready: [1], busy: [1], waiting: [length] }] });
    expect(choose(firmament(seeded(1)), queue(0))).toBe(0);
    expect(choose(firmament(seeded(1)), queue(1))).toBe(CLOUD);
  });
});

describe("deadline", () => {
  it("prefers an idle replica of the own site, then one of another site, then the cloud", () => {
    const own = { ready: [1] };
    const other = { ready: [1], site: 1 };
    const full = { ready: [1], busy: [1], waiting: [3], freeCores: 0 };
    expect(choose(deadline(seeded(1)), { nodes: [own, other] })).toBe(0);
    expect(choose(deadline(seeded(1)), { nodes: [full, other] })).toBe(1);
    expect(choose(deadline(seeded(1)), { nodes: [full, { ...full, site: 1 }] })).toBe(CLOUD);
  });

  it("waits for an own replica when the deadline is far and bytes have a price", () => {
    const one = { services: [{ payloadMb: 2 }], nodes: [{ ready: [1], busy: [1] }] };
    expect(choose(deadline(seeded(1)), one, 20)).toBe(0);
    expect(choose(deadline(seeded(1)), one, 1.4)).toBe(0);
    expect(
      choose(deadline(seeded(1), { pricePerMb: 0 }), { ...one, services: [{ payloadMb: 0.1 }] }, 1.4),
    ).toBe(CLOUD);
  });

  it("stays away from an uplink with a backlog", () => {
    const spec = { nodes: [{ ready: [1], busy: [1] }] };
    const light = { ...spec, services: [{ payloadMb: 0.1 }] };
    expect(choose(deadline(seeded(1)), light, 1.5)).toBe(CLOUD);
    expect(choose(deadline(seeded(1)), { ...light, uplinkBacklogSeconds: 2 }, 1.5)).toBe(0);
  });

  it("spreads over equally good nodes", () => {
    const found = counts(deadline(seeded(1)), { nodes: [{ ready: [1] }, { ready: [1] }] });
    expect(found.get(0)! / 1_000).toBeCloseTo(0.5, 1);
  });

  it("says what decided", () => {
    const view = viewOf(system({ nodes: [{ ready: [1], busy: [1] }] }));
    const { parts } = deadline(seeded(1)).choose(request(20), view);
    expect(parts).toMatchObject({ waitSeconds: 0.5, inTime: expect.closeTo(1, 3) });
  });

  it.each([Number.POSITIVE_INFINITY, 1e300, 0, -5, 1e-300])("chooses a place for %d s left", (left) => {
    const node = choose(deadline(seeded(1)), THREE, left);
    expect([0, 1, CLOUD]).toContain(node);
  });

  it("refuses a deadline that is no number", () => {
    expect(() => choose(deadline(seeded(1)), THREE, Number.NaN)).toThrow(
      "leftSeconds must be a number, got NaN",
    );
  });
});

describe("weights", () => {
  const spec = {
    services: [{ workSeconds: 0.1 }],
    nodes: [{ ready: [4] }, { ready: [4], site: 1 }, { ready: [2], site: 1 }],
  };

  it("send as kube-proxy before there is a plan", () => {
    expect(counts(weighted("weights", seeded(1)), spec).size).toBe(3);
  });

  it("stay in the site while it has room, and spill what is too much", () => {
    const dispatcher = weighted("weights", seeded(1));
    const state = system(spec);
    dispatcher.plan(state, [[5, 1]]);
    expect(counts(dispatcher, spec)).toEqual(new Map([[0, 1_000]]));
    dispatcher.plan(state, [[1_000, 1]]);
    const found = counts(dispatcher, spec);
    expect(found.get(0)!).toBeLessThan(700);
    expect(found.get(CLOUD)).toBeGreaterThan(0);
  });

  it("as hints give each endpoint of the set an equal part", () => {
    const dispatcher = weighted("hints", seeded(1));
    dispatcher.plan(system({ ...spec, nodes: [{ ready: [2] }, ...spec.nodes.slice(1)] }), [[28, 1]]);
    const found = counts(dispatcher, spec);
    expect(found.get(1)! / found.get(2)!).toBeCloseTo(2, 0);
  });

  it("replace a replica that has gone as kube-proxy would", () => {
    const dispatcher = weighted("weights", seeded(1));
    dispatcher.plan(system(spec), [[5, 1]]);
    expect(choose(dispatcher, { ...spec, nodes: [{}, ...spec.nodes.slice(1)] })).toBeGreaterThan(0);
  });
});
