// Number of panes until a link's cost shows a change, with a simulated probe. link-change.test.ts tests the
// rules alone.
import { seededRandom, type Random } from "@isochrone/runtime";
import { ClusterGraph, type Link } from "@isochrone/topology";
import { describe, expect, test } from "vitest";
import { CLUSTER, EMBEDDED, SimulatedProbe, type Beat, type Path } from "../../testing/simulated-probe.ts";

const PHASES = [0, 0.15, 0.35, 0.5, 0.75, 0.95];
/** One second in panes of the embedded cluster; longer than a graph's interval in a real one. */
const SLACK = 0.5;

const isCut = ({ lossRatio, costMs }: Link): boolean => lossRatio === 1 && costMs === null;
const costsAbout =
  (ms: number) =>
  ({ costMs }: Link): boolean =>
    costMs !== null && Math.abs(costMs - ms) < 8;

/** Round trips of about 20 ms, with occasional queueing delay. */
function usual(random: Random, addedMs = 0): Path {
  return () => 18 + addedMs + random.next() * 4 + (random.next() < 0.05 ? random.next() * 30 : 0);
}

function settled(beat: Beat, phase: number, random: Random): SimulatedProbe {
  const probe = new SimulatedProbe(beat, 0);
  probe.path = usual(random);
  probe.run(beat.panes + phase);
  return probe;
}

describe.each([
  ["a cluster", CLUSTER],
  ["the embedded cluster", EMBEDDED],
] as const)("in %s", (_, beat) => {
  test.each(PHASES)("a cut and its end are seen within three panes (phase %d)", (phase) => {
    const random = seededRandom(1);
    const probe = settled(beat, phase, random);
    const cutMs = probe.nowMs;
    probe.path = () => null;
    expect(probe.until(isCut)).toBeLessThanOrEqual(3);
    const link = probe.link();
    expect(link.rttMs).toMatchObject({ p50: null, count: 0 });
    expect(Date.parse(link.since!)).toBeGreaterThanOrEqual(cutMs - beat.paneMs);
    probe.run(6, (cut) => expect(isCut(cut)).toBe(true));
    expect(Date.parse(probe.link().answeredAt!)).toBeLessThanOrEqual(cutMs + beat.publishMs);
    probe.path = usual(random);
    expect(probe.until(costsAbout(20))).toBeLessThanOrEqual(3);
    expect(probe.link().lossRatio).toBeLessThan(0.8);
    probe.run(2.5);
    expect(probe.link().lossRatio).toBeLessThan(0.1);
  });

  test.each(PHASES)("80 ms more, and less again, are the cost within three panes (phase %d)", (phase) => {
    const random = seededRandom(2);
    const probe = settled(beat, phase, random);
    probe.path = usual(random, 80);
    expect(probe.until(costsAbout(100))).toBeLessThanOrEqual(3);
    probe.run(8);
    const { since, rttMs, costMs } = probe.link();
    expect(since).not.toBeNull();
    expect(costMs).toBe(rttMs.p50);
    expect(rttMs.p90! - costMs!).toBeLessThan(30);
    probe.path = usual(random);
    expect(probe.until(costsAbout(20))).toBeLessThanOrEqual(3);
  });

  test("a delay that lasted six panes ends within three panes and a half", () => {
    const random = seededRandom(3);
    for (const phase of PHASES) {
      const probe = settled(beat, phase, random);
      probe.path = usual(random, 80);
      probe.run(6);
      probe.path = usual(random);
      expect(probe.until(costsAbout(20))).toBeLessThanOrEqual(3 + SLACK);
    }
  });

  test("30 % loss is neither a cut nor a step, however long it lasts, and a cut then is still seen", () => {
    const random = seededRandom(4);
    const probe = settled(beat, 0, random);
    const path = usual(random);
    probe.path = (atMs) => (random.next() < 0.3 ? null : path(atMs));
    probe.run(200, ({ costMs, since }) => {
      expect(costMs).toBeLessThan(40);
      expect(since).toBeNull();
    });
    expect(probe.link().lossRatio).toBeCloseTo(0.3, 0);
    probe.path = () => null;
    // On a lossy link a cut takes a dozen losses in a row, not three.
    expect(probe.until(isCut)).toBeLessThanOrEqual(12 * (beat.probeMs / beat.paneMs) + 2);
  });

  test("single losses and jitter as large as the round trip change nothing", () => {
    const random = seededRandom(5);
    const probe = new SimulatedProbe(beat, 0);
    probe.path = () => (random.next() < 0.02 ? null : 10 + random.next() * 20);
    probe.run(200, ({ since }) => expect(since).toBeNull());
  });

  test("a route that flaps every pane is no step each time: its cost stays between both", () => {
    const random = seededRandom(6);
    const [near, far] = [usual(random), usual(random, 80)];
    const probe = new SimulatedProbe(beat, 0);
    probe.path = (atMs) => (Math.floor(atMs / beat.paneMs) % 2 === 0 ? near(atMs) : far(atMs));
    let changes = 0;
    let last: string | null = null;
    probe.run(100, ({ since = null }) => {
      if (since !== null && since !== last) changes++;
      last = since ?? last;
    });
    expect(changes).toBe(0);
  });

  test("a probe that falls silent has found nothing out: its figures stay, and go with the window", () => {
    const random = seededRandom(7);
    const probe = settled(beat, 0, random);
    probe.path = () => undefined;
    probe.run(beat.panes - 3, (link) => {
      expect(link.costMs).toBeLessThan(40);
      expect(link.since).toBeNull();
    });
    probe.run(5);
    expect(probe.link()).toMatchObject({ costMs: null, lossRatio: null, since: null });
    probe.path = usual(random);
    expect(probe.until(costsAbout(20))).toBeLessThanOrEqual(2);
    expect(probe.link().since).toBeNull();
  });

  test("a cut that began while the probe was away is seen when it is back, and one that stays keeps being one", () => {
    const random = seededRandom(8);
    const probe = settled(beat, 0, random);
    probe.path = () => undefined;
    probe.run(4);
    probe.path = () => null;
    expect(probe.until(isCut)).toBeLessThanOrEqual(3);
    probe.run(2 * beat.panes, (link) => expect(isCut(link)).toBe(true));
    const lastAnswer = probe.link().answeredAt!;
    expect(Date.parse(lastAnswer)).toBeLessThan(probe.nowMs - 2 * beat.panes * beat.paneMs);
    probe.path = usual(random);
    expect(probe.until(costsAbout(20))).toBeLessThanOrEqual(3);
    // Earlier losses do not count for a whole window.
    probe.run(2.5);
    expect(probe.link().lossRatio).toBeLessThan(0.1);
  });

  test("a link that answers a packet in fifty is either cut or very lossy, and doesn't go back and forth", () => {
    const random = seededRandom(9);
    const probe = settled(beat, 0, random);
    const path = usual(random);
    probe.path = (atMs) => (random.next() < 0.98 ? null : path(atMs));
    let turns = 0;
    let wasCut = false;
    probe.run(60, (link) => {
      if (isCut(link) !== wasCut) turns++;
      wasCut = isCut(link);
    });
    expect(turns).toBeGreaterThan(0);
    // At most one per six panes.
    expect(turns).toBeLessThanOrEqual(10);
  });
});

describe("methods of one pair", () => {
  const METHODS = [
    { method: "udp_rr", probeMs: 1000 },
    { method: "tcp_rr", probeMs: 1000 },
    { method: "icmp", probeMs: 1000 },
    { method: "tcp_connect", probeMs: 10_000 },
  ];
  const costOf = (probe: SimulatedProbe) => {
    const node = {
      zone: null,
      region: null,
      segment: null,
      ready: true,
      cordoned: false,
      usageAgeSeconds: null,
    };
    const figures = {
      allocatableCpuMillicores: null,
      allocatableMemoryBytes: null,
      availableCpuMillicores: null,
      availableMemoryBytes: null,
      coordinate: null,
    };
    const nodes = ["a", "b"].map((name) => ({ name, ...node, ...figures }));
    const observedAt = new Date(probe.nowMs).toISOString();
    return new ClusterGraph({
      version: 1,
      observedAt,
      windowSeconds: 300,
      nodes,
      links: probe.links(),
    }).cost("a", "b");
  };

  test.each(PHASES)(
    "a pair is unreachable within three panes, though one method asks once in a pane (phase %d)",
    (phase) => {
      const random = seededRandom(10);
      const probe = new SimulatedProbe(CLUSTER, 0, METHODS);
      probe.path = usual(random);
      probe.run(CLUSTER.panes + phase);
      expect(costOf(probe)).toMatchObject({ known: true, method: "udp_rr" });
      probe.path = () => null;
      const isUnreachable = (): boolean => {
        const cost = costOf(probe);
        return !cost.known && cost.reason === "unreachable";
      };
      expect(probe.until(isUnreachable)).toBeLessThanOrEqual(3);
      probe.run(40, () => expect(isUnreachable()).toBe(true));
      probe.path = usual(random);
      expect(probe.until(() => costOf(probe).known)).toBeLessThanOrEqual(3);
    },
  );

  test("a method that asks once in a pane tells a cut and a step by itself, after as many packets as it takes", () => {
    const random = seededRandom(11);
    const probe = new SimulatedProbe(CLUSTER, 0, [METHODS[3]!]);
    probe.path = usual(random);
    probe.run(CLUSTER.panes + 0.5);
    probe.path = () => null;
    expect(probe.until(isCut)).toBeLessThanOrEqual(5);
    probe.run(3);
    probe.path = usual(random);
    expect(probe.until(costsAbout(20))).toBeLessThanOrEqual(4);
    probe.run(CLUSTER.panes);
    probe.path = usual(random, 80);
    expect(probe.until(costsAbout(100))).toBeLessThanOrEqual(8);
  });
});

test("the fast window tells of the same cut, and of no answers before it", () => {
  const random = seededRandom(12);
  const probe = settled(EMBEDDED, 0, random);
  probe.path = () => null;
  probe.until(isCut);
  expect(probe.links("fast")[0]).toMatchObject({ lossRatio: 1, costMs: null, rttMs: { count: 0 } });
});

test.each(["p90", "mean"] as const)("a cost that is the %s follows a step as soon", (quantile) => {
  const random = seededRandom(13);
  const probe = new SimulatedProbe(EMBEDDED, 0, undefined, quantile);
  probe.path = usual(random);
  probe.run(EMBEDDED.panes);
  probe.path = usual(random, 80);
  expect(probe.until(({ costMs }) => costMs !== null && costMs > 95)).toBeLessThanOrEqual(3);
  probe.run(5, ({ costMs }) => expect(costMs).toBeGreaterThan(95));
});

test("what is shown since a step is what its panes hold, also after a silence and when the step leaves the window", () => {
  const random = seededRandom(14);
  const probe = settled(EMBEDDED, 0, random);
  probe.path = usual(random, 80);
  expect(probe.until(({ since }) => since !== null)).toBeLessThanOrEqual(3);
  const { since, rttMs } = probe.link();
  probe.run(6);
  const later = probe.link();
  expect(later.since).toBe(since);
  // Four answers per pane.
  expect(later.rttMs.count - rttMs.count).toBeGreaterThanOrEqual(23);
  expect(later.rttMs.count - rttMs.count).toBeLessThanOrEqual(25);
  probe.run(EMBEDDED.panes);
  expect(probe.link()).toMatchObject({ since: null });
  probe.path = () => undefined;
  probe.run(EMBEDDED.panes + 2);
  expect(probe.link()).toMatchObject({ since: null, rttMs: { count: 0 } });
  probe.path = usual(random);
  expect(probe.until(costsAbout(20))).toBeLessThanOrEqual(2);
});
